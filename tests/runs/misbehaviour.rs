//! Agents that die, hang and leave things behind: each ends as its own named failure, and nothing of theirs lands.

use crate::scene::{HONEST, Scene, task};

/// Misbehaves in the first attempt and does the work in the second.
fn first_attempt(bad: &str) -> String {
    format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_PHASE\" = green ]; then\n{bad}\nexit\nfi\n{HONEST}"
    )
}

fn fails_once_as(failure: &str, bad: &str, arguments: &[&str]) {
    let scene = Scene::new(&[("1", "Add the parser", &[])], &first_attempt(bad));
    let report = scene.runs(arguments, 0);
    let attempts = task(&report, "1")["attempts"].as_array().expect("attempts");
    assert_eq!(attempts[0]["failure"], failure, "{report}");
    assert_eq!(attempts.len(), 2);
    scene.assert_no_process_is_left();
}

#[test]
fn an_agent_that_dies_is_retried() {
    fails_once_as("no-result", "exit 3", &[]);
    fails_once_as("no-result", "kill -9 $$", &[]);
}

#[test]
fn an_agent_that_hangs_is_ended() {
    fails_once_as(
        "timed-out",
        "trap '' TERM; sleep 1000 & wait; sleep 1000",
        &["--timeout", "2"],
    );
}

#[test]
fn half_a_result_and_rubbish_are_malformed() {
    fails_once_as(
        "malformed-result",
        "printf 'stat' > \"$TM_RESULT_FILE\"",
        &[],
    );
    fails_once_as(
        "malformed-result",
        "head -c 500 /dev/urandom > \"$TM_RESULT_FILE\"",
        &[],
    );
}

#[test]
fn grandchildren_in_sessions_of_their_own_do_not_outlive_the_attempt() {
    fails_once_as(
        "nothing-done",
        "setsid sleep 1000 & (setsid sleep 1000 &); echo 'status: PASS' > \"$TM_RESULT_FILE\"",
        &[],
    );
}

#[test]
fn work_of_a_failed_attempt_is_kept_and_can_be_brought_back() {
    let agent = "echo precious > precious.txt; exit 4";
    let scene = Scene::new(&[("1", "Document it", &[])], agent);
    let report = scene.runs(&["--retries", "0"], 3);
    let run = report["run_id"].as_str().expect("a run");
    assert_eq!(
        scene.git(&["show", &format!("refs/tm/salvage/{run}/1/1:precious.txt")]),
        "precious"
    );
    let listed = scene.tm(&["worktrees", "salvage"]).output().expect("tm");
    assert!(String::from_utf8_lossy(&listed.stdout).contains(&format!("{run}/1/1")));
    for expected in ["salvage/1-1", "salvage/1-1-2"] {
        let brought = scene
            .tm(&["worktrees", "salvage", "1"])
            .output()
            .expect("tm");
        assert!(
            brought.status.success(),
            "{}",
            String::from_utf8_lossy(&brought.stderr)
        );
        assert_eq!(
            scene.git(&["show", &format!("{expected}:precious.txt")]),
            "precious"
        );
    }
    let missing = scene
        .tm(&["worktrees", "salvage", "9"])
        .output()
        .expect("tm");
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("hint:"));
}

#[test]
fn an_agent_that_writes_into_another_worktree_of_the_user_is_told_of_and_fails_nobody() {
    let agent = format!("echo mine > \"$AGENT_FOLDER/other/from-agent\"\n{HONEST}");
    let scene = Scene::new(&[("1", "Document it", &[])], &agent);
    let other = scene.path("other");
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &other.display().to_string(),
    ]);
    let report = scene.runs(&[], 0);
    let attempts = task(&report, "1")["attempts"].as_array().expect("attempts");
    let noticed = attempts[0]["noticed"].to_string();
    assert!(
        attempts.len() == 1 && noticed.contains("other/from-agent"),
        "{report:#}"
    );
    assert!(
        other.join("from-agent").exists(),
        "it is left for the user to judge"
    );
}
