//! Runs in which every attempt ends the same way: they are broken off, and say what all of them have in common.

use crate::scene::{HONEST, Scene, write};

const TASKS: [(&str, &str, &[&str]); 6] = [
    ("1", "Document a", &[]),
    ("2", "Document b", &[]),
    ("3", "Document c", &[]),
    ("4", "Document d", &[]),
    ("5", "Document e", &[]),
    ("6", "Document f", &[]),
];

fn scene(agent: &str) -> Scene {
    Scene::new(
        &TASKS,
        &format!("echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/runs\"\n{agent}"),
    )
}

fn runs(scene: &Scene) -> usize {
    std::fs::read_to_string(scene.path("runs"))
        .unwrap_or_default()
        .lines()
        .count()
}

#[test]
fn a_run_whose_agents_all_end_the_same_way_ends_with_what_they_have_in_common() {
    let scene = scene("echo \"sh: $$: /no/such/agent: not found\" >&2; exit 127");
    let output = scene.run(&["--retries", "3", "--max-parallel", "1"]);
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{log}");
    assert_eq!(runs(&scene), 5, "{log}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        shown.contains(
            "5 attempts in a row, at 2 tasks, ended the same way, and nothing passed between"
        ),
        "{shown}"
    );
    assert!(
        shown.contains(
            "no-result: the agent ended with exit code 127 and left no result file: sh: "
        ),
        "{shown}"
    );
    assert!(
        log.contains("/no/such/agent: not found"),
        "the log says why: {log}"
    );
    assert_eq!(scene.report()["status"], "stopped");
    assert_eq!(scene.statuses(), ["pending"; 6]);
    write(&scene.path("agent.sh"), HONEST);
    let resumed = scene.tm(&["waves", "resume"]).output().expect("tm");
    assert_eq!(
        resumed.status.code(),
        Some(3),
        "task 1 has been given up: {}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    assert_eq!(
        scene.statuses(),
        ["pending", "done", "done", "done", "done", "done"]
    );
}

#[test]
fn three_tasks_that_are_given_up_are_enough_and_the_setting_turns_it_off() {
    let scene = scene("exit 7");
    let output = scene.run(&["--retries", "0", "--max-parallel", "1"]);
    assert_eq!((output.status.code(), runs(&scene)), (Some(3), 3));
    let off = Scene::new(&TASKS, "exit 7");
    let report = {
        let output = off
            .run_command(&["--retries", "0"])
            .env("TM_WAVES_BREAKER", "off")
            .output()
            .expect("tm");
        assert_eq!(output.status.code(), Some(3));
        off.report()
    };
    assert_eq!(
        (&report["status"], &report["totals"]["failed"]),
        (&"failed".into(), &6.into())
    );
}
