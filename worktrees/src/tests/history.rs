//! What a history is made of, and notes beside it.

use super::*;

#[test]
fn a_history_is_read_with_parents_trees_and_trailers() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let Landing::Clean(preview) = scene.repository.land(&base, &one).expect("landed") else {
        panic!("clean")
    };
    let merge = scene
        .repository
        .merge_commit(&preview, "Land one\n\nTask: one\nRun: r\n")
        .expect("a merge");
    let history = scene
        .repository
        .history(&base, std::slice::from_ref(&merge))
        .expect("a history");
    let ids: Vec<&CommitId> = history.iter().map(|commit| &commit.id).collect();
    assert_eq!(ids, [&one, &merge], "each after its parents");
    assert_eq!(history[1].parents, [base.clone(), one.clone()]);
    assert_eq!(
        (history[1].subject.as_str(), &history[1].tree),
        ("Land one", &preview.tree)
    );
    let trailers = [
        ("Task".to_owned(), "one".to_owned()),
        ("Run".to_owned(), "r".to_owned()),
    ];
    assert_eq!(history[1].trailers, trailers);
    assert_eq!(
        scene.repository.history(&merge, &[one]).expect("a history"),
        []
    );
    assert!(!scene.repository.is_shallow().expect("an answer"));
}

#[test]
fn a_merge_has_the_tree_of_its_parents_or_another_one() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    let other = scene.task("tm/other", &base, "c.txt", "c\n");
    let clash = scene.task("tm/clash", &base, "b.txt", "another\n");
    let Landing::Clean(preview) = scene.repository.land(&one, &other).expect("landed") else {
        panic!("clean")
    };
    let merged = |tree: &TreeId, with: &CommitId| {
        scene
            .repository
            .merged_tree(&one, with, tree, None)
            .expect("an answer")
    };
    assert_eq!(merged(&preview.tree, &other), MergedTree::AsMerged);
    assert_eq!(
        merged(&scene.repository.tree_of(&one).expect("a tree"), &other),
        MergedTree::Other
    );
    assert_eq!(
        merged(&preview.tree, &clash),
        MergedTree::Conflict(vec!["b.txt".to_owned()])
    );
}

#[test]
fn notes_are_kept_beside_each_other_and_replaced() {
    let scene = Scene::new();
    let base = scene.head();
    let one = scene.task("tm/one", &base, "b.txt", "b\n");
    assert_eq!(scene.repository.note(&base).expect("an answer"), None);
    for (commit, text) in [(&base, "first"), (&one, "second"), (&base, "third")] {
        scene.repository.write_note(commit, text).expect("written");
    }
    assert_eq!(
        scene.repository.note(&base).expect("a note").as_deref(),
        Some("third")
    );
    assert_eq!(
        scene.repository.note(&one).expect("a note").as_deref(),
        Some("second")
    );
    assert_eq!(scene.git(&["rev-list", "--count", "refs/notes/tm"]), "3");
}
