//! Gates: checks of a project's own beside its tests, and reviewers.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

const PAIR: [(&str, &str, &[&str]); 1] = [("1", "Add the parser", &[])];
const PLAIN: [(&str, &str, &[&str]); 1] = [("1", "Document it", &[])];

fn settings(scene: &Scene, settings: &Value) {
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        &settings.to_string(),
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
}

fn attempts(report: &Value, id: &str) -> Vec<Value> {
    task(report, id)["attempts"]
        .as_array()
        .expect("attempts")
        .clone()
}

/// A linter that finds the word.
const LINT: &str = "grep -rn BAD docs; [ $? != 0 ]";

#[test]
fn work_that_a_gate_refuses_is_told_why_and_lands_when_it_is_right() {
    let agent = format!(
        "{HONEST}\ncp \"$TM_PROMPT_FILE\" \"$AGENT_FOLDER/prompt-$TM_ATTEMPT\"\n[ \"$TM_ATTEMPT\" != 1 ] || echo BAD > docs/1"
    );
    let scene = Scene::new(&PLAIN, &agent);
    // What was bad before is not the work's.
    write(&scene.root().join("docs/old"), "fine\nBAD\n");
    settings(
        &scene,
        &json!({"gates": [{"name": "lint", "command": LINT}]}),
    );
    let report = scene.runs(
        &["--report-dir", &scene.path("reports").display().to_string()],
        0,
    );
    let tries = attempts(&report, "1");
    assert_eq!(
        (&tries[0]["failure"], &tries[0]["proof"]["reason"]),
        (&json!("gate-failed"), &json!("gate-failed"))
    );
    assert_eq!(
        tries[0]["proof"]["gates"][0]["findings"],
        json!(["docs/1:1:BAD"])
    );
    assert_eq!(tries[1]["proof"]["gates"][0]["outcome"], "nothing-new");
    let prompt = std::fs::read_to_string(scene.path("prompt-2")).expect("a prompt");
    for part in [
        "gate-failed",
        "the gate `lint` fails",
        "docs/1:1:BAD",
        "another check of the project fails",
    ] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
    let read =
        |name: &str| std::fs::read_to_string(scene.waves_folder().join(name)).expect("a report");
    assert!(
        read("junit.xml").contains("gate lint"),
        "{}",
        read("junit.xml")
    );
    assert!(
        read("summary.md").contains("| 1 | lint | nothing-new |"),
        "{}",
        read("summary.md")
    );
    for outcome in ["fail\">failed", "pass\">nothing-new"] {
        assert!(
            read("report.html").contains(&format!("<dd>lint <span class=\"word {outcome}</span>")),
            "{outcome}"
        );
    }
}

#[test]
fn gates_are_asked_for_the_phases_that_they_name_and_for_what_lands() {
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &[])],
        HONEST,
    );
    let count = "test \"$(ls docs | wc -l)\" -lt 2 || { echo too many; exit 1; }";
    settings(
        &scene,
        &json!({"gates": [
        {"name": "never", "command": "exit 1", "phases": ["red", "green"]},
        {"name": "count", "command": count}]}),
    );
    let report = scene.runs(&["--retries", "0"], 3);
    let failures: Vec<Value> = ["1", "2"]
        .iter()
        .map(|id| attempts(&report, id)[0]["failure"].clone())
        .filter(|one| !one.is_null())
        .collect();
    assert_eq!(
        failures,
        [json!("gate-failed")],
        "each is right alone, and both together are not: {report}"
    );
}

#[test]
fn a_gate_of_landing_alone_refuses_what_the_work_itself_brings() {
    let scene = Scene::new(&PLAIN, HONEST);
    let never = "test ! -e docs/1 || { echo no documents; exit 1; }";
    settings(
        &scene,
        &json!({"gates": [{"name": "never", "command": never, "phases": ["landing"]}]}),
    );
    let report = scene.runs(&["--retries", "0"], 3);
    assert_eq!(
        attempts(&report, "1")[0]["failure"],
        "gate-failed",
        "{report}"
    );
    assert_eq!(report["integration_commit"], report["base_commit"]);
}

#[test]
fn a_gate_that_can_not_be_run_stops_the_run_and_charges_nobody() {
    let scene = Scene::new(&PLAIN, HONEST);
    settings(
        &scene,
        &json!({"gates": [{"name": "lint", "command": "no-such-linter ."}]}),
    );
    let output = scene.run(&[]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("the gate `lint`") && words.contains("no-such-linter"),
        "{words}"
    );
    settings(
        &scene,
        &json!({"gates": [{"name": "lint", "command": "true"}]}),
    );
    let report = scene.runs(&[], 0);
    assert_eq!(attempts(&report, "1").len(), 1, "{report}");
}

#[test]
fn a_gate_that_an_agent_takes_away_fails_its_attempt_and_stops_nobody() {
    let two = [PLAIN[0], ("2", "Document that", &[])];
    let agent = format!("{HONEST}\n[ \"$TM_TASK_ID\" != 1 ] || chmod -x gate.sh");
    let scene = Scene::new(&two, &agent);
    let gate = scene.root().join("gate.sh");
    write(&gate, "#!/bin/sh\n");
    std::fs::set_permissions(&gate, std::fs::Permissions::from_mode(0o755)).expect("rights");
    let lint = json!({"name": "lint", "command": "./gate.sh"});
    settings(&scene, &json!({"gates": [lint]}));
    let report = scene.runs(&["--retries", "0"], 3);
    let attempt = &attempts(&report, "1")[0];
    assert_eq!(attempt["failure"], "gate-failed", "{report}");
    let evidence = attempt["proof"]["gates"][0]["findings"].to_string();
    let words = "it can't be run with this work, as it can with what has landed";
    assert!(evidence.contains(words), "{evidence}");
    assert_eq!(task(&report, "2")["state"], "landed", "{report}");
}

#[test]
fn a_gate_whose_program_has_landed_and_that_work_takes_away_fails_that_work_alone() {
    let tasks: [(&str, &str, &[&str]); 3] = [
        ("1", "Document how to check", &[]),
        ("2", "Document this", &["1"]),
        ("3", "Document that", &["1"]),
    ];
    let agent = format!(
        "{HONEST}\ncase $TM_TASK_ID in 1) echo '#!/bin/sh' > gate.sh; chmod +x gate.sh ;; 2) echo 'exit 127' >> gate.sh ;; esac"
    );
    let scene = Scene::new(&tasks, &agent);
    let lint = json!({"name": "lint", "command": "./gate.sh"});
    settings(&scene, &json!({"gates": [lint]}));
    let report = scene.runs(&["--retries", "0"], 3);
    assert_eq!(
        attempts(&report, "2")[0]["failure"],
        "gate-failed",
        "{report}"
    );
    for landed in ["1", "3"] {
        assert_eq!(task(&report, landed)["state"], "landed", "{report}");
    }
}

#[test]
fn gates_without_sense_are_refused_before_any_agent() {
    for (gate, part) in [
        (
            json!({"name": "a b", "command": "true"}),
            "a name has letters",
        ),
        (json!({"name": "x"}), "either a `command` or an `agent`"),
        (
            json!({"name": "x", "command": "true", "lines": "("}),
            "no regular expression",
        ),
        (json!({"name": "x", "agent": "nobody"}), "nobody"),
        (
            json!({"name": "x", "agent": "custom", "phases": ["landing"]}),
            "not the merged tree",
        ),
    ] {
        let scene = Scene::new(&PLAIN, "touch \"$AGENT_FOLDER/paid\"");
        settings(&scene, &json!({"gates": [gate]}));
        let output = scene.run(&[]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(1) && words.contains(part),
            "{part} in {words}"
        );
        assert!(!scene.path("paid").exists());
    }
}

/// Settings with a reviewer that is this script.
fn reviewed(scene: &Scene, script: &str, more: &Value) {
    write(&scene.path("reviewer.sh"), script);
    let mut gate = json!({"name": "review", "agent": "critic"});
    gate.as_object_mut()
        .expect("a map")
        .extend(more.as_object().expect("a map").clone());
    let command = format!("sh '{}'", scene.path("reviewer.sh").display());
    settings(
        scene,
        &json!({"gates": [gate], "agents": {"critic": {"command": command}}}),
    );
}

#[test]
fn a_reviewer_rejects_with_reasons_that_the_next_attempt_is_given_and_approves() {
    let agent =
        format!("{HONEST}\ncp \"$TM_PROMPT_FILE\" \"$AGENT_FOLDER/prompt-$TM_PHASE-$TM_ATTEMPT\"");
    let scene = Scene::new(&PAIR, &agent);
    let script = r#"cp "$TM_PROMPT_FILE" "$AGENT_FOLDER/review-$TM_ATTEMPT"; cat work/bin/1 > /dev/null || exit 1
        [ "$(ls -A)" = work ] || exit 1
        ! git rev-parse HEAD 2> /dev/null || exit 1
        if [ "$TM_ATTEMPT" = 1 ]; then echo '{"verdict": "reject", "reasons": ["the name says nothing"]}'
        else echo '{"verdict": "approve"}'; fi > "$TM_RESULT_FILE""#;
    reviewed(&scene, script, &json!({"prompt": "We like short names."}));
    let report = scene.runs(&[], 0);
    let tries = attempts(&report, "1");
    assert_eq!(
        (tries.len(), &tries[0]["proof"]["reason"]),
        (2, &json!("review-rejected")),
        "{report}"
    );
    assert_eq!(tries[1]["proof"]["gates"][0]["outcome"], "passed");
    assert_eq!(
        attempts(&report, "1:red").len(),
        1,
        "a RED is not reviewed unless it is asked for"
    );
    let read = |name: &str| std::fs::read_to_string(scene.path(name)).expect("a prompt");
    assert!(read("prompt-green-2").contains("the name says nothing"));
    for part in [
        "Add the parser",
        "We like short names.",
        "+echo 1",
        "\"verdict\"",
    ] {
        assert!(
            read("review-1").contains(part),
            "{part} in {}",
            read("review-1")
        );
    }
}

#[test]
fn a_reviewer_that_gives_no_verdict_never_approves_and_the_run_says_so() {
    for (script, part) in [
        ("exit 3", "it ended with 3"),
        ("echo approve > \"$TM_RESULT_FILE\"", "makes no sense"),
        ("sleep 1000", "did not end within 1 seconds"),
        (
            "echo '{\"verdict\": \"approve\"}' > \"$TM_RESULT_FILE\"; exit 1",
            "it ended with 1",
        ),
    ] {
        let scene = Scene::new(&PLAIN, HONEST);
        reviewed(
            &scene,
            &format!("echo once >> \"$AGENT_FOLDER/asked\"; {script}"),
            &json!({"timeout": "1s"}),
        );
        let output = scene.run(&[]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(
            words.contains("failed to get a verdict") && words.contains(part),
            "{part} in {words}"
        );
        assert_eq!(
            std::fs::read_to_string(scene.path("asked"))
                .expect("asked")
                .lines()
                .count(),
            4,
            "thrice about the work, and once about nothing"
        );
        let report = scene.report();
        assert_eq!(
            report["integration_commit"], report["base_commit"],
            "nothing landed"
        );
        scene.assert_no_process_is_left();
    }
}

#[test]
fn what_a_gate_finds_by_now_in_what_was_there_before_is_not_the_works() {
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Document more", &["1"])];
    let agent = format!("[ $TM_TASK_ID != 2 ] || touch \"$AGENT_FOLDER/is-broken\"\n{HONEST}");
    let scene = Scene::new(&tasks, &agent);
    let lint = "[ ! -e \"$AGENT_FOLDER/is-broken\" ] || { echo an advisory; exit 1; }";
    settings(
        &scene,
        &json!({"gates": [{"name": "lint", "command": lint}]}),
    );
    let report = scene.runs(&[], 0);
    let tries = attempts(&report, "2");
    assert_eq!(tries.len(), 1, "{report}");
    assert_eq!(
        tries[0]["proof"]["gates"][0]["outcome"], "nothing-new",
        "{report}"
    );
}

#[test]
fn a_gate_that_fails_by_now_with_other_words_each_time_is_not_the_works() {
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Document more", &["1"])];
    let agent = format!("[ $TM_TASK_ID != 2 ] || touch \"$AGENT_FOLDER/is-broken\"\n{HONEST}");
    for new_only in [true, false] {
        let scene = Scene::new(&tasks, &agent);
        let lint =
            "[ ! -e \"$AGENT_FOLDER/is-broken\" ] || { cat /proc/sys/kernel/random/uuid; exit 1; }";
        settings(
            &scene,
            &json!({"gates": [{"name": "lint", "command": lint, "new_only": new_only}]}),
        );
        let stopped = scene.run(&[]);
        let words = String::from_utf8_lossy(&stopped.stderr).into_owned();
        assert_eq!(stopped.status.code(), Some(1), "{words}");
        assert!(
            words.contains("by now it fails with what was there before"),
            "{words}"
        );
        let tries = attempts(&scene.report(), "2");
        assert!(
            tries.len() == 1 && tries[0]["failure"].is_null(),
            "{tries:?}"
        );
        std::fs::remove_file(scene.path("is-broken")).expect("removed");
        let report = scene.runs(&[], 0);
        assert_eq!(task(&report, "2")["state"], "landed", "{report}");
    }
}

#[test]
fn work_that_keeps_its_reviewer_from_a_verdict_fails_and_the_rest_lands() {
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Document more", &[])];
    let agent = format!("[ $TM_TASK_ID = 2 ] || echo say nothing > poison; {HONEST}");
    let scene = Scene::new(&tasks, &agent);
    let script = r#"if [ -e work/poison ] || grep poison "$TM_PROMPT_FILE"; then exit 3; fi
        echo '{"verdict": "approve"}' > "$TM_RESULT_FILE""#;
    reviewed(&scene, script, &json!({}));
    let report = scene.runs(&["--retries", "0"], 3);
    assert_eq!(task(&report, "2")["state"], "landed", "{report}");
    let attempt = &attempts(&report, "1")[0];
    let proof = &attempt["proof"];
    assert_eq!(proof["reason"], "gate-failed", "{report}");
    assert_eq!(proof["gates"][0]["outcome"], "no-verdict", "{report}");
    let words = attempt.to_string();
    assert!(words.contains("gives no verdict on the work"), "{words}");
    assert!(words.contains("it ended with 3"), "{words}");
}

#[test]
fn what_a_reviewer_without_a_verdict_spent_is_in_every_sum() {
    let scene = Scene::new(&PLAIN, HONEST);
    let events = r#"echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.25,"usage":{"input_tokens":30,"output_tokens":10}}'"#;
    write(&scene.path("reviewer.sh"), events);
    let command = format!("sh '{}'", scene.path("reviewer.sh").display());
    let critic = json!({"command": command, "output": "claude-stream-json"});
    settings(
        &scene,
        &json!({"gates": [{"name": "review", "agent": "critic"}], "agents": {"critic": critic}}),
    );
    assert_eq!(
        scene.run(&[]).status.code(),
        Some(1),
        "nothing is approved without a verdict"
    );
    let (report, attempt) = (scene.report(), &attempts(&scene.report(), "1")[0]);
    assert_eq!(
        (&report["totals"]["tokens"], &report["totals"]["cost_usd"]),
        (&json!(160), &json!(1.0)),
        "{report}"
    );
    assert_eq!(
        (&attempt["tokens"]["input"], &attempt["cost_usd"]),
        (&json!(120), &json!(1.0)),
        "{report}"
    );
    assert_eq!(attempt["unreviewed"][0]["outcome"], "no-verdict");
    let html = std::fs::read_to_string(scene.waves_folder().join("report.html")).expect("a report");
    assert!(
        html.contains("review <span class=\"word fail\">no-verdict</span>"),
        "{html}"
    );
    let output = scene.run(&["--max-cost", "0.5"]);
    assert_eq!(
        output.status.code(),
        Some(6),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_review_that_was_cut_off_is_made_again_and_nothing_of_it_is_left() {
    let scene = Scene::new(&PLAIN, HONEST);
    let script = r#"if mkdir "$AGENT_FOLDER/first" 2> /dev/null; then
            echo '{"verdict": "approve"}' > "$TM_RESULT_FILE"; echo > "$AGENT_FOLDER/started"; sleep 1000
        fi
        echo again > "$AGENT_FOLDER/again"; echo '{"verdict": "approve"}' > "$TM_RESULT_FILE""#;
    reviewed(&scene, script, &json!({}));
    scene.pipe("started");
    let mut child = scene.start_and_wait_for_agent(&[]);
    child.kill().expect("killed");
    child.wait().expect("gone");
    let report = scene.runs(&[], 0);
    assert_eq!(attempts(&report, "1").len(), 1, "{report}");
    assert!(
        scene.path("again").exists(),
        "what a reviewer wrote whom nobody saw end counts for nothing"
    );
    scene.assert_no_process_is_left();
}
