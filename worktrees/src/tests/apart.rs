//! What merges come to without git is what they come to with it.

use super::*;
use git2::{FileMode, ObjectType, Oid, Signature, Time};
use proptest::prelude::*;

/// A commit as it is made for a test: its parents among the earlier ones, what becomes of files, and when.
type Step = (Vec<usize>, Vec<(u8, u8, u8)>, i64);

/// Files by path, each with its mode and its content.
type Files = BTreeMap<String, (FileMode, String)>;

/// Long enough for git to see that one file is another one under a new name.
fn text(seed: u8) -> String {
    let lines = (0..12).map(|line| format!("{line} of {}\n", seed / 4));
    format!("{}{seed}\n", lines.collect::<String>())
}

/// Few names, so that sides meet; some of them are each other's folders.
fn path(number: u8) -> String {
    let names = [
        "a", "b", "a-b", "a.c", "d/e", "d/f", "d", "d/g/h", "d/g/i", "naïve", "N", "n", "x/y/z",
    ];
    names[usize::from(number) % names.len()].to_owned()
}

/// Does to files what one number says of two others.
fn change(files: &mut Files, (what, one, other): (u8, u8, u8)) {
    let nth = files
        .keys()
        .nth(usize::from(one) % files.len().max(1))
        .cloned();
    let put = |files: &mut Files, path: String, file| {
        let folder = format!("{path}/");
        files.retain(|known, _| {
            !known.starts_with(&folder) && !path.starts_with(&format!("{known}/"))
        });
        files.insert(path, file);
    };
    match (what % 10, nth) {
        (0..=3, _) => put(files, path(one), (FileMode::Blob, text(other))),
        (4, Some(name)) => drop(files.insert(name, (FileMode::Blob, text(other)))),
        (5, Some(name)) => drop(files.insert(name, (FileMode::BlobExecutable, text(other)))),
        (6, Some(name)) => drop(files.insert(name, (FileMode::Link, "a".to_owned()))),
        (7, Some(name)) => drop(files.remove(&name)),
        (8, Some(name)) => {
            let file = files.remove(&name).expect("it is there");
            put(files, path(other), file);
        }
        (_, _) => put(files, path(one), (FileMode::Commit, "1".repeat(40))),
    }
}

/// Writes files as a tree.
fn tree(objects: &git2::Repository, files: &Files) -> Oid {
    let mut root = objects.treebuilder(None).expect("a tree");
    let mut folders: BTreeMap<&str, Files> = BTreeMap::new();
    for (path, (mode, content)) in files {
        if let Some((folder, rest)) = path.split_once('/') {
            let within = folders.entry(folder).or_default();
            within.insert(rest.to_owned(), (*mode, content.clone()));
            continue;
        }
        let id = match mode {
            FileMode::Commit => Oid::from_str(content).expect("an id"),
            _ => objects.blob(content.as_bytes()).expect("written"),
        };
        root.insert(path.as_str(), id, (*mode).into())
            .expect("an entry");
    }
    for (folder, files) in folders {
        let mode = FileMode::Tree.into();
        root.insert(folder, tree(objects, &files), mode)
            .expect("an entry");
    }
    root.write().expect("written")
}

/// Makes a history, and returns its commits.
fn history(objects: &git2::Repository, steps: Vec<Step>) -> Vec<CommitId> {
    let mut made: Vec<(Oid, Files)> = Vec::new();
    for (number, (parents, changes, at)) in steps.into_iter().enumerate() {
        let mut chosen: Vec<usize> = parents;
        for parent in &mut chosen {
            *parent %= made.len().max(1);
        }
        chosen.dedup();
        chosen.retain(|parent| *parent < made.len());
        let mut files = chosen.first().map_or_else(
            || Files::from([("a".to_owned(), (FileMode::Blob, text(0)))]),
            |first| made[*first].1.clone(),
        );
        for one in changes {
            change(&mut files, one);
        }
        let who =
            Signature::new("A", "a@example.org", &Time::new(1_000_000 + at, 0)).expect("a name");
        let commits: Vec<git2::Commit<'_>> = chosen
            .iter()
            .map(|parent| objects.find_commit(made[*parent].0).expect("a commit"))
            .collect();
        let parents: Vec<&git2::Commit<'_>> = commits.iter().collect();
        let tree = objects.find_tree(tree(objects, &files)).expect("a tree");
        let message = number.to_string();
        let commit = objects.commit(None, &who, &who, &message, &tree, &parents);
        made.push((commit.expect("written"), files));
    }
    made.into_iter()
        .map(|(id, _)| CommitId::new(id.to_string()))
        .collect()
}

/// Merges every commit with every other one in both ways, and returns how often git was not needed.
fn assert_merged_alike(repository: &Repository, commits: &[CommitId]) -> usize {
    let mut without_git = 0;
    for one in commits {
        for other in commits {
            let apart = repository.read(|reader| reader.merged_apart(one, other));
            if let Some(tree) = apart {
                assert_eq!(
                    repository.merged_by_git(one, other).expect("merged"),
                    Ok(tree)
                );
                without_git += 1;
            }
        }
    }
    without_git
}

fn objects(scene: &Scene) -> git2::Repository {
    git2::Repository::open(scene.repository.checkout_root()).expect("opened")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn random_histories_are_merged_alike(
        steps in proptest::collection::vec(
            (
                proptest::collection::vec(0_usize..8, 1..4),
                proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..4),
                0_i64..50,
            ),
            2..8,
        )
    ) {
        let scene = Scene::new();
        let commits = history(&objects(&scene), steps);
        assert_merged_alike(&scene.repository, &commits);
    }
}

/// Sides that part from one commit, each by one change: those that only add are merged without git, and so are files
/// that one side alone changed.
#[test]
fn sides_that_leave_each_other_alone_need_no_git() {
    let scene = Scene::new();
    let start = (vec![], vec![(0, 4, 0), (0, 7, 8), (0, 12, 16)], 0);
    let side = |change| (vec![0], vec![change], 1);
    let sides = [
        (0, 1, 3),
        (0, 8, 3),
        (0, 5, 3),
        (5, 0, 0),
        (4, 1, 1),
        (4, 2, 1),
    ];
    let steps = std::iter::once(start).chain(sides.map(side)).collect();
    let commits = history(&objects(&scene), steps);
    let pairs = commits.len() * commits.len();
    assert_eq!(assert_merged_alike(&scene.repository, &commits), pairs);
}

/// Whoever takes a file away may have moved it, and what others add to where it was would follow.
#[test]
fn where_a_side_takes_something_away_git_is_asked() {
    let scene = Scene::new();
    let start = (vec![], vec![(0, 4, 0), (0, 5, 8)], 0);
    let side = |change| (vec![0], vec![change], 1);
    let gone = [(7, 1, 0), (8, 1, 1), (6, 1, 0), (0, 6, 1)];
    let steps = std::iter::once(start)
        .chain(gone.map(side))
        .chain([side((0, 1, 4))]);
    let commits = history(&objects(&scene), steps.collect());
    let (added, gone) = commits[1..].split_last().expect("commits");
    for gone in gone {
        for (one, other) in [(gone, added), (added, gone)] {
            let merged = scene
                .repository
                .read(|reader| reader.merged_apart(one, other));
            assert_eq!(merged, None);
        }
    }
}

#[test]
fn a_folder_with_nothing_in_it_and_histories_that_meet_twice_are_for_git() {
    let scene = Scene::new();
    let objects = objects(&scene);
    let mut files = Files::from([("f/a".to_owned(), (FileMode::Blob, text(0)))]);
    let with_nothing = |files: &Files| {
        let nothing = objects
            .odb()
            .expect("objects")
            .write(ObjectType::Tree, b"")
            .expect("written");
        let inner = tree(
            &objects,
            &files
                .iter()
                .map(|(path, file)| (path[2..].to_owned(), file.clone()))
                .collect(),
        );
        let mut inner = objects
            .treebuilder(Some(&objects.find_tree(inner).expect("a tree")))
            .expect("a tree");
        inner
            .insert("nothing", nothing, FileMode::Tree.into())
            .expect("an entry");
        let mut root = objects.treebuilder(None).expect("a tree");
        root.insert("f", inner.write().expect("written"), FileMode::Tree.into())
            .expect("an entry");
        TreeId::new(root.write().expect("written").to_string())
    };
    let commit = |tree: &TreeId, parents: &[&CommitId]| {
        scene
            .repository
            .commit_tree(tree, parents, "a commit\n")
            .expect("a commit")
    };
    let base = commit(&with_nothing(&files), &[]);
    files.insert("f/b".to_owned(), (FileMode::Blob, text(1)));
    let one = commit(&with_nothing(&files), &[&base]);
    files.remove("f/b");
    files.insert("f/c".to_owned(), (FileMode::Blob, text(2)));
    let other = commit(&with_nothing(&files), &[&base]);
    let apart = |one, other| {
        scene
            .repository
            .read(|reader| reader.merged_apart(one, other))
    };
    assert_eq!(apart(&one, &other), None);
    let tree = scene.repository.tree_of(&one).expect("a tree");
    let (first, second) = (
        commit(&tree, &[&one, &other]),
        commit(&tree, &[&other, &one]),
    );
    assert_eq!(apart(&first, &second), None);
}
