//! The work of a run into the branch that the user is on.

mod agent_history;
mod ahead;
mod autopilot;
mod combined;
mod conflicts;
mod hooks;
mod landed_fails;
mod prune;
mod pull_requests;
mod rejected;
mod rejected_landings;
mod resolving;
mod review;

use crate::scene::{HONEST, Scene, write};

fn landed() -> Scene {
    let scene = Scene::new(&[("1", "Add the parser", &[])], HONEST);
    scene.runs(&[], 0);
    scene.git(&["commit", "--quiet", "--all", "--message", "statuses"]);
    scene
}

#[test]
fn work_is_merged_only_when_the_user_says_so() {
    let scene = landed();
    let before = scene.git(&["rev-parse", "main"]);
    let asked = scene.tm(&["waves", "land"]).output().expect("tm");
    assert_eq!(
        asked.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&asked.stderr)
    );
    assert_eq!(scene.git(&["rev-parse", "main"]), before);
    let done = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(scene.root().join("bin/1").is_file());
    let again = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(String::from_utf8_lossy(&again.stderr).contains("already"));
}

#[test]
fn a_conflict_is_told_before_anything_is_touched() {
    let scene = landed();
    write(&scene.root().join("bin/1"), "mine\n");
    scene.git(&["add", "bin/1"]);
    scene.git(&["commit", "--quiet", "--message", "mine"]);
    let before = scene.git(&["rev-parse", "HEAD"]);
    let refused = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(1)
            && words.contains("bin/1")
            && words.contains("hint: `git merge"),
        "{words}"
    );
    assert_eq!(
        (
            scene.git(&["rev-parse", "HEAD"]),
            scene.git(&["status", "--porcelain"])
        ),
        (before, String::new())
    );
}

#[test]
fn metrics_tell_where_a_run_stands() {
    let scene = landed();
    let metrics = scene.tm(&["waves", "metrics"]).output().expect("tm");
    let text = String::from_utf8_lossy(&metrics.stdout).into_owned();
    assert!(
        text.contains("tm_tasks_landed{run=") && text.contains("status=\"completed\"} 1"),
        "{text}"
    );
}

/// Says how a landing that has to be refused went.
fn refused(scene: &Scene) -> String {
    let refused = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert_eq!(refused.status.code(), Some(1));
    String::from_utf8_lossy(&refused.stderr).into_owned()
}

#[test]
fn files_that_git_ignores_are_not_written_over() {
    let scene = landed();
    write(&scene.root().join(".gitignore"), "bin\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "--message", "ignores"]);
    for precious in ["bin/1", "bin"] {
        let path = scene.root().join(precious);
        drop(std::fs::remove_dir_all(scene.root().join("bin")));
        write(&path, "precious\n");
        let words = refused(&scene);
        assert!(words.contains(&format!("`{precious}`")), "{words}");
        assert_eq!(std::fs::read_to_string(path).expect("a file"), "precious\n");
    }
    std::fs::remove_file(scene.root().join("bin")).expect("removed");
    write(&scene.root().join("bin/mine"), "precious\n");
    let done = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert_eq!(done.status.code(), Some(0));
    assert!(scene.root().join("bin/1").is_file() && scene.root().join("bin/mine").is_file());
}

#[test]
fn a_merge_of_the_users_own_is_not_taken_back() {
    let scene = landed();
    for (branch, text) in [("side", "one\n"), ("main", "two\n")] {
        scene.git(&["switch", "--quiet", "--force-create", branch, "HEAD"]);
        write(&scene.root().join("mine"), text);
        scene.git(&["add", "mine"]);
        scene.git(&["commit", "--quiet", "--message", branch]);
        if branch == "side" {
            scene.git(&["switch", "--quiet", "main"]);
        }
    }
    assert!(
        !scene
            .try_git(&["merge", "--quiet", "side"])
            .status
            .success()
    );
    write(&scene.root().join("mine"), "both\n");
    let before = scene.git(&["status", "--porcelain"]);
    assert!(before.contains("AA mine"), "{before}");
    refused(&scene);
    assert_eq!(scene.git(&["status", "--porcelain"]), before);
    assert_eq!(
        std::fs::read_to_string(scene.root().join("mine")).expect("a file"),
        "both\n"
    );
}
