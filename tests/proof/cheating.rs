//! Agents that claim success by other means than work: each is caught and named, nothing of it lands, and an honest
//! attempt after it does.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;

/// What ends an attempt as a success, in the agent's own word.
const CLAIM: &str =
    "printf 'status: PASS\\n## Verification\\n- Tests: 9/9 (0 failures)\\n' > \"$TM_RESULT_FILE\"";

/// An agent that cheats in the first attempt of a phase, and works honestly in every other.
fn cheat(phase: &str, how: &str) -> String {
    format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_PHASE\" = {phase} ]; then\n{how}\n{CLAIM}\nexit\nfi\n{HONEST}"
    )
}

/// Runs one pair whose agent cheats once; returns the report after checking that the cheat was refused as named, and
/// that the honest attempt landed.
fn is_caught(phase: &str, how: &str, failure: &str, reason: &str) -> (Scene, Value) {
    let scene = Scene::new(&[("1", "Add the parser", &[])], &cheat(phase, how));
    let report = scene.runs(&[], 0);
    let id = if phase == "red" { "1:red" } else { "1" };
    let attempts = task(&report, id)["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 2, "{report:#}");
    assert_eq!(attempts[0]["failure"], failure, "{report:#}");
    let expected = if reason.is_empty() {
        Value::Null
    } else {
        reason.into()
    };
    assert_eq!(attempts[0]["proof"]["reason"], expected, "{report:#}");
    if !reason.is_empty() {
        assert!(
            !attempts[0]["differences"]
                .as_array()
                .expect("a list")
                .is_empty(),
            "the claim differs"
        );
    }
    assert_eq!(report["tdd"]["compliant"], 1);
    scene.assert_no_process_is_left();
    (scene, report)
}

#[test]
fn a_claim_without_any_change_is_caught() {
    is_caught("green", ":", "nothing-done", "nothing-changed");
}

#[test]
fn editing_the_test_of_red_is_caught() {
    is_caught(
        "green",
        "echo 'echo \"ok - 1 works\"' > t/1.t",
        "tests-tampered",
        "red-tests-changed",
    );
}

#[test]
fn deleting_the_failing_test_is_caught() {
    is_caught(
        "green",
        "rm t/1.t; echo x > x",
        "tests-tampered",
        "red-tests-changed",
    );
}

#[test]
fn deleting_a_test_that_was_there_before_is_caught() {
    let how = "mkdir -p bin; echo 'echo 1' > bin/1; rm t/old.t";
    is_caught("green", how, "regression", "old-test-gone");
}

#[test]
fn marking_tests_as_skipped_is_caught() {
    let how = "mkdir -p bin; echo 'echo 1' > bin/1; echo 'echo \"ok - the old one # SKIP slow\"' > t/old.t";
    is_caught("green", how, "regression", "old-test-skipped");
}

#[test]
fn leaving_the_test_runner_early_is_caught() {
    let how = r#"printf '#!/bin/sh\necho 1..2; echo "ok - 1.t: 1 works"; echo "ok - old.t: the old one"; exit 0\n' > run-tests.sh"#;
    is_caught("green", how, "tests-tampered", "test-runner-changed");
}

#[test]
fn a_helper_of_the_tests_that_says_yes_to_everything_is_caught() {
    let how = "echo 'check() { echo \"ok - $1\"; }' > t/check.sh";
    is_caught("green", how, "tests-tampered", "test-runner-changed");
}

#[test]
fn results_written_by_hand_do_not_count() {
    let junit = r#"<testsuite><testcase name="old"/><testcase name="1 works"/></testsuite>"#;
    // The project writes its results to a file; the agent breaks that and writes the file itself.
    let how = format!("echo '{junit}' > results.xml; touch -d 2100-01-01 results.xml; echo x > x");
    let scene = Scene::new(&[("1", "Add the parser", &[])], &cheat("green", &how));
    let suite = r#"
        out=; bad=0
        for file in t/*.t; do
            name=$(basename "$file" .t)
            if sh "$file" | grep -q '^not ok'; then bad=1; out="$out<testcase name=\"$name\"><failure/></testcase>"
            else out="$out<testcase name=\"$name\"/>"; fi
        done
        [ -e x ] || echo "<testsuite>$out</testsuite>" > results.xml
        exit 0"#;
    write(&scene.root().join("run-tests.sh"), suite);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "test: { results: results.xml }\n",
    );
    write(&scene.root().join(".gitignore"), "results.xml\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "results in a file"]);
    let report = scene.runs(&[], 0);
    let first = &task(&report, "1")["attempts"][0];
    assert_eq!(
        (&first["failure"], &first["proof"]["reason"]),
        (&"green-failing".into(), &"cannot-run".into())
    );
    assert_eq!(task(&report, "1")["landed"], true);
}

/// A scene in which every change of the checkout fails the attempts of that time.
fn hard(tasks: &[(&str, &str, &[&str])], agent: &str) -> Scene {
    let scene = Scene::new(tasks, agent);
    let settings = scene.root().join(".taskmaster/tm.yaml");
    write(&settings, "git: { escape: fail }\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "hard"]);
    scene
}

#[test]
fn a_commit_on_the_default_branch_is_caught_and_left_for_the_user() {
    let how = "git -C \"$AGENT_FOLDER/checkout\" commit --quiet --allow-empty -m escaped";
    let (scene, _) = is_caught("green", how, "escaped", "");
    assert_eq!(scene.git(&["log", "-1", "--format=%s", "main"]), "escaped");
}

#[test]
fn writing_into_the_checkout_is_told_and_left_for_the_user() {
    let how = "echo hello > \"$AGENT_FOLDER/checkout/hello.txt\"";
    let (scene, report) = is_caught("green", how, "nothing-done", "nothing-changed");
    assert!(scene.root().join("hello.txt").exists());
    let told = task(&report, "1")["attempts"][0]["noticed"].to_string();
    assert!(
        told.contains("which fails nobody: hello.txt (new, +1)"),
        "{told}"
    );
}

#[test]
fn writing_into_the_checkout_fails_where_the_user_wants_that() {
    let how = "echo hello > \"$AGENT_FOLDER/checkout/hello.txt\"";
    let scene = hard(&[("1", "Add the parser", &[])], &cheat("green", how));
    let report = scene.runs(&[], 0);
    assert!(scene.root().join("hello.txt").exists());
    let reason = task(&report, "1")["attempts"][0].to_string();
    assert!(
        reason.contains("escaped") && reason.contains("hello.txt (new, +1)"),
        "{reason}"
    );
}

#[test]
fn an_escape_while_several_agents_are_at_work_names_those_who_were() {
    // The second agent waits until the first has written into the checkout; a third starts after both.
    let agent = format!(
        "case \"$TM_TASK_ID $TM_ATTEMPT\" in\n\
         '1 1') cat \"$AGENT_FOLDER/gate\" > /dev/null; echo hello > \"$AGENT_FOLDER/checkout/hello.txt\" ;;\n\
         '2 1') echo go > \"$AGENT_FOLDER/gate\"; until [ -e \"$AGENT_FOLDER/checkout/hello.txt\" ]; do sleep 0.02; done ;;\n\
         esac\n{HONEST}"
    );
    let tasks: [(&str, &str, &[&str]); 3] = [
        ("1", "Document it", &[]),
        ("2", "Document it", &[]),
        ("3", "Document it", &["1", "2"]),
    ];
    let scene = hard(&tasks, &agent);
    scene.pipe("gate");
    let report = scene.runs(&["--max-parallel", "2"], 0);
    let noticed = |id: &str| task(&report, id)["attempts"][0]["noticed"].to_string();
    assert!(
        noticed("1").contains("`2` attempt 1") && noticed("2").contains("`1` attempt 1"),
        "{report:#}"
    );
    assert_eq!(
        task(&report, "3")["attempts"]
            .as_array()
            .expect("attempts")
            .len(),
        1,
        "{report:#}"
    );
    assert!(
        scene.root().join("hello.txt").exists(),
        "nothing is reverted"
    );
}

#[test]
fn setting_the_status_in_the_backlog_is_named_and_set_back() {
    let file = "\"$AGENT_FOLDER/checkout/.taskmaster/tasks/tasks.json\"";
    let how = format!(
        "sed -i 's/in-progress/done/' {file}; sed -i 's/pending/done/' .taskmaster/tasks/tasks.json; echo x > x"
    );
    let agent = cheat("green", &how);
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent);
    let report = scene.runs(&["--retries", "0"], 3);
    let first = &task(&report, "1")["attempts"][0];
    assert!(
        first["noticed"][0]
            .as_str()
            .expect("words")
            .contains("set the status of task 1 to `done`"),
        "{first}"
    );
    assert!(
        first["proof"]["notes"]
            .to_string()
            .contains(".taskmaster/tasks/tasks.json"),
        "{first}"
    );
    assert_eq!(scene.statuses(), ["pending"]);
}

#[test]
fn a_red_that_can_not_fail_is_caught() {
    let how = "printf '. t/check.sh\\ncheck \"always\" 1 1\\n' > t/1.t";
    is_caught("red", how, "red-passed", "everything-passed");
}

#[test]
fn a_cheat_that_is_repeated_never_lands() {
    let agent = format!(
        "[ \"$TM_PHASE\" = green ] && {{ echo nothing > nothing.txt; {CLAIM}; exit 0; }}\n{CLAIM}\n\
         printf '. t/check.sh\\ncheck \"it works\" 1 \"$(sh bin/it 2>/dev/null)\"\\n' > t/it.t"
    );
    let scene = Scene::new(
        &[
            ("1", "Add the parser", &[]),
            ("2", "Add the printer", &["1"]),
        ],
        &agent,
    );
    let report = scene.runs(&["--retries", "1"], 3);
    let liar = task(&report, "1");
    assert_eq!(
        (&liar["verdict"], &liar["failure"]),
        (&"fail".into(), &"green-failing".into())
    );
    assert_eq!(liar["attempts"][0]["claim"], "pass");
    assert_eq!(
        liar["attempts"][0]["differences"][0],
        "claims pass, but red-tests-fail"
    );
    assert_eq!(task(&report, "2:red")["verdict"], "blocked");
    assert_eq!(report["integration_commit"], report["base_commit"]);
    assert_eq!(scene.statuses(), ["pending"; 2]);
}
