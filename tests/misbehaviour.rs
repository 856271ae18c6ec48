//! Agents that lie, die, hang and wander: each ends as its own named failure, and nothing of theirs lands.

use crate::scene::{HONEST, Scene, task};

/// Misbehaves in the first attempt and does the work in the second.
fn first_attempt(bad: &str) -> String {
    format!("if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_PHASE\" = green ]; then\n{bad}\nexit\nfi\n{HONEST}")
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
    fails_once_as("timed-out", "trap '' TERM; sleep 1000 & wait; sleep 1000", &["--timeout", "2"]);
}

#[test]
fn half_a_result_and_rubbish_are_malformed() {
    fails_once_as("malformed-result", "printf 'stat' > \"$TM_RESULT_FILE\"", &[]);
    fails_once_as("malformed-result", "head -c 500 /dev/urandom > \"$TM_RESULT_FILE\"", &[]);
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
fn a_claim_without_work_never_lands() {
    let agent = r#"[ "$TM_PHASE" = green ] && echo nothing > nothing.txt
        printf 'status: PASS\n## Verification\n- Tests: 9/9 (0 failures)\n' > "$TM_RESULT_FILE"
        [ "$TM_PHASE" = green ] && exit 0
        printf '. t/check.sh\ncheck "it works" 1 "$(sh bin/it 2>/dev/null)"\n' > t/it.t"#;
    let scene = Scene::new(&[("1", "Add the parser", &[]), ("2", "Add the printer", &["1"])], agent);
    let report = scene.runs(&["--retries", "1"], 3);
    let liar = task(&report, "1");
    assert_eq!(
        (&liar["verdict"], &liar["failure"], &liar["landed"]),
        (&"fail".into(), &"green-failing".into(), &false.into())
    );
    assert_eq!(liar["attempts"][0]["claim"], "pass");
    assert_eq!(task(&report, "2:red")["verdict"], "blocked");
    assert_eq!(report["integration_commit"], report["base_commit"]);
    assert_eq!(scene.statuses(), ["pending"; 2]);
}

#[test]
fn an_agent_that_changes_nothing_is_said_so() {
    fails_once_as("nothing-done", "echo 'status: PASS' > \"$TM_RESULT_FILE\"", &[]);
}

#[test]
fn green_may_not_touch_the_tests_of_red() {
    fails_once_as(
        "tests-tampered",
        "echo 'echo \"ok - 1 works\"' > t/1.t; echo 'status: PASS' > \"$TM_RESULT_FILE\"",
        &[],
    );
}

#[test]
fn green_may_not_break_an_old_test() {
    let bad = "mkdir -p bin; echo 'echo 1' > bin/1; rm t/old.t; echo 'status: PASS' > \"$TM_RESULT_FILE\"";
    fails_once_as("regression", bad, &[]);
}

#[test]
fn a_red_that_can_not_fail_is_refused() {
    let agent = format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_PHASE\" = red ]; then\n\
         printf '. t/check.sh\\ncheck \"always\" 1 1\\n' > t/1.t; echo 'status: PASS' > \"$TM_RESULT_FILE\"; exit\nfi\n{HONEST}"
    );
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent);
    let report = scene.runs(&[], 0);
    assert_eq!(task(&report, "1:red")["attempts"][0]["failure"], "red-passed");
}

#[test]
fn an_agent_that_writes_into_the_checkout_has_escaped() {
    fails_once_as(
        "escaped",
        "echo hello > \"$AGENT_FOLDER/checkout/hello.txt\"; echo 'status: PASS' > \"$TM_RESULT_FILE\"",
        &[],
    );
}

#[test]
fn a_commit_on_the_default_branch_is_an_escape_and_is_left_for_the_user() {
    let bad = "git -C \"$AGENT_FOLDER/checkout\" commit --quiet --allow-empty -m escaped; echo 'status: PASS' > \"$TM_RESULT_FILE\"";
    let scene = Scene::new(&[("1", "Add the parser", &[])], &first_attempt(bad));
    let report = scene.runs(&[], 0);
    assert_eq!(task(&report, "1")["attempts"][0]["failure"], "escaped");
    assert_eq!(scene.git(&["log", "-1", "--format=%s", "main"]), "escaped");
}

#[test]
fn work_of_a_failed_attempt_is_kept() {
    let agent = "echo precious > precious.txt; exit 4";
    let scene = Scene::new(&[("1", "Document it", &[])], agent);
    let report = scene.runs(&["--retries", "0"], 3);
    let run = report["run_id"].as_str().expect("a run");
    assert_eq!(scene.git(&["show", &format!("refs/tm/salvage/{run}/1/1:precious.txt")]), "precious");
}
