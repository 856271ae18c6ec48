//! What somebody leaves in the indexes of the user's checkouts that git believes without looking at files and trees.

use super::*;
use std::fs;
use std::time::{Duration, SystemTime};

/// Kinds of repositories and of indexes: with other ids, with shortened paths, in two files.
const KINDS: [(&[&str], &[&str]); 4] = [
    (&[], &["--index-version", "2"]),
    (&["--object-format=sha256"], &["--index-version", "3"]),
    (&[], &["--index-version", "4"]),
    (&[], &["--split-index"]),
];

/// What git says to the user, by no settings of tm's.
fn git(scene: &Scene, arguments: &[&str]) -> String {
    let mut command = environment(scene.folder.path()).git(&[]);
    let root = scene.of_user.checkout_root();
    let output = command.args(arguments).current_dir(root).output();
    String::from_utf8(output.expect("git").stdout).expect("text")
}

fn before(repository: &Repository) -> CheckoutSnapshot {
    CheckoutSnapshot::of_settings(repository).expect("a look")
}

fn put_right(repository: &Repository, before: &CheckoutSnapshot) -> Vec<String> {
    before.put_git_right(repository).expect("given").0
}

/// A checkout of a few files, with an index of a kind.
fn with_files((kind, index): (&[&str], &[&str])) -> Scene {
    let scene = Scene::of_kind(kind).expect("git");
    for name in ["b.txt", "mine.txt", "sub/lib.txt"] {
        write(&scene.of_user.checkout_root().join(name), "good\n");
    }
    git(&scene, &["add", "."]);
    scene.git(&["commit", "--quiet", "--message", "second"]);
    git(&scene, &[&["update-index"][..], index].concat());
    scene
}

/// Puts one id in the place of another, wherever it stands last in a file.
#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn put_id(file: &Path, id: &str, instead_of: &str) {
    let (id, was) = (bytes_of(id), bytes_of(instead_of));
    let mut bytes = fs::read(file).expect("a file");
    let at = bytes.windows(was.len()).rposition(|it| it == was);
    let at = at.expect("it names the object");
    bytes[at..at + id.len()].copy_from_slice(&id);
    fs::write(file, bytes).expect("a file");
}

fn status(scene: &Scene) -> String {
    git(scene, &["status", "--porcelain"])
}

/// Has the index say that the tree of a folder is another one than that of its entries.
fn forge_tree(scene: &Scene) {
    git(scene, &["read-tree", "HEAD"]);
    let evil = scene.git(&["rev-parse", "HEAD^{tree}"]);
    let was = scene.git(&["rev-parse", "HEAD:sub"]);
    put_id(&scene.of_user.git_dir().join("index"), &evil, &was);
    write(&scene.of_user.checkout_root().join("a.txt"), "staged\n");
    git(scene, &["add", "a.txt"]);
}

#[test]
fn no_tree_is_committed_that_nobody_staged() {
    for kind in KINDS {
        let scene = with_files(kind);
        let was = scene.git(&["rev-parse", "HEAD:sub"]);
        let before = before(&scene.of_user);
        forge_tree(&scene);
        let written = || {
            let tree = scene.git(&["write-tree"]);
            scene.git(&["rev-parse", &format!("{tree}:sub")])
        };
        assert_ne!(written(), was, "git believes it");
        assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
        assert_eq!(written(), was);
        assert_eq!(status(&scene), "M  a.txt\n");
        scene.git(&["fsck", "--strict"]);
    }
}

/// Has the index say that a file with other content is as it was staged.
fn forge_times(scene: &Scene) {
    let file = scene.of_user.checkout_root().join("b.txt");
    let was = scene.git(&["rev-parse", "HEAD:b.txt"]);
    write(&file, "evil\n");
    let opened = fs::File::options().write(true).open(&file).expect("a file");
    let past = SystemTime::now() - Duration::from_hours(1);
    opened.set_modified(past).expect("a time");
    git(scene, &["add", "b.txt"]);
    let now = scene.git(&["hash-object", "b.txt"]);
    put_id(&scene.of_user.git_dir().join("index"), &was, &now);
}

#[test]
fn files_are_looked_at_whatever_an_index_says_of_their_times() {
    for kind in KINDS {
        let scene = with_files(kind);
        let before = before(&scene.of_user);
        forge_times(&scene);
        assert_eq!(status(&scene), "", "git believes it");
        assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
        assert_eq!(status(&scene), " M b.txt\n");
    }
}

#[test]
fn no_file_is_out_of_sight_that_was_not_before() {
    for kind in KINDS {
        let scene = with_files(kind);
        let root = scene.of_user.checkout_root();
        git(&scene, &["update-index", "--skip-worktree", "mine.txt"]);
        git(&scene, &["update-index", "--assume-unchanged", "a.txt"]);
        let before = before(&scene.of_user);
        git(&scene, &["update-index", "--skip-worktree", "b.txt"]);
        git(
            &scene,
            &["update-index", "--assume-unchanged", "sub/lib.txt"],
        );
        for name in ["a.txt", "b.txt", "mine.txt", "sub/lib.txt"] {
            write(&root.join(name), "changed\n");
        }
        assert_eq!(status(&scene), "", "git doesn't look");
        assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
        assert_eq!(status(&scene), " M b.txt\n M sub/lib.txt\n");
    }
}

#[test]
fn what_is_staged_under_way_or_meant_to_be_added_stays() {
    for kind in KINDS {
        let scene = with_files(kind);
        let root = scene.of_user.checkout_root();
        scene.git(&["branch", "other"]);
        write(&root.join("a.txt"), "ours\n");
        scene.git(&["commit", "--quiet", "--all", "--message", "ours"]);
        scene.git(&["checkout", "--quiet", "other"]);
        write(&root.join("a.txt"), "theirs\n");
        scene.git(&["commit", "--quiet", "--all", "--message", "theirs"]);
        let before = before(&scene.of_user);
        let _conflict = git(&scene, &["merge", "main"]);
        write(&root.join("meant.txt"), "new\n");
        git(&scene, &["add", "--intent-to-add", "meant.txt"]);
        write(&root.join("b.txt"), "staged\n");
        git(&scene, &["add", "b.txt"]);
        let staged = || (status(&scene), scene.git(&["ls-files", "--stage"]));
        let was = staged();
        assert!(was.0.contains("UU a.txt") && was.0.contains(" A meant.txt"));
        let index = scene.of_user.git_dir().join("index");
        fs::set_permissions(&index, fs::Permissions::from_mode(0o640)).expect("rights");
        assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
        let mode = index.metadata().expect("an index").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(staged(), was);
    }
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    for kind in ["--no-sparse-index", "--sparse-index"] {
        let scene = with_files(KINDS[0]);
        git(&scene, &["sparse-checkout", "set", "--cone", kind, "other"]);
        let before = before(&scene.of_user);
        write(&scene.of_user.checkout_root().join("b.txt"), "staged\n");
        git(&scene, &["add", "b.txt"]);
        assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
        assert_eq!(status(&scene), "M  b.txt\n");
    }
}

#[test]
fn an_index_that_nobody_changed_is_not_written() {
    let scene = with_files(KINDS[0]);
    let index = scene.of_user.git_dir().join("index");
    let before = before(&scene.of_user);
    let was = fs::read(&index).expect("an index");
    assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
    assert_eq!(fs::read(&index).expect("an index"), was);
}

#[test]
fn an_index_that_can_t_be_made_anew_is_named() {
    let scene = with_files(KINDS[0]);
    let before = before(&scene.of_user);
    forge_times(&scene);
    let git = scene.of_user.git_dir();
    write(&git.join("index.lock"), "");
    // Nobody waits for what a git left long ago.
    let lock = fs::File::options().write(true).open(git.join("index.lock"));
    let past = SystemTime::now() - Duration::from_hours(1);
    lock.expect("a lock").set_modified(past).expect("a time");
    let said = put_right(&scene.of_user, &before).join("\n");
    assert!(
        said.contains("index (changed, and can't be made anew: failed to lock"),
        "{said}"
    );
    assert!(said.contains("File exists"), "{said}");
    assert!(git.join("index.lock").exists(), "it is somebody's");
    fs::remove_file(git.join("index.lock")).expect("removed");
    write(&git.join("index"), "DIRC and no more");
    let said = put_right(&scene.of_user, &before).join("\n");
    assert!(
        said.contains("index (changed, and can't be made anew: "),
        "{said}"
    );
}

#[test]
fn indexes_of_other_checkouts_and_submodules_are_made_anew_too() {
    let scene = with_files(KINDS[0]);
    let linked = scene.folder.path().join("linked").display().to_string();
    scene.git(&["worktree", "add", "--quiet", "--detach", &linked]);
    let git = scene.of_user.common_dir();
    for name in ["HEAD", "objects/x", "refs/x"] {
        write(&git.join("modules/a").join(name), "");
    }
    fs::copy(git.join("index"), git.join("modules/a/index")).expect("an index");
    let before = before(&scene.of_user);
    let id = |of: &str| scene.git(&["rev-parse", of]);
    let (evil, was) = (id("HEAD:a.txt"), id("HEAD:sub/lib.txt"));
    let indexes = ["worktrees/linked/index", "modules/a/index"].map(|name| git.join(name));
    for index in &indexes {
        put_id(index, &evil, &was);
    }
    assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
    for index in indexes {
        let bytes = fs::read(index).expect("an index");
        assert!(!bytes.windows(4).any(|it| it == b"TREE"));
    }
}

/// Further kinds, of which each has something of two of those.
const MIXED: [(&[&str], &[&str]); 4] = [
    (&["--object-format=sha256"], &["--index-version", "4"]),
    (&["--object-format=sha256"], &["--split-index"]),
    (&[], &["--index-version", "4", "--split-index"]),
    (&[], &["--index-version", "3", "--split-index"]),
];

/// Of what `git ls-files --debug` calls flags: meant to be added, out of sight, side, unchanged. The rest is git's of a moment.
const KEPT_FLAGS: u32 = 0x6000_b000;

/// What is staged, with what an index keeps of each entry besides what its file was.
fn staged_with_flags(scene: &Scene) -> Vec<String> {
    let said = git(scene, &["ls-files", "--stage", "--debug"]);
    let lines = said.lines().filter_map(|line| {
        let Some((_, flags)) = line.split_once("flags: ") else {
            return (!line.starts_with("  ")).then(|| line.to_owned());
        };
        let flags = u32::from_str_radix(flags, 16).expect("a number");
        Some((flags & KEPT_FLAGS).to_string())
    });
    lines.collect()
}

#[test]
fn all_that_git_stages_is_staged_in_an_index_of_any_kind_that_was_made_anew() {
    for kind in KINDS.into_iter().chain(MIXED) {
        let scene = with_files((kind.0, &[]));
        let id = scene.git(&["rev-parse", "HEAD:b.txt"]);
        // Of paths as long as this, and of longer ones, an index says no length.
        let long = [4_094, 4_095, 4_096, 9_000];
        let path = |length: usize| "long/".repeat(length / 5 - 1) + &"x".repeat(5 + length % 5);
        let staged = long.map(|length| format!("100755 {id} 0\t{}", path(length)));
        let mut staged = staged.to_vec();
        let sides = (1..=3).map(|side| format!("100644 {id} {side}\tconflict/{side}"));
        let all = (1..=3).map(|side| format!("120000 {id} {side}\tconflict/all"));
        staged.extend(sides.chain(all));
        let root = scene.of_user.checkout_root();
        let stage = scene.of_user.git_in(root).line("update-index --index-info");
        stage
            .input(staged.join("\n") + "\n")
            .done()
            .expect("staged");
        git(&scene, &[&["update-index"][..], kind.1].concat());
        let before = before(&scene.of_user);
        for name in ["b.txt", "meant.txt"] {
            write(&root.join(name), "new\n");
        }
        git(&scene, &["add", "b.txt"]);
        git(&scene, &["add", "--intent-to-add", "meant.txt"]);
        let index = scene.of_user.git_dir().join("index");
        let (was, bytes) = (
            staged_with_flags(&scene),
            fs::read(&index).expect("an index"),
        );
        let are_staged = staged.iter().all(|line| was.contains(line));
        assert!(are_staged, "{kind:?}");
        assert_eq!(put_right(&scene.of_user, &before), [""; 0]);
        assert!(staged_with_flags(&scene) == was, "{kind:?}");
        let now = fs::read(&index).expect("an index");
        assert!(now != bytes, "it was made anew");
    }
}
