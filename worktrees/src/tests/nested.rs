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
fn git_writes_no_file_into_what_is_kept_by_rules_that_it_would_wait_for() {
    let scene = Scene::new();
    let commit = scene.task("tm/1", &scene.head(), "cache/x.txt", "x");
    let worktree = scene.check_out("tm/2", &scene.head());
    let used = worktree.path().to_owned();
    let pipe = used.join("cache/within/.gitattributes");
    write(&pipe.with_file_name("y.txt"), "y");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).expect("a pipe");
    worktree.release().expect("released");
    let pool = scene.pool.clone();
    let check_out = move |name: &str, base: &CommitId| {
        let kept = |_: &Path, _: &Lister| Ok(vec!["cache/".into()]);
        let made = pool.check_out(&branch(name), None, base, &[], kept);
        let made = made.expect("a worktree");
        let path = made.path().to_owned();
        made.release().expect("released");
        path
    };
    let base = scene.head();
    let (same, other) = without_waiting(&pipe, move || {
        (check_out("tm/3", &base), check_out("tm/4", &commit))
    });
    assert_eq!(same, used, "nothing is written into what is kept");
    assert_ne!(other, used);
    assert!(other.join("cache/x.txt").exists());
    let notes = scene.pool.take_notes().concat();
    assert!(notes.contains(".gitattributes`: it is a pipe"), "{notes}");
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

/// Rules that git would wait for, in a worktree in which `cache` and `cache/within` are kept.
fn with_rules(path: &str) -> (Scene, Worktree, std::path::PathBuf) {
    let scene = Scene::new();
    let mut worktree = scene.check_out("tm/1", &scene.head());
    worktree.keep(&["cache".into()]).expect("kept");
    write(&worktree.path().join("new.txt"), "work");
    write(&worktree.path().join("cache/within/file"), "kept");
    let pipe = worktree.path().join(path);
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).expect("a pipe");
    (scene, worktree, pipe)
}

#[test]
fn a_pipe_in_the_place_of_rules_keeps_nobody_waiting() {
    for path in [
        ".gitattributes",
        ".gitignore",
        ".gitmodules",
        "within.gitignore",
    ] {
        let (_scene, worktree, pipe) = with_rules(path);
        let (captured, looked, listed, salvaged) = without_waiting(&pipe, move || {
            (
                worktree.capture(&PathPatterns::default()),
                worktree.looker().commit(soon()),
                worktree.lister().untracked(),
                worktree.salvage("refs/tm/salvage/1", "kept"),
            )
        });
        if path == "within.gitignore" {
            captured.expect("captured");
            looked.expect("looked");
            continue;
        }
        let error = captured.expect_err("it can't be looked at");
        assert!(error.is_of_work() && !error.is_of_surroundings(), "{error}");
        let words = error.to_string();
        assert!(
            words.ends_with(&format!("/{path}`: it is a pipe")),
            "{words}"
        );
        let error = looked.expect_err("it can't be looked at");
        assert!(error.to_string().ends_with("it is a pipe"), "{error}");
        assert!(listed.is_err() && salvaged.is_err());
    }
}

#[test]
fn a_pipe_in_the_place_of_rules_in_what_is_kept_keeps_nobody_waiting() {
    for path in [
        "cache/.gitignore",
        "cache/.gitattributes",
        "cache/within/.gitignore",
    ] {
        let (scene, worktree, pipe) = with_rules(path);
        // What is ignored beside it has the listings made that go everywhere.
        write(&worktree.path().join(".gitignore"), "*.log\n");
        write(&worktree.path().join("x.log"), "ignored");
        let id = scene.git(&["rev-parse", "HEAD:a.txt"]);
        let forced = format!("100644,{},cache/within/file", id.trim());
        let git = scene.repository.git_in(worktree.path());
        let git = git.args(["update-index", "--add", "--cacheinfo", &forced]);
        git.done().expect("git");
        let (captured, looked) = without_waiting(&pipe, move || {
            let captured = worktree.capture(&PathPatterns::default());
            write(&worktree.path().join("more.txt"), "work");
            (captured, worktree.looker().commit(soon()))
        });
        let captured = captured.expect("captured");
        assert_eq!(captured.ignored, [std::path::PathBuf::from("x.log")]);
        looked.expect("looked");
    }
}

#[test]
fn work_that_git_refuses_in_part_is_kept_without_looking_into_what_is_kept() {
    let (scene, worktree, pipe) = with_rules("cache/.gitignore");
    let broken = worktree.path().join("broken");
    std::fs::create_dir_all(broken.join(".git/objects")).expect("a folder");
    std::fs::create_dir_all(broken.join(".git/refs/heads")).expect("a folder");
    write(&broken.join(".git/HEAD"), "ref: refs/heads/main\n");
    let kept = without_waiting(&pipe, move || worktree.salvage("refs/tm/salvage/1", "kept"));
    let commit = kept.expect("kept").expect("there is work");
    let listing = scene.git(&["ls-tree", "-r", "--name-only", commit.as_str()]);
    assert!(listing.contains("new.txt"), "{listing}");
    assert!(!listing.contains("cache"), "{listing}");
}
