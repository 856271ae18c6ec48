//! A used folder that can't be brought into order costs the run that folder, and no task anything.

use super::*;
use crate::owned::OwnedFolder;

/// Has a folder of tm's own be one that nothing can be checked out in any more.
fn spoil(scene: &Scene, path: &Path) {
    let folder = OwnedFolder::written_down(&scene.repository, path.to_owned()).expect("known");
    let index = folder.index_file();
    std::fs::remove_file(&index).expect("gone");
    write(&index.join("within"), "");
}

/// Asserts that one folder was left, once.
fn assert_noted(scene: &Scene, path: &Path) {
    let notes = scene.pool.take_notes();
    let begin = format!("`{}` is not used again", path.display());
    assert!(
        notes.len() == 1 && notes[0].starts_with(&begin),
        "{notes:?}"
    );
    assert_eq!(scene.pool.take_notes(), [""; 0]);
}

#[test]
fn a_used_worktree_that_is_of_no_use_is_left_and_another_is_made() {
    let scene = Scene::new();
    let base = scene.head();
    let first = scene.check_out("tm/1", &base);
    let path = first.path().to_owned();
    first.release().expect("released");
    spoil(&scene, &path);
    let second = scene.check_out("tm/2", &base);
    assert_ne!(second.path(), path);
    assert!(second.path().join("a.txt").exists());
    assert_noted(&scene, &path);
    second.release().expect("released");
    assert_ne!(scene.check_out("tm/3", &base).path(), path);
}

#[test]
fn a_judges_checkout_that_is_of_no_use_is_left_and_another_is_made() {
    let scene = Scene::new();
    let base = scene.head();
    let tree = scene.repository.tree_of(&base).expect("a tree");
    let judge = || {
        let mut judge = scene.pool.judge(&tree, &base).expect("a checkout");
        judge.check_out(&base, &[]).expect("checked out");
        judge.path().to_owned()
    };
    let path = judge();
    assert_eq!(judge(), path, "it is used again");
    spoil(&scene, &path);
    let other = judge();
    assert_ne!(other, path);
    assert_noted(&scene, &path);
    assert_eq!(judge(), other);
}

#[test]
fn locks_that_were_left_in_a_folder_of_tms_own_stop_no_later_call() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let path = worktree.path().to_owned();
    let own = OwnedFolder::written_down(&scene.repository, path)
        .expect("known")
        .own;
    for lock in ["index.lock", "HEAD.lock"] {
        write(&own.join(lock), "");
    }
    write(&worktree.path().join("new.txt"), "work");
    let captured = worktree
        .capture(&PathPatterns::default())
        .expect("captured");
    assert!(captured.changed_from_base);
    worktree.release().expect("released");
    write(&own.join("index.lock/within"), "");
    let again = scene.check_out("tm/2", &scene.head());
    assert!(!again.path().join("new.txt").exists());
    assert_eq!(scene.pool.take_notes(), [""; 0]);
}

#[test]
fn a_worktree_that_nobody_may_write_to_is_opened_up_again() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    let path = worktree.path().to_owned();
    write(&path.join("new.txt"), "work");
    let mode = || path.metadata().expect("there").permissions().mode();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o500)).expect("closed");
    let captured = worktree.capture(&PathPatterns::default());
    assert!(captured.expect("captured").changed_from_base);
    worktree.release().expect("released");
    assert_eq!(mode() & 0o700, 0o700);
}
