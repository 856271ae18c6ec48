//! What git takes forever for ends it, and nobody else.

use super::*;
use std::time::{Duration, Instant};

/// Attributes for which git compares a path of many folders in as many ways as there are.
fn endless(root: &Path) {
    let deep = root.join("a/".repeat(80));
    std::fs::create_dir_all(&deep).expect("folders");
    write(&deep.join("f"), "deep\n");
    let pattern = "**/a/".repeat(30);
    write(&root.join(".gitattributes"), &format!("{pattern}b text\n"));
}

#[test]
fn a_git_that_takes_too_long_is_ended_and_leaves_no_lock() {
    let scene = Scene::new();
    let root = scene.repository.checkout_root();
    endless(root);
    let began = Instant::now();
    let add = scene.of_user.git_at_checkout("add --all");
    let error = add.at_most(Duration::from_millis(300)).done();
    let error = error.expect_err("it takes forever");
    assert!(matches!(error, Error::GitTookTooLong { .. }), "{error}");
    assert!(error.is_of_work() && !error.is_of_surroundings());
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(!root.join(".git/index.lock").exists());
}

#[test]
fn the_lock_of_a_git_that_was_killed_goes_where_nobody_else_takes_one() {
    let scene = Scene::new();
    let worktree = scene.check_out("1", &scene.head());
    let folder = &worktree.looker().folder;
    let lock = folder.index_file().with_extension("lock");
    let dies = format!("alias.dies=!touch {} && kill -9 $PPID", lock.display());
    let died = folder.git("").setting(&dies).arg("dies").done();
    assert!(died.is_err_and(|error| !error.is_of_surroundings()));
    assert!(!lock.exists());
    worktree.tree().expect("nothing is in the way");
}
