//! What an agent leaves in the folders of repositories of its own keeps nobody waiting.

use super::*;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Nobody waits longer for something that must not wait.
const BOUND: Duration = Duration::from_secs(20);

/// Does something that a pipe could hold up for ever; the pipe is opened for whoever waits there once that is so.
fn without_waiting<T: Send + 'static>(pipe: &Path, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || done.send(work()));
    let result = ended.recv_timeout(BOUND);
    if result.is_err() {
        let open = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(pipe);
        drop(open.expect("opened"));
    }
    drop(thread);
    result.expect("it waits for a pipe")
}

#[test]
fn a_pipe_in_a_repository_within_a_worktree_keeps_nobody_waiting() {
    let scene = Scene::new();
    let worktree = scene.check_out("tm/1", &scene.head());
    write(&worktree.path().join("new.txt"), "work");
    let git = worktree.path().join("within/.git");
    for folder in ["objects", "refs/heads"] {
        std::fs::create_dir_all(git.join(folder)).expect("a folder");
    }
    let pipe = git.join("HEAD");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).expect("a pipe");
    let (captured, listed, salvaged) = without_waiting(&pipe, move || {
        (
            worktree.capture(&PathPatterns::default()),
            worktree.lister().untracked(),
            worktree.salvage("refs/tm/salvage/1", "kept"),
        )
    });
    let error = captured.expect_err("it can't be looked at");
    assert!(error.is_of_work() && !error.is_of_surroundings(), "{error}");
    let words = error.to_string();
    assert!(words.contains("within/.git/HEAD`: it is a pipe"), "{words}");
    assert!(listed.is_err() && salvaged.is_err());
}

#[test]
fn a_repository_within_what_is_kept_is_passed_over_when_work_is_taken() {
    let scene = Scene::new();
    let mut worktree = scene.check_out("tm/1", &scene.head());
    worktree.keep(&["cache".into()]).expect("kept");
    let git = worktree.path().join("cache/within/.git");
    for folder in ["objects", "refs/heads"] {
        std::fs::create_dir_all(git.join(folder)).expect("a folder");
    }
    write(&worktree.path().join("new.txt"), "work");
    let pipe = git.join("HEAD");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).expect("a pipe");
    let captured = without_waiting(&pipe, move || worktree.capture(&PathPatterns::default()));
    assert!(captured.expect("captured").changed_from_base);
}
