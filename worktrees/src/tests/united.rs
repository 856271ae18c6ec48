//! Conflicts of every kind: what is taken from both sides, and what nobody but a person or an agent decides.

use super::*;
use crate::tree::index_entry;
use tm_scheduler::merging::Resolution;

/// What each side makes of a repository.
type Side = fn(&Path);

/// Commits of two sides, each made from the same base by changing files.
struct Quarrel {
    scene: Scene,
    ours: CommitId,
    theirs: CommitId,
}

impl Quarrel {
    fn new(before: Side, ours: Side, theirs: Side) -> Self {
        let scene = Scene::new();
        let base = Self::commit(&scene, "tm/base", &scene.head(), before);
        let ours = Self::commit(&scene, "tm/ours", &base, ours);
        let theirs = Self::commit(&scene, "tm/theirs", &base, theirs);
        Self {
            scene,
            ours,
            theirs,
        }
    }

    fn commit(scene: &Scene, name: &str, base: &CommitId, change: Side) -> CommitId {
        let worktree = scene.check_out(name, base);
        change(worktree.path());
        let captured = worktree
            .capture(&PathPatterns::default())
            .expect("captured");
        let commit = scene.commit(
            &worktree,
            &captured.tree,
            &format!("{name}\n\nTask: {name}\n"),
        );
        worktree.release().expect("released");
        commit
    }

    fn landing(&self) -> Landing {
        self.scene
            .repository
            .land_united(&self.ours, &self.theirs)
            .expect("an answer")
    }

    /// The text of a file in the merged tree; `None` where both can't be taken.
    fn united(&self, path: &str) -> Option<String> {
        let Landing::Clean(preview) = self.landing() else {
            return None;
        };
        assert_eq!(preview.resolution, Some(Resolution::Union));
        let bytes = self
            .scene
            .repository
            .bytes_in_tree(&preview.tree, path)
            .expect("an answer")
            .expect("a file");
        Some(String::from_utf8(bytes).expect("text"))
    }
}

fn bytes(path: &Path, content: &[u8]) {
    use std::io::Write as _;
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(content))
        .expect("written");
}

fn list(path: &Path, more: &str) {
    write(&path.join("list.txt"), &format!("one\ntwo\n{more}"));
}

#[test]
fn what_both_sides_added_is_taken_from_both_what_had_landed_first() {
    let of = |before: Side, ours: Side, theirs: Side| {
        Quarrel::new(before, ours, theirs).united("list.txt")
    };
    let at_end = of(
        |at| list(at, ""),
        |at| list(at, "ours\n"),
        |at| list(at, "theirs\n"),
    );
    assert_eq!(at_end.as_deref(), Some("one\ntwo\nours\ntheirs\n"));
    let without_end = of(
        |at| write(&at.join("list.txt"), "one"),
        |at| write(&at.join("list.txt"), "one\nours"),
        |at| write(&at.join("list.txt"), "one\ntheirs"),
    );
    assert_eq!(
        without_end.as_deref(),
        Some("one\nours\ntheirs"),
        "a last line that does not end is no other line"
    );
    let windows = of(
        |at| write(&at.join("list.txt"), "one\r\ntwo\r\n"),
        |at| write(&at.join("list.txt"), "one\r\ntwo\r\nours\r\n"),
        |at| write(&at.join("list.txt"), "one\r\ntwo\r\ntheirs\r\n"),
    );
    assert_eq!(windows.as_deref(), Some("one\r\ntwo\r\nours\r\ntheirs\r\n"));
    let both_make_it = Quarrel::new(
        |at| write(&at.join("x"), ""),
        |at| write(&at.join("tests/list.txt"), "ours\n"),
        |at| write(&at.join("tests/list.txt"), "theirs\n"),
    );
    assert_eq!(
        both_make_it.united("tests/list.txt").as_deref(),
        Some("ours\ntheirs\n")
    );
    let with_markers = of(
        |at| list(at, "<<<<<<< a\n=======\n"),
        |at| list(at, "<<<<<<< a\n=======\nours\n"),
        |at| list(at, "<<<<<<< a\n=======\ntheirs\n>>>>>>> b\n"),
    );
    assert_eq!(
        with_markers.as_deref(),
        Some("one\ntwo\n<<<<<<< a\n=======\nours\ntheirs\n>>>>>>> b\n")
    );
}

#[test]
fn a_mode_that_one_side_sets_is_kept() {
    fn executable(path: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("set");
    }
    let quarrel = Quarrel::new(
        |at| list(at, ""),
        |at| list(at, "ours\n"),
        |at| {
            list(at, "theirs\n");
            executable(&at.join("list.txt"));
        },
    );
    let Landing::Clean(preview) = quarrel.landing() else {
        panic!("both are taken")
    };
    let listing = quarrel
        .scene
        .git(&["ls-tree", &preview.tree.to_string(), "list.txt"]);
    assert!(listing.starts_with("100755 "), "{listing}");
}

/// Those for which the versions of all sides are kept.
const NEED_VERSIONS: [&str; 5] = [
    "made by both",
    "a line that both changed",
    "no Unicode",
    "lines that end differently",
    "data",
];

#[test]
fn anything_else_is_left_in_conflict() {
    let changed: [(&str, Side, Side, Side); 9] = [
        (
            "made by both",
            |at| write(&at.join("x"), ""),
            |at| list(at, "ours\n"),
            |at| list(at, "theirs\n"),
        ),
        (
            "a line that both changed",
            |at| list(at, ""),
            |at| write(&at.join("list.txt"), "1\ntwo\n"),
            |at| write(&at.join("list.txt"), "uno\ntwo\n"),
        ),
        (
            "gone on one side",
            |at| list(at, ""),
            |at| std::fs::remove_file(at.join("list.txt")).expect("gone"),
            |at| list(at, "theirs\n"),
        ),
        (
            "renamed twice",
            |at| list(at, "a\nb\nc\nd\n"),
            |at| rename(at, "left.txt"),
            |at| rename(at, "right.txt"),
        ),
        (
            "no text",
            |at| bytes(&at.join("x"), b"\0a"),
            |at| bytes(&at.join("x"), b"\0b"),
            |at| bytes(&at.join("x"), b"\0c"),
        ),
        (
            "no Unicode",
            |at| bytes(&at.join("x"), b"a\n"),
            |at| bytes(&at.join("x"), b"a\nb\n"),
            |at| bytes(&at.join("x"), b"a\n\xff\n"),
        ),
        (
            "lines that end differently",
            |at| list(at, ""),
            |at| list(at, "ours\r\n"),
            |at| list(at, "theirs\n"),
        ),
        (
            "a link on one side",
            |at| write(&at.join("x"), ""),
            |at| link(at, "list.txt"),
            |at| write(&at.join("list.txt"), "theirs\n"),
        ),
        (
            "data",
            |at| write(&at.join("a.json"), "{\n}\n"),
            |at| write(&at.join("a.json"), "{\n\"a\": 1\n}\n"),
            |at| write(&at.join("a.json"), "{\n\"b\": 1\n}\n"),
        ),
    ];
    for (name, before, ours, theirs) in changed {
        let quarrel = Quarrel::new(before, ours, theirs);
        let Landing::Conflict(conflict) = quarrel.landing() else {
            panic!("{name}: taken")
        };
        assert!(!conflict.files.is_empty(), "{name}");
        assert_eq!(
            conflict.texts.is_some(),
            NEED_VERSIONS.contains(&name),
            "{name}: {conflict:?}"
        );
    }
}

fn rename(at: &Path, to: &str) {
    std::fs::rename(at.join("list.txt"), at.join(to)).expect("renamed");
}

fn link(at: &Path, name: &str) {
    std::os::unix::fs::symlink("a.txt", at.join(name)).expect("a link");
}

#[test]
fn a_renamed_file_takes_what_the_other_side_added_to_it() {
    let quarrel = Quarrel::new(
        |at| list(at, "a\nb\nc\nd\ne\n"),
        |at| {
            list(at, "a\nb\nc\nd\ne\nours\n");
            rename(at, "moved.txt");
        },
        |at| list(at, "a\nb\nc\nd\ne\ntheirs\n"),
    );
    assert_eq!(
        quarrel.united("moved.txt").as_deref(),
        Some("one\ntwo\na\nb\nc\nd\ne\nours\ntheirs\n")
    );
}

#[test]
fn the_history_says_how_a_merge_came_about_and_is_held_to_it() {
    let quarrel = Quarrel::new(
        |at| list(at, ""),
        |at| list(at, "ours\n"),
        |at| list(at, "theirs\n"),
    );
    let Quarrel {
        scene,
        ours,
        theirs,
    } = &quarrel;
    let Landing::Clean(preview) = quarrel.landing() else {
        panic!("both are taken")
    };
    let merge = scene
        .repository
        .merge_commit(&preview, "Land\n\nTask: 1\nRun: r\n")
        .expect("a merge");
    let trailers = scene.repository.past(&merge).expect("trailers").trailers;
    let expected = [("Task", "1"), ("Run", "r"), ("Resolution", "union")];
    assert_eq!(
        trailers,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    let seen = |tree: &TreeId, resolution| {
        scene
            .repository
            .merged_tree(ours, theirs, tree, resolution)
            .expect("seen")
    };
    assert_eq!(
        seen(&preview.tree, Some(Resolution::Union)),
        MergedTree::AsMerged
    );
    let conflict = MergedTree::Conflict(vec!["list.txt".to_owned()]);
    assert_eq!(seen(&preview.tree, None), conflict, "it has to say so");
    assert_eq!(seen(&preview.tree, Some(Resolution::Agent)), conflict);
    let mine = scene.repository.tree_of(theirs).expect("a tree");
    assert_eq!(
        seen(&mine, Some(Resolution::Union)),
        MergedTree::Other,
        "one side alone is not both"
    );
    assert_eq!(
        seen(&mine, Some(Resolution::Driver)),
        MergedTree::Resolved,
        "only what conflicts differs"
    );
    let blob = scene.git(&["rev-parse", &format!("{mine}:list.txt")]);
    let link = index_entry("120000", &blob, b"list.txt");
    let link = scene.repository.tree_with(&mine, link);
    assert_eq!(
        seen(&link.expect("a tree"), Some(Resolution::Driver)),
        MergedTree::Other,
        "it is a file no more"
    );
    assert_eq!(
        seen(&mine, Some(Resolution::LockFile)),
        MergedTree::Other,
        "it is no lock file"
    );
    let Ok(both) = scene
        .repository
        .combine(
            &[ours.clone(), theirs.clone()],
            "Base of task 3",
            Conflicts::United,
        )
        .expect("an answer")
    else {
        panic!("both are taken")
    };
    assert_eq!(
        scene.repository.tree_of(&both).expect("a tree"),
        preview.tree
    );
    assert_eq!(
        scene.repository.past(&both).expect("trailers").trailers,
        [("Resolution".to_owned(), "union".to_owned())]
    );
}
