//! What somebody leaves in git's folders of the user's checkout that git believes without looking again.

use super::*;
use std::collections::BTreeSet;
use std::fs;

const GRAPH: &str = "objects/info/commit-graph";

fn before(scene: &Scene) -> CheckoutSnapshot {
    CheckoutSnapshot::of_settings(&scene.of_user).expect("a look")
}

/// Has git put right, which nobody is told of.
fn put_right(scene: &Scene, before: &CheckoutSnapshot) {
    put_right_in(&scene.of_user, before);
}

fn put_right_in(repository: &Repository, before: &CheckoutSnapshot) {
    let (words, folders) = before.put_git_right(repository).expect("given");
    assert_eq!(words, [""; 0]);
    let later = CheckoutSnapshot::of_settings_in(repository, &folders).expect("a look");
    let told = before.changes(&later, repository);
    assert_eq!(told, CheckoutChanges::default());
}

fn git_of_user(scene: &Scene, arguments: &[&str]) -> String {
    scene.git(&[&["-c", "core.commitGraph=true"][..], arguments].concat())
}

/// Two commits of which each changes the file.
fn with_history() -> (Scene, PathBuf) {
    let scene = Scene::new();
    write(&scene.of_user.checkout_root().join("a.txt"), "other\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "second"]);
    let git = scene.of_user.common_dir().to_owned();
    (scene, git)
}

/// Has the commit graph say that the commit before HEAD had the tree of HEAD.
fn forge(scene: &Scene, graph: &Path) {
    let tree = |of: &str| bytes_of(&scene.git(&["rev-parse", &format!("{of}^{{tree}}")]));
    let (was, other) = (tree("HEAD~1"), tree("HEAD"));
    let mut bytes = fs::read(graph).expect("a graph");
    let at = bytes.windows(was.len()).position(|it| it == was);
    let at = at.expect("it names the tree");
    bytes[at..at + was.len()].copy_from_slice(&other);
    // git makes it read-only.
    fs::remove_file(graph).expect("removed");
    write_bytes(graph, &bytes);
}

#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn write_bytes(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file");
}

#[test]
fn a_forged_commit_graph_does_not_stay() {
    let (scene, git) = with_history();
    let before = before(&scene);
    git_of_user(&scene, &["commit-graph", "write", "--reachable"]);
    forge(&scene, &git.join(GRAPH));
    let shown = || git_of_user(&scene, &["diff", "--stat", "HEAD~1", "HEAD"]);
    assert_eq!(shown(), "", "git believes it");
    put_right(&scene, &before);
    assert!(!git.join(GRAPH).exists());
    assert!(shown().contains("a.txt"));
}

#[test]
fn what_git_believed_before_stays_until_somebody_changes_it() {
    let (scene, git) = with_history();
    git_of_user(&scene, &["repack", "-ad", "--write-midx"]);
    git_of_user(&scene, &["commit-graph", "write", "--reachable"]);
    let names = [GRAPH, "objects/pack/multi-pack-index"];
    let was = names.map(|name| fs::read(git.join(name)).expect("a file"));
    let before = before(&scene);
    put_right(&scene, &before);
    let now = names.map(|name| fs::read(git.join(name)).expect("a file"));
    assert_eq!(now, was);
    forge(&scene, &git.join(GRAPH));
    let index = git.join(names[1]);
    fs::set_permissions(&index, fs::Permissions::from_mode(0o600)).expect("rights");
    write_mapped(&index);
    put_right(&scene, &before);
    assert_eq!(names.map(|name| git.join(name).exists()), [false; 2]);
    put_right(&scene, &before);
}

#[test]
fn nobody_reads_on_in_what_somebody_made_long() {
    let (scene, git) = with_history();
    let graph = git.join(GRAPH);
    write(&graph, "short");
    let before = before(&scene);
    let file = fs::File::options().write(true).open(&graph);
    file.expect("a file").set_len(1 << 42).expect("holes");
    put_right(&scene, &before);
    assert!(!graph.exists());
}

/// Has somebody leave new things where there was more than anybody looks at; tells what is left of them.
fn left_beside_too_much(scene: &Scene, git: &Path) -> [bool; 2] {
    let before = before(scene);
    write(&git.join("objects/pack/multi-pack-index"), "new\n");
    write(&git.join("rr-cache/1/postimage"), "new\n");
    let (words, _) = before.put_git_right(&scene.of_user).expect("given");
    let said = words.join("\n");
    assert!(said.contains("more than is compared"), "{said}");
    ["objects/pack/multi-pack-index", "rr-cache"].map(|name| git.join(name).exists())
}

#[test]
fn what_was_too_long_to_be_compared_is_not_taken_away() {
    let (scene, git) = with_history();
    let graph = git.join(GRAPH);
    write(&graph, "mine");
    let file = fs::File::options().write(true).open(&graph);
    file.expect("a file").set_len(1 << 42).expect("holes");
    assert_eq!(left_beside_too_much(&scene, &git), [true, false]);
    assert!(graph.exists(), "it was the user's");
}

#[test]
fn what_was_too_much_to_be_compared_is_not_taken_away() {
    let (scene, git) = with_history();
    let graphs = git.join("objects/info/commit-graphs");
    let of_user = |at: usize| graphs.join(at.to_string());
    for at in 0..=100_000 {
        // A file has no more than so many names everywhere.
        match at - at % 10_000 {
            first if first == at => write(&of_user(at), "mine"),
            first => fs::hard_link(of_user(first), of_user(at)).expect("a name"),
        }
    }
    assert_eq!(left_beside_too_much(&scene, &git), [true, false]);
    assert_eq!(fs::read_dir(graphs).expect("a folder").count(), 100_001);
}

#[test]
fn chains_go_wherever_they_lie_and_what_is_being_written_or_is_no_graph_stays() {
    let (scene, git) = with_history();
    for name in ["HEAD", "objects/x", "refs/x"] {
        write(&git.join("modules/a").join(name), "");
    }
    write(&git.join("modules/rr-cache/HEAD"), "");
    let before = before(&scene);
    let new = [
        "objects/info/commit-graphs/commit-graph-chain",
        "objects/info/commit-graphs/graph-1.graph",
        "objects/pack/multi-pack-index-1.rev",
        "objects/pack/multi-pack-index.d/multi-pack-index-chain",
        "modules/a/objects/info/commit-graph",
        "modules/a/rr-cache/1/postimage",
        "MERGE_RR",
    ];
    let others = [
        "objects/info/commit-graph.lock",
        "objects/info/commit-graphs/commit-graph-chain.lock",
        "objects/info/commit-graphs/tmp_graph_1",
        "objects/info/packs",
        "objects/pack/pack-1.keep",
        "modules/rr-cache/objects/1",
    ];
    for name in new.iter().chain(&others) {
        write(&git.join(name), "new\n");
    }
    let branches = ["rr-cache/1", "objects/info/commit-graph"];
    for name in branches {
        scene.git(&["branch", name]);
    }
    put_right(&scene, &before);
    let there = |names: &[&'static str]| -> Vec<&'static str> {
        let is_there = |name: &&str| git.join(name).exists();
        names.iter().copied().filter(is_there).collect()
    };
    assert_eq!(there(&new), [""; 0]);
    assert_eq!(there(&others), others);
    assert!(!git.join("modules/a/rr-cache").exists());
    for name in branches {
        scene.git(&["rev-parse", "--verify", &format!("refs/heads/{name}")]);
    }
}

#[test]
fn resolutions_of_others_are_not_the_user_s() {
    let (scene, git) = with_history();
    let folder = git.join("rr-cache");
    let none = before(&scene);
    fs::create_dir(&folder).expect("a folder");
    put_right(&scene, &none);
    assert!(!folder.exists(), "that it is there has git use it");
    for name in ["1/preimage", "1/postimage", "2/preimage", "2/postimage"] {
        write(&folder.join(name), "mine\n");
    }
    let some = before(&scene);
    write(&folder.join("2/postimage"), "evil\n");
    write(&folder.join("3/postimage"), "evil\n");
    fs::remove_file(folder.join("1/preimage")).expect("removed");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("rights");
    put_right(&scene, &some);
    let left: Vec<PathBuf> = files_below(&folder).into_keys().collect();
    assert_eq!(left, [PathBuf::from("1/postimage")]);
    assert!(!folder.join("2").exists() && !folder.join("3").exists());
}

#[test]
fn a_resolution_that_was_there_stays_where_git_meets_its_conflict_again() {
    let (scene, git) = with_history();
    let folder = git.join("rr-cache");
    let mine = [
        "1/preimage",
        "1/postimage",
        "2/preimage",
        "3/postimage",
        "4/preimage",
        "5/preimage",
        "5/postimage",
    ];
    for name in mine {
        write(&folder.join(name), "mine\n");
    }
    let before = before(&scene);
    let noted = ["1/thisimage", "1/preimage.1", "4/preimage"];
    let evil = ["2/postimage", "3/preimage", "5/preimage", "6/preimage"];
    for name in noted.iter().chain(&evil) {
        write(&folder.join(name), "other\n");
    }
    put_right(&scene, &before);
    let left: Vec<PathBuf> = files_below(&folder).into_keys().collect();
    let stay = [&["1/postimage", "1/preimage"][..], &noted].concat();
    let stay: BTreeSet<PathBuf> = stay.into_iter().map(PathBuf::from).collect();
    assert_eq!(BTreeSet::from_iter(left), stay);
}

/// Has git merge two branches that changed the same line.
fn merge_again(scene: &Scene) -> String {
    let mut merge = environment(scene.folder.path()).git(&[]);
    let root = scene.of_user.checkout_root();
    let line = "-c rerere.enabled=true merge other";
    let merge = merge.args(line.split(' ')).current_dir(root).output();
    drop(merge.expect("git"));
    fs::read_to_string(root.join("a.txt")).expect("a file")
}

#[test]
fn conflicts_count_as_resolved_by_no_conflict_that_somebody_changed() {
    let (scene, git) = with_history();
    let file = scene.of_user.checkout_root().join("a.txt");
    scene.git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    write(&file, "theirs\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "theirs"]);
    scene.git(&["checkout", "--quiet", "main"]);
    assert!(merge_again(&scene).contains("<<<<"));
    write(&file, "both\n");
    scene.git(&["-c", "rerere.enabled=true", "rerere"]);
    scene.git(&["reset", "--quiet", "--hard"]);
    let before = before(&scene);
    assert_eq!(merge_again(&scene), "both\n");
    scene.git(&["reset", "--quiet", "--hard"]);
    put_right(&scene, &before);
    assert_eq!(merge_again(&scene), "both\n", "it is the user's");
    scene.git(&["reset", "--quiet", "--hard"]);
    let entry = fs::read_dir(git.join("rr-cache")).expect("a folder").next();
    let entry = entry.expect("one").expect("a folder").path();
    fs::copy(entry.join("postimage"), entry.join("preimage")).expect("a copy");
    put_right(&scene, &before);
    assert!(!entry.exists());
}

#[test]
fn what_lies_in_the_folder_of_all_checkouts_goes_for_a_linked_one_too() {
    let (scene, git) = with_history();
    let linked = scene.folder.path().join("linked");
    let path = linked.display().to_string();
    scene.git(&["worktree", "add", "--quiet", "--detach", &path]);
    let environment = environment(scene.folder.path());
    let repository = Repository::discover_in(&linked, environment).expect("a repository");
    let before = CheckoutSnapshot::of_settings(&repository).expect("a look");
    let own = repository.git_dir().join("MERGE_RR");
    let new = [git.join(GRAPH), git.join("rr-cache/1/postimage"), own];
    for path in &new {
        write(path, "new\n");
    }
    put_right_in(&repository, &before);
    assert_eq!(new.map(|path| path.exists()), [false; 3]);
}

#[test]
fn what_was_put_aside_for_a_merge_is_brought_into_no_later_commit() {
    let (scene, git) = with_history();
    let file = scene.of_user.checkout_root().join("a.txt");
    let put_aside = |text: &str| {
        write(&file, text);
        let stash = scene.git(&["stash", "create"]);
        scene.git(&["checkout", "--quiet", "a.txt"]);
        write(&git.join("MERGE_AUTOSTASH"), &format!("{stash}\n"));
        stash
    };
    let none = before(&scene);
    let stash = put_aside("evil\n");
    let (words, _) = none.put_git_right(&scene.of_user).expect("given");
    let said = format!("MERGE_AUTOSTASH (new, taken away; it named the stash {stash})");
    assert!(words.join("\n").contains(&said), "{words:?}");
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "mine"]);
    assert_eq!(fs::read_to_string(&file).expect("a file"), "other\n");
    put_aside("mine\n");
    put_right(&scene, &before(&scene));
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "more"]);
    assert_eq!(
        fs::read_to_string(&file).expect("a file"),
        "mine\n",
        "it was the user's"
    );
}
