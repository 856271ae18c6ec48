//! More names than the system takes as arguments of a program.

use super::*;

/// Longer together than any system takes.
const MANY: usize = 50_000;

fn many() -> impl Iterator<Item = String> {
    (0..MANY).map(|number| {
        format!("a-folder-with-a-name/of-some-length/like-those-of-projects/{number}")
    })
}

#[test]
fn arguments_that_are_too_long_are_no_trouble_of_the_surroundings() {
    let scene = Scene::new();
    let error = scene
        .of_user
        .git_at_checkout("status --")
        .args(many())
        .done();
    let error = error.expect_err("too long");
    assert!(!error.is_of_surroundings(), "{error}");
    assert!(
        error.to_string().contains("Argument list too long"),
        "{error}"
    );
    assert!(error.to_string().len() < 1_000);
}

#[test]
fn what_stays_in_a_worktree_may_be_any_number_of_paths() {
    let scene = Scene::new();
    let mut worktree = scene.check_out("tm/1", &scene.head());
    let kept: Vec<PathBuf> = many().map(PathBuf::from).collect();
    for path in [&kept[7], &PathBuf::from("b.txt")] {
        write(&worktree.path().join(path), "x\n");
    }
    worktree.keep(&kept).expect("written down");
    let captured = worktree.capture(&never(&[])).expect("captured");
    let paths = scene.repository.paths(&captured.tree).expect("paths");
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
}

#[test]
fn history_is_asked_by_any_number_of_commits_and_files() {
    let scene = Scene::new();
    let base = scene.head();
    let commit = scene.task("tm/1", &base, "b.txt", "b\n");
    let tips = vec![commit.clone(); MANY];
    let repository = &scene.repository;
    assert_eq!(repository.history(&base, &tips).expect("asked").len(), 1);
    let told = repository.told_of(&tips).expect("asked");
    assert!(told.iter().all(|told| told.id == commit) && !told.is_empty());
    let files: Vec<String> = many().collect();
    let tasks = |files: &[String]| repository.trailers_between(&base, &commit, files, "Task");
    assert_eq!(tasks(&files).expect("asked"), ["tm/1"]);
    assert_eq!(tasks(&files[..2]).expect("asked"), [""; 0]);
    assert!(
        repository
            .history(&base, &[CommitId::new("--all")])
            .is_err()
    );
}

#[test]
fn a_conflict_of_thousands_of_files_is_told_in_a_moment() {
    const FILES: usize = 12_000;
    let scene = Scene::new();
    let (repository, head) = (&scene.repository, scene.head());
    let tree = repository.tree_of(&head).expect("a tree");
    let side = |text: &[u8]| {
        let id = repository.write_blob(text).expect("a blob");
        let entry = |at| tree::index_entry("100644", &id, format!("d/{at}").as_bytes());
        let changes = (0..FILES).flat_map(entry).collect();
        let tree = repository.tree_with(&tree, changes).expect("a tree");
        let commit = repository.commit_tree(&tree, &[&head], "side\n");
        commit.expect("a commit")
    };
    let begun = std::time::Instant::now();
    let merged = repository.merged_as_far(&side(b"one\n"), &side(b"two\n"));
    let conflict = merged.expect("a merge").expect_err("a conflict");
    assert_eq!(conflict.files.len(), FILES);
    assert!(conflict.texts.is_none(), "nobody looks at so many");
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
