//! Commits that are made in this process are those that git makes.

use super::*;
use crate::new_commit::NewCommit;
use proptest::prelude::*;

/// What a commit says, without the seconds in which it was made.
fn said(repository: &Repository, commit: &CommitId) -> String {
    let asked = repository.git_on_objects("cat-file commit").commit(commit);
    let text = String::from_utf8(asked.bytes().expect("a commit")).expect("text");
    let (head, message) = text.split_once("\n\n").expect("a message");
    let without_seconds = |line: &str| match line.rsplitn(3, ' ').collect::<Vec<_>>()[..] {
        [zone, _, named] if line.contains('>') => format!("{named} {zone}"),
        _ => line.to_owned(),
    };
    let head: Vec<String> = head.lines().map(without_seconds).collect();
    format!("{}\n\n{message}", head.join("\n"))
}

/// Asserts that the same commit is made here and by git, or none here.
fn assert_same(scene: &Scene, parents: &[&CommitId], message: &str) {
    let repository = &scene.repository;
    let tree = repository.tree_of(&scene.head()).expect("a tree");
    let new = NewCommit {
        tree: &tree,
        parents,
        message,
    };
    let here = repository.commit_here(&new).expect("made here");
    let by_git = repository
        .git_commit_tree(&tree, parents, message)
        .object_id();
    let by_git = CommitId::new(by_git.expect("made by git"));
    assert_eq!(said(repository, &here), said(repository, &by_git));
}

#[test]
fn names_messages_and_parents_are_as_git_writes_them() {
    for (name, address) in [
        ("Zoë <of> Ünïcode.", "zoe@example.org"),
        ("\"A, B; C\"", " <with.brackets@example.org> "),
        ("日本", "x"),
    ] {
        let scene = Scene::new();
        let head = scene.head();
        scene.git(&["commit", "--quiet", "--allow-empty", "--message", "another"]);
        let another = scene.head();
        scene.git(&["config", "user.name", name]);
        scene.git(&["config", "user.email", address]);
        let scene = scene.anew();
        let people = scene.repository.people().expect("asked").expect("a run");
        assert_ne!(people.author.0, "Somebody");
        for message in [
            "",
            "\n",
            "no end",
            "one\n",
            "subject\n\nbody\n\n# kept\n  \n\n",
            "é\r\n",
        ] {
            assert_same(&scene, &[], message);
            assert_same(&scene, &[&head], message);
            assert_same(&scene, &[&another, &head], message);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_message_is_as_git_writes_it(messages in prop::collection::vec("[^\0]{0,60}", 1..6)) {
        let scene = Scene::new();
        for message in messages {
            assert_same(&scene, &[&scene.head()], &message);
        }
    }
}

#[test]
fn what_git_has_a_say_in_is_left_to_it() {
    let scene = Scene::new();
    let head = scene.head();
    let is_made_here = |repository: &Repository, parents: &[&CommitId], message: &str| {
        let tree = repository.tree_of(&head).expect("a tree");
        let new = NewCommit {
            tree: &tree,
            parents,
            message,
        };
        repository.commit_here(&new).is_some()
    };
    let repository = &scene.repository;
    assert!(is_made_here(repository, &[&head], "fine"));
    assert!(!is_made_here(repository, &[&head, &head], "the same twice"));
    assert!(!is_made_here(repository, &[&head], "a \0 in it"));
    let nothing = CommitId::new("1".repeat(head.as_str().len()));
    assert!(!is_made_here(repository, &[&nothing], "of nothing"));
    assert!(!is_made_here(&scene.of_user, &[&head], "of no run"));
    scene.git(&["config", "i18n.commitEncoding", "ISO-8859-1"]);
    assert!(!is_made_here(&scene.anew().repository, &[&head], "é"));
}

#[test]
fn a_name_in_another_encoding_is_the_same_as_git_makes_of_it() {
    let scene = Scene::new();
    let of_user = scene.of_user.git_in(scene.of_user.checkout_root());
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"J\xf6rg");
    of_user
        .line("config user.name")
        .arg(name)
        .done()
        .expect("set");
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", "by git"]);
    let by_git = scene.git(&["log", "-1", "--format=%an"]);
    assert_eq!(by_git, "Jörg");
    let scene = scene.anew();
    let people = scene.repository.people().expect("asked").expect("a run");
    assert_eq!(people.author.0, by_git);
    assert_same(&scene, &[&scene.head()], "a message\n");
}
