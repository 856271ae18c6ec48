//! Agents have slots, tests have places: neither keeps the other from going on.

use crate::scene::{Scene, task};
use std::process::Stdio;

/// A backlog of tasks that depend on nothing, and an agent that does `before` and writes a file.
fn independent(ids: &[&str], before: &str) -> Scene {
    let tasks: Vec<(&str, &str, &[&str])> = ids.iter().map(|&id| (id, "Do it", &[][..])).collect();
    let agent = format!(
        "{before}\nmkdir -p docs; echo > docs/$TM_TASK_ID; printf 'status: PASS\\n' > \"$TM_RESULT_FILE\""
    );
    Scene::new(&tasks, &agent)
}

const NOT_IN_PAIRS: [&str; 3] = ["--tdd", "off", "--max-parallel"];

#[test]
fn an_agent_starts_as_soon_as_another_has_ended_whose_work_is_still_tested() {
    // Both slots would be in use if the first one's were kept while its work is tested.
    let waits = r#"case $TM_TASK_ID in
        2) until [ -e "$AGENT_FOLDER/third" ]; do sleep 0.02; done ;;
        3) : > "$AGENT_FOLDER/third" ;;
        esac"#;
    let scene = independent(&["1", "2", "3"], waits);
    let tests = r#"[ ! -e docs/1 ] || until [ -e "$AGENT_FOLDER/third" ]; do sleep 0.02; done
        sh run-tests.sh"#;
    let run = scene
        .run_command(&[&NOT_IN_PAIRS[..], &["2", "--test-command", tests]].concat())
        .env("TM_TEST_TIMEOUT", "60s")
        .output()
        .expect("tm");
    assert_eq!(
        run.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(scene.statuses(), ["done"; 3]);
    let report = scene.report();
    for id in ["1", "2", "3"] {
        let attempts = task(&report, id)["attempts"].as_array().map(Vec::len);
        assert_eq!(attempts, Some(1), "{report}");
    }
}

#[test]
fn no_more_tests_run_at_once_than_there_are_places_and_what_waits_is_told() {
    let together = r#": > "$AGENT_FOLDER/began-$TM_TASK_ID"
        for id in 1 2 3 4; do until [ -e "$AGENT_FOLDER/began-$id" ]; do sleep 0.02; done; done"#;
    let scene = independent(&["1", "2", "3", "4"], together);
    let tests = r#"mkdir "$AGENT_FOLDER/tested" 2>/dev/null || : > "$AGENT_FOLDER/two-at-once"
        sh run-tests.sh; code=$?; rmdir "$AGENT_FOLDER/tested"; exit $code"#;
    let run = scene
        .run_command(&[&NOT_IN_PAIRS[..], &["4", "--json", "--test-command", tests]].concat())
        .env("TM_TEST_PARALLEL", "1")
        .output()
        .expect("tm");
    assert_eq!(run.status.code(), Some(0));
    assert!(!scene.path("two-at-once").exists());
    let told = String::from_utf8_lossy(&run.stdout).into_owned();
    let activity = std::fs::read_to_string(scene.waves_folder().join("activity.jsonl"));
    for lines in [told, activity.expect("what happened")] {
        let count = |event: &str| lines.matches(&format!("\"event\":\"{event}\"")).count();
        assert!(count("tests:waiting") > 0, "{lines}");
        assert_eq!(count("tests:waiting"), count("tests:admitted"), "{lines}");
    }
}

#[test]
fn work_that_waited_for_a_place_when_tm_was_killed_lands_in_the_next_process() {
    let scene = independent(&["1", "2", "3"], "");
    scene.pipe("started");
    let tests = r#"[ ! -d docs ] || [ -e "$AGENT_FOLDER/killed" ] || : > "$AGENT_FOLDER/started"
        [ ! -d docs ] || until [ -e "$AGENT_FOLDER/killed" ]; do sleep 0.02; done
        sh run-tests.sh"#;
    let arguments = [&NOT_IN_PAIRS[..], &["3", "--test-command", tests]].concat();
    let mut killed = scene
        .run_command(&arguments)
        .env("TM_TEST_PARALLEL", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tm starts");
    // Opening a pipe waits until the tests open its end.
    drop(std::fs::read(scene.path("started")).expect("the tests start"));
    killed.kill().expect("killed");
    killed.wait().expect("its end");
    crate::scene::write(&scene.path("killed"), "");
    let report = scene.runs(&arguments, 0);
    assert_eq!(scene.statuses(), ["done"; 3]);
    for id in ["1", "2", "3"] {
        assert_eq!(task(&report, id)["landed"], true, "{report}");
    }
    scene.assert_no_process_is_left();
}
