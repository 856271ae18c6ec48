//! Trees that stand for more than anybody could walk are refused before anybody does.

use super::*;
use git2::{ObjectType, Oid};
use std::time::Instant;

/// Where the user's git keeps objects, for trees that git itself would take long to make.
fn objects(scene: &Scene) -> git2::Repository {
    git2::Repository::open(scene.of_user.common_dir()).expect("a repository")
}

/// A tree of so many entries, all of them one object.
fn tree_of(git: &git2::Repository, count: usize, mode: i32, of: Oid) -> Oid {
    let mut tree = git.treebuilder(None).expect("a tree");
    for number in 0..count {
        tree.insert(format!("n{number}"), of, mode)
            .expect("an entry");
    }
    tree.write().expect("written")
}

/// Trees in one another, so many deep, each with so many entries of the next; the last has a file.
fn nested(git: &git2::Repository, depth: usize, count: usize) -> Oid {
    let file = git.blob(b"one\n").expect("a blob");
    let last = tree_of(git, count, 0o100_644, file);
    (1..depth).fold(last, |below, _| tree_of(git, count, 0o040_000, below))
}

fn commit_of(scene: &Scene, tree: Oid) -> CommitId {
    let (tree, head) = (TreeId::new(tree.to_string()), scene.head());
    let commit = scene.repository.commit_tree(&tree, &[&head], "large\n");
    commit.expect("a commit")
}

fn is_too_large<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| {
        assert!(error.is_of_work() && !error.is_of_surroundings(), "{error}");
        matches!(error, Error::TreeTooLarge { .. })
    })
}

#[test]
fn a_tree_of_more_files_than_anybody_has_is_walked_by_nobody() {
    for kind in [&[][..], &["--object-format=sha256"]] {
        let Some(scene) = Scene::of_kind(kind) else {
            continue;
        };
        let begun = Instant::now();
        let (tree, commit) = if kind.is_empty() {
            let tree = nested(&objects(&scene), 12, 10);
            (TreeId::new(tree.to_string()), commit_of(&scene, tree))
        } else {
            of_other_ids(&scene)
        };
        let (repository, head) = (&scene.repository, scene.head());
        assert!(is_too_large(repository.paths(&tree)));
        assert!(is_too_large(repository.changed_files(&head, &commit)));
        assert!(is_too_large(repository.merged_as_far(&head, &commit)));
        assert!(is_too_large(repository.committable(
            &tree,
            &head,
            &never(&[])
        )));
        let worktree = scene.check_out("tm/1", &head);
        assert!(is_too_large(worktree.go_back_to(&commit)));
        let folder = tempfile::tempdir().expect("a folder");
        assert!(is_too_large(repository.export(&tree, folder.path())));
        assert!(
            repository
                .paths(&repository.tree_of(&head).expect("a tree"))
                .is_ok()
        );
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}

/// The same in a repository that the library can't read.
fn of_other_ids(scene: &Scene) -> (TreeId, CommitId) {
    let numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let entries = |line: &str| {
        numbers
            .map(|number| format!("{line}\tn{number}\n"))
            .concat()
    };
    let file = scene.repository.write_blob("one\n").expect("a blob");
    let made = |entries: String| {
        let git = scene.repository.git_on_objects("mktree");
        git.input(entries).object_id().expect("a tree")
    };
    let last = made(entries(&format!("100644 blob {file}")));
    let tree = (1..12).fold(last, |below, _| {
        made(entries(&format!("040000 tree {below}")))
    });
    let tree = TreeId::new(tree);
    let commit = scene
        .repository
        .commit_tree(&tree, &[&scene.head()], "large\n");
    (tree, commit.expect("a commit"))
}

#[test]
fn a_tree_that_is_too_deep_or_of_folders_alone_is_walked_by_nobody() {
    let scene = Scene::new();
    let git = objects(&scene);
    let paths = |tree: Oid| scene.repository.paths(&TreeId::new(tree.to_string()));
    let empty = git
        .treebuilder(None)
        .expect("a tree")
        .write()
        .expect("written");
    let folders = (0..7).fold(empty, |below, _| tree_of(&git, 10, 0o040_000, below));
    assert!(is_too_large(paths(folders)));
    assert!(is_too_large(paths(nested(&git, 1_002, 1))));
    assert_eq!(paths(nested(&git, 1_001, 1)).expect("walked").len(), 1);
    let missing = Oid::from_str(&"1".repeat(40)).expect("an id");
    let bytes = [
        b"40000 a\0",
        missing.as_bytes(),
        b"040000 b\0",
        folders.as_bytes(),
    ]
    .concat();
    let odd = git.odb().expect("objects").write(ObjectType::Tree, &bytes);
    assert!(
        is_too_large(paths(odd.expect("written"))),
        "what is missing hides nothing"
    );
}

/// An index in git's form with one folder as a whole.
fn index_of(tree: Oid) -> Vec<u8> {
    let mut index = b"DIRC\0\0\0\x03\0\0\0\x01".to_vec();
    index.extend([0; 24]);
    index.extend(0o040_000_u32.to_be_bytes());
    index.extend([0; 12]);
    index.extend(tree.as_bytes());
    index.extend(b"\x40\x06\x40\0large/\0\0");
    index.extend(b"sdir\0\0\0\0");
    index.extend([0; 20]);
    index
}

#[test]
fn an_index_that_has_a_folder_as_a_whole_is_not_written_out() {
    let scene = Scene::new();
    let index = scene.folder.path().join("index");
    let written = |depth| {
        let tree = nested(&objects(&scene), depth, 10);
        files::replace(&index, &index_of(tree)).expect("written");
        scene.repository.assert_index_walkable(&index)
    };
    written(2).expect("a hundred files");
    assert!(is_too_large(written(12)));
    let users = scene.repository.git_dir().join("index");
    std::fs::copy(&index, users).expect("copied");
    assert!(is_too_large(scene.repository.uncommitted()));
    assert!(is_too_large(scene.repository.work_snapshot()));
}

#[test]
fn what_is_known_of_a_large_tree_is_not_read_again() {
    let scene = Scene::new();
    let git = objects(&scene);
    let file = git.blob(b"one\n").expect("a blob");
    let mut whole = git.treebuilder(None).expect("a tree");
    for number in 0..2_000 {
        let mut folder = git.treebuilder(None).expect("a tree");
        for at in 0..10 {
            let name = format!("f{number}-{at}");
            folder.insert(name, file, 0o100_644).expect("an entry");
        }
        let folder = folder.write().expect("written");
        whole
            .insert(format!("d{number}"), folder, 0o040_000)
            .expect("an entry");
    }
    let first = whole.write().expect("written");
    whole.insert("new", file, 0o100_644).expect("an entry");
    let second = whole.write().expect("written");
    let known = |tree: Oid| {
        let tree = TreeId::new(tree.to_string());
        scene
            .repository
            .assert_walkable(&tree)
            .expect("small enough");
        scene.repository.extents.lock().known.len()
    };
    let of_first = known(first);
    assert!(of_first > 2_000);
    assert_eq!(known(second), of_first + 1, "one tree is new");
    assert_eq!(known(second), of_first + 1);
}
