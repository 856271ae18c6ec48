//! The further agent after GREEN: its work is kept when nothing changes for the tests, and dropped when anything does.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;

/// Works honestly, and does this when its prompt asks for REFACTOR.
fn agent(refactor: &str) -> String {
    format!("if grep -q '^# REFACTOR' \"$TM_PROMPT_FILE\"; then\n{refactor}\nexit\nfi\n{HONEST}")
}

fn run(refactor: &str) -> (Scene, Value) {
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent(refactor));
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "tdd: { refactor: true }\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    let report = scene.runs(&[], 0);
    assert_eq!(task(&report, "1")["landed"], true, "{report:#}");
    scene.assert_no_process_is_left();
    (scene, report)
}

fn landed_file(scene: &Scene, report: &Value) -> String {
    let branch = report["integration_branch"].as_str().expect("a branch");
    scene.git(&["show", &format!("{branch}:bin/1")])
}

fn what_came_of_it(report: &Value) -> String {
    task(report, "1")["attempts"][0]["refactor"]
        .as_str()
        .expect("a word")
        .to_owned()
}

#[test]
fn better_code_lands_as_a_commit_of_its_own() {
    let (scene, report) =
        run("echo 'printf \"1\\\\n\"' > bin/1; echo 'status: PASS' > \"$TM_RESULT_FILE\"");
    assert_eq!(what_came_of_it(&report), "kept");
    assert_eq!(landed_file(&scene, &report), "printf \"1\\n\"");
    let commit = task(&report, "1")["commit"].as_str().expect("a commit");
    assert!(
        scene
            .git(&["log", "-2", "--format=%s|%b", commit])
            .contains("Phase: refactor")
    );
    assert!(
        scene
            .git(&["log", "-2", "--format=%s|%b", commit])
            .contains("Phase: green")
    );
}

#[test]
fn whatever_breaks_or_changes_tests_is_dropped_and_kept_aside() {
    for (refactor, why) in [
        (
            "echo 'echo 2' > bin/1",
            "tests that passed before do not now",
        ),
        (
            "echo '# more' >> t/1.t",
            "tests, or what decides how they are run, were changed: t/1.t",
        ),
        (
            "rm t/old.t",
            "tests, or what decides how they are run, were changed: t/old.t",
        ),
        ("exit 7", "no-result: the agent ended with exit code 7"),
        (":", "nothing was changed"),
    ] {
        let (scene, report) = run(refactor);
        assert!(what_came_of_it(&report).starts_with(why), "{report:#}");
        assert_eq!(landed_file(&scene, &report), "echo 1");
        let run = report["run_id"].as_str().expect("a run");
        let kept = scene.git(&["for-each-ref", "--format=%(refname)", "refs/tm/salvage/"]);
        let is_kept = kept.contains(&format!("refs/tm/salvage/{run}/1/1-refactor"));
        assert_eq!(is_kept, ![":", "exit 7"].contains(&refactor), "{kept}");
    }
}

#[test]
fn a_refactoring_that_is_cut_off_costs_nothing() {
    let scene = Scene::new(
        &[("1", "Add the parser", &[])],
        &agent("echo x > \"$AGENT_FOLDER/started\"; sleep 1000"),
    );
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "tdd: { refactor: true }\n",
    );
    scene.pipe("started");
    let mut child = scene.start_and_wait_for_agent(&[]);
    child.kill().expect("killed");
    child.wait().expect("gone");
    let report = scene.runs(&[], 0);
    assert_eq!(what_came_of_it(&report), "it was interrupted");
    assert_eq!(landed_file(&scene, &report), "echo 1");
    assert_eq!(scene.statuses(), ["done"]);
    scene.assert_no_process_is_left();
}

#[test]
fn a_full_disk_at_the_start_of_a_refactoring_stops_the_run_and_the_next_one_does_it() {
    let refactor = "echo 'printf \"1\\\\n\"' > bin/1; echo 'status: PASS' > \"$TM_RESULT_FILE\"";
    let make = || {
        let scene = Scene::new(&[("1", "Add the parser", &[])], &agent(refactor));
        write(
            &scene.root().join(".taskmaster/tm.yaml"),
            "tdd: { refactor: true }\nwaves: { max_parallel: 1 }\n",
        );
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "settings"]);
        scene
    };
    let scene = make();
    let log = scene.path("points");
    assert!(
        scene
            .run_command(&[])
            .env("CRASH_POINT_LOG", &log)
            .output()
            .expect("tm")
            .status
            .success()
    );
    let names = std::fs::read_to_string(&log).expect("the points");
    let names: Vec<&str> = names.lines().collect();
    // RED's, GREEN's and the one that improves the code: the last one is written down as the last.
    let written = names
        .iter()
        .rposition(|name| *name == "agent: rename?")
        .expect("a third agent");
    let spawned = names[..written]
        .iter()
        .rposition(|name| *name == "spawn: before?")
        .expect("its start");
    let nth = |name: &str, at: usize| {
        let many = names[..=at]
            .iter()
            .filter(|found| found.trim_end_matches('?') == name)
            .count();
        format!("{name}#{many}")
    };
    for point in [nth("spawn: before", spawned), nth("agent: rename", written)] {
        let scene = make();
        let mut command = scene.run_command(&[]);
        let output = command.env("FAULT_POINT", point).output().expect("tm");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("o space left"), "{words}");
        let report = scene.runs(&[], 0);
        assert_eq!(what_came_of_it(&report), "kept", "{report:#}");
        assert_eq!(landed_file(&scene, &report), "printf \"1\\n\"");
        scene.assert_no_process_is_left();
    }
}
