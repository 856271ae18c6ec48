//! One live run, and runs that are stopped, killed and taken up again.

use crate::scene::{HONEST, Scene, task, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use tokio::signal::unix::{SignalKind, signal};

/// The first attempt says that it works and waits until somebody writes into the gate; the others are honest.
fn gated() -> String {
    format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_TASK_ID\" = 1 ]; then\n\
         echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null\nfi\n{HONEST}"
    )
}

fn scene() -> Scene {
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &gated(),
    );
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
    assert!(
        words.contains(&first.id().to_string()) && words.contains("hint:"),
        "{words}"
    );
    send(&first, Signal::KILL);
    first.wait().expect("an end");
    // The agent outlived tm; it goes on as soon as it is let, and its work is landed without being done again.
    write(&scene.path("gate"), "go\n");
    let report = scene.runs(&[], 0);
    assert_eq!(
        task(&report, "1")["attempts"]
            .as_array()
            .expect("attempts")
            .len(),
        1,
        "{report}"
    );
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
    assert_eq!(
        taken_up.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&taken_up.stderr)
    );
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
    assert_eq!(
        (&report["status"], &task(&report, "1")["landed"]),
        (&"interrupted".into(), &true.into())
    );
    scene.runs(&[], 0);
    assert_eq!(scene.statuses(), ["done"; 2]);
}

/// The first landing waits until it is let go, and everything else queues behind it.
#[test]
fn a_stop_does_not_wait_for_all_that_is_queued_to_land_and_the_next_run_lands_it() {
    let ids: Vec<String> = (1..=12).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Document it", &[][..]))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    let go = scene.path("go");
    let hook = format!("until [ -e '{}' ]; do sleep 0.05; done", go.display());
    scene.hook("pre-merge-commit", &format!("#!/bin/sh\n{hook}\n"));
    let mut run = scene
        .run_command(&["--max-parallel", "12"])
        .env("TM_AGENT_GRACE", "1ms")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    let queued = || {
        let status = scene.tm(&["waves", "status", "--json"]).output();
        let status: Value = serde_json::from_slice(&status.expect("tm").stdout).unwrap_or_default();
        let tasks = status["tasks"].as_array().map_or(&[][..], Vec::as_slice);
        let is_landing = |task: &&Value| task["state"] == "landing";
        tasks.iter().filter(is_landing).count()
    };
    while queued() < 12 {
        assert!(run.try_wait().expect("an answer").is_none(), "it goes on");
    }
    send(&run, Signal::INT);
    let told = BufReader::new(run.stderr.take().expect("what it says"));
    let mut told = told.lines();
    assert!(told.any(|line| line.expect("a line").contains("stopping")));
    std::thread::sleep(std::time::Duration::from_millis(10));
    write(&go, "");
    told.for_each(drop);
    assert_eq!(run.wait().expect("an end").code(), Some(130));
    let landed = |statuses: &[String]| statuses.iter().filter(|status| *status == "done").count();
    assert_eq!(
        landed(&scene.statuses()),
        1,
        "only what was under way lands"
    );
    let taken_up = scene.tm(&["waves", "resume"]).output().expect("tm");
    assert_eq!(taken_up.status.code(), Some(0), "{taken_up:?}");
    assert_eq!(landed(&scene.statuses()), 12);
    let report = scene.report();
    for id in ids {
        let attempts = task(&report, &id)["attempts"].as_array().expect("attempts");
        assert_eq!(attempts.len(), 1, "{id} is not done again");
    }
}

/// Starts a run by a shell that does something first, and returns when its agent works.
fn started_after(scene: &Scene, script: &str) -> Child {
    let run = scene.run_command(&[]);
    let mut command = scene.program(Path::new("sh"));
    command
        .args(["-c", &format!("{script}; exec \"$@\""), "sh"])
        .arg(run.get_program())
        .args(run.get_args());
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    child
}

/// A terminal that is closed says so more than once.
#[tokio::test]
async fn a_terminal_that_is_gone_stops_the_run_gently() {
    // Where these tests outlive their terminal, so would what they start; a signal with a handler is handed on as it is
    // by default.
    let _handled = signal(SignalKind::hangup()).expect("a handler");
    let scene = scene();
    let mut run = started_after(&scene, "true");
    send(&run, Signal::HUP);
    let told = BufReader::new(run.stderr.take().expect("what it says"));
    let mut told = told.lines();
    assert!(told.any(|line| line.expect("a line").contains("stop")));
    send(&run, Signal::HUP);
    write(&scene.path("gate"), "go\n");
    let rest: Vec<_> = told.collect();
    assert_eq!(run.wait().expect("an end").code(), Some(130), "{rest:?}");
    assert_eq!(scene.statuses(), ["done", "pending"]);
}

#[test]
fn a_run_that_is_to_outlive_its_terminal_does() {
    let scene = scene();
    let run = started_after(&scene, "trap '' HUP");
    send(&run, Signal::HUP);
    write(&scene.path("gate"), "go\n");
    let output = run.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert_eq!(scene.statuses(), ["done"; 2]);
}

#[test]
fn an_agent_that_finished_while_tm_was_dead_is_landed_without_being_run_again() {
    // The agent's end is seen by its end of a pipe.
    let agent = format!("{}\nexec 9> \"$AGENT_FOLDER/ended\"\n", gated());
    let scene = Scene::new(&[("1", "Document it", &[])], &agent);
    for pipe in ["started", "gate", "ended"] {
        scene.pipe(pipe);
    }
    let mut run = scene.start_and_wait_for_agent(&[]);
    send(&run, Signal::KILL);
    run.wait().expect("an end");
    write(&scene.path("gate"), "go\n");
    drop(std::fs::read(scene.path("ended")).expect("the agent ends"));
    write(
        &scene.path("agent.sh"),
        "echo again >> \"$AGENT_FOLDER/again\"; exit 1",
    );
    let report = scene.runs(&[], 0);
    let attempts = task(&report, "1")["attempts"]
        .as_array()
        .expect("attempts")
        .clone();
    assert_eq!(
        (attempts.len(), &attempts[0]["failure"]),
        (1, &serde_json::Value::Null),
        "{report:#}"
    );
    assert!(!scene.path("again").exists());
    assert_eq!(scene.statuses(), ["done"]);
}

#[test]
fn an_interrupted_run_is_refused_or_put_aside_with_its_work_kept_and_its_agents_ended() {
    let busy = "echo half > half.txt; echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null";
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        busy,
    );
    scene.pipe("started");
    scene.pipe("gate");
    let mut run = scene.start_and_wait_for_agent(&[]);
    send(&run, Signal::KILL);
    run.wait().expect("an end");
    let folder = scene.waves_folder();
    let refused = scene.run(&["--on-interrupted", "fail"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("tm waves resume"));
    assert_eq!(scene.waves_folder(), folder, "nothing was begun");
    write(&scene.path("agent.sh"), HONEST);
    let fresh = scene.run(&["--on-interrupted", "fresh"]);
    let words = String::from_utf8_lossy(&fresh.stderr).into_owned();
    assert_eq!(fresh.status.code(), Some(0), "{words}");
    scene.assert_no_process_is_left();
    assert_eq!(scene.statuses(), ["done"; 2]);
    let listed = scene.tm(&["waves", "list", "--json"]).output().expect("tm");
    let runs: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("json");
    assert_eq!(runs.as_array().expect("runs").len(), 2);
    // What was begun is kept: the folder, the branches, and the work in progress.
    let id = folder
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(
        folder.join("journal.jsonl").is_file() && words.contains(&format!("tm waves resume {id}")),
        "{words}"
    );
    assert_eq!(
        scene.git(&["show", &format!("refs/tm/salvage/{id}/1/1:half.txt")]),
        "half"
    );
    let old = scene
        .tm(&["waves", "report", "--json", &id])
        .output()
        .expect("tm");
    let old: serde_json::Value = serde_json::from_slice(&old.stdout).expect("json");
    assert_eq!(old["status"], "interrupted");
}
