//! One live run, and runs that are stopped, killed and taken up again.

use crate::scene::{HONEST, Scene, task, write};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;

/// The first attempt says that it works and waits until somebody writes into the gate; the others are honest.
fn gated() -> String {
    format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_TASK_ID\" = 1 ]; then\n\
         echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null\nfi\n{HONEST}"
    )
}

fn scene() -> Scene {
    let scene = Scene::new(&[("1", "Document it", &[]), ("2", "Document more", &["1"])], &gated());
    scene.pipe("started");
    scene.pipe("gate");
    scene
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("sent");
}

#[test]
fn a_second_run_names_the_first_and_a_killed_one_blocks_nobody() {
    let scene = scene();
    let mut first = scene.start_and_wait_for_agent(&[]);
    let second = scene.run(&[]);
    let words = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(5), "{words}");
    assert!(words.contains(&first.id().to_string()) && words.contains("hint:"), "{words}");
    send(&first, Signal::KILL);
    first.wait().expect("an end");
    // The agent outlived tm; it goes on as soon as it is let, and its work is landed without being done again.
    write(&scene.path("gate"), "go\n");
    let report = scene.runs(&[], 0);
    assert_eq!(task(&report, "1")["attempts"].as_array().expect("attempts").len(), 1, "{report}");
    assert_eq!(scene.statuses(), ["done"; 2]);
    scene.assert_no_process_is_left();
}

#[test]
fn an_interrupted_run_exits_with_130_and_is_taken_up() {
    let scene = scene();
    let mut run = scene.start_and_wait_for_agent(&["--max-parallel", "1"]);
    send(&run, Signal::INT);
    send(&run, Signal::INT);
    // Signals of one kind that come together may count as one, so more are sent until the run ends.
    let code = loop {
        if let Some(status) = run.try_wait().expect("an answer") {
            break status.code();
        }
        send(&run, Signal::INT);
        std::thread::yield_now();
    };
    assert_eq!(code, Some(130));
    scene.assert_no_process_is_left();
    assert_eq!(scene.statuses(), ["pending"; 2]);
    let taken_up = scene.tm(&["waves", "resume"]).output().expect("tm");
    assert_eq!(taken_up.status.code(), Some(0), "{}", String::from_utf8_lossy(&taken_up.stderr));
    assert_eq!(scene.statuses(), ["done"; 2]);
}

#[test]
fn a_gentle_stop_lets_the_agent_finish() {
    let scene = scene();
    let mut run = scene.start_and_wait_for_agent(&[]);
    let stopped = scene.tm(&["waves", "stop"]).output().expect("tm");
    assert_eq!(stopped.status.code(), Some(0));
    write(&scene.path("gate"), "go\n");
    assert_eq!(run.wait().expect("an end").code(), Some(130));
    assert_eq!(scene.statuses(), ["done", "pending"]);
    let report = scene.report();
    assert_eq!((&report["status"], &task(&report, "1")["landed"]), (&"interrupted".into(), &true.into()));
    scene.runs(&[], 0);
    assert_eq!(scene.statuses(), ["done"; 2]);
}

#[test]
fn an_interrupted_run_can_be_left_as_it_is_or_refused() {
    let scene = scene();
    let mut run = scene.start_and_wait_for_agent(&[]);
    send(&run, Signal::KILL);
    run.wait().expect("an end");
    let refused = scene.run(&["--on-interrupted", "fail"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("tm waves resume"));
    write(&scene.path("gate"), "go\n");
    write(&scene.path("agent.sh"), HONEST);
    scene.runs(&["--on-interrupted", "fresh"], 0);
    let listed = scene.tm(&["waves", "list", "--json"]).output().expect("tm");
    let runs: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("json");
    assert_eq!(runs.as_array().expect("runs").len(), 2);
}
