//! Exit codes, errors with the next command to type, and the demo.

use crate::scene::{HONEST, Scene, write};
use std::process::Output;

fn error(output: &Output, code: i32) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words}");
    words
}

#[test]
fn what_can_not_be_planned_is_one_error_that_names_every_culprit() {
    let scene = Scene::new(
        &[
            ("1", "One", &["2"]),
            ("2", "Two", &["1", "9"]),
            ("3", "Three", &["3"]),
        ],
        HONEST,
    );
    for command in [&["waves", "plan"][..], &["waves", "run", "--yes"]] {
        let words = error(&scene.tm(command).output().expect("tm"), 4);
        for part in ["`1` → `2`", "`9`", "task `3` depends on itself", "hint:"] {
            assert!(words.contains(part), "{part} in {words}");
        }
    }
    let tag = scene
        .tm(&["waves", "plan", "--tag", "nope"])
        .output()
        .expect("tm");
    assert!(error(&tag, 1).contains("there are `master`"));
}

#[test]
fn a_run_without_agent_or_tests_says_what_to_do() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    for (agent, part) in [("custom", "has no command"), ("nobody", "there are")] {
        let words = error(
            &scene
                .tm(&["waves", "run", "--yes", "--agent", agent])
                .output()
                .expect("tm"),
            1,
        );
        assert!(words.contains(part) && words.contains("hint:"), "{words}");
        assert!(!words.contains("Wave"), "no plan before it: {words}");
    }
    assert_eq!(
        scene.git(&["branch", "--list", "tm/*"]),
        "",
        "nothing is left of a run that was refused"
    );
    std::fs::remove_file(scene.root().join("run-tests.sh")).expect("removed");
    std::fs::rename(scene.root().join("t"), scene.root().join("elsewhere")).expect("renamed");
    let words = error(&scene.run(&[]), 1);
    assert!(words.contains("--tdd off"), "{words}");
}

#[test]
fn a_command_line_without_sense_is_usage() {
    let scene = Scene::new(&[], HONEST);
    error(&scene.tm(&["waves", "fly"]).output().expect("tm"), 2);
    error(
        &scene
            .tm(&["waves", "plan", "--max-parallel", "0"])
            .output()
            .expect("tm"),
        2,
    );
    let outside = scene
        .tm(&["-C", "/", "waves", "plan"])
        .output()
        .expect("tm");
    assert!(error(&outside, 1).contains("git init"));
}

#[test]
fn rubbish_in_every_input_is_one_clear_error() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    write(
        &scene.root().join(".taskmaster/tasks/tasks.json"),
        "{\"master\": {",
    );
    assert!(error(&scene.run(&[]), 1).contains("tasks.json"));
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "waves: { max_paralel: 3 }",
    );
    assert!(error(&scene.run(&[]), 1).contains("max_parallel"));
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "git: { commit_template: '{{ titel }}' }",
    );
    assert!(error(&scene.run(&[]), 1).contains("git.commit_template"));
}

#[test]
fn the_plan_has_four_forms() {
    let scene = Scene::new(&[("1", "Add it", &[]), ("2", "Add more", &["1"])], HONEST);
    for (format, part) in [
        ("text", "Waves 3 and 4 (1 task)"),
        ("json", "\"waves\": ["),
        ("dot", "\"1\" -> \"2\";"),
        ("mermaid", "flowchart LR"),
    ] {
        let output = scene
            .tm(&["waves", "plan", "--format", format])
            .output()
            .expect("tm");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn json_is_one_event_a_line() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let output = scene.run(&["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<serde_json::Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("one JSON document a line"))
        .collect();
    assert!(
        lines
            .iter()
            .all(|line| line["ts"].is_string() && line["event"].is_string())
    );
    assert_eq!(
        lines.last().map(|line| &line["event"]),
        Some(&"run:ended".into())
    );
}

#[test]
fn the_demo_lands_everything_with_one_retry() {
    let scene = Scene::new(&[], HONEST);
    let folder = scene.path("demo");
    let output = scene
        .tm(&["demo", &folder.display().to_string()])
        .output()
        .expect("tm");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("All 9 tasks settled well")
            && text.contains("; 9 landed")
            && text.contains("attempts: 18, of which 1 failed")
            && text.contains("pairs: 8 of 8"),
        "{text}"
    );
    let again = scene
        .tm(&["demo", &folder.display().to_string()])
        .output()
        .expect("tm");
    assert!(error(&again, 1).contains("not empty"));
}
