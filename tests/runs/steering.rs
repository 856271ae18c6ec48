//! A live run that is paused, resumed, and whose tasks are stopped, retried, skipped and added, from other processes.

use crate::scene::{HONEST, Scene, task, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Output};

/// Each first attempt says that it works and waits until somebody writes into its gate; further ones are honest.
fn gated() -> String {
    format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ -p \"$AGENT_FOLDER/gate-$TM_TASK_ID\" ]; then\n\
         echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate-$TM_TASK_ID\" > /dev/null\nfi\n{HONEST}"
    )
}

fn scene(tasks: &[(&str, &str, &[&str])], gates: &[&str]) -> Scene {
    let scene = Scene::new(tasks, &gated());
    scene.pipe("started");
    for gate in gates {
        scene.pipe(&format!("gate-{gate}"));
    }
    scene
}

fn open_gate(scene: &Scene, task: &str) {
    write(&scene.path(&format!("gate-{task}")), "go\n");
}

/// A call that has to be answered well.
fn steer(scene: &Scene, arguments: &[&str]) -> Value {
    let mut words = vec!["waves"];
    words.extend(arguments);
    words.push("--json");
    let output = scene.tm(&words).output().expect("tm");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one line of JSON")
}

fn refused(scene: &Scene, arguments: &[&str]) -> (Option<i32>, String) {
    let mut words = vec!["waves"];
    words.extend(arguments);
    let output: Output = scene.tm(&words).output().expect("tm");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn add_task(scene: &Scene, arguments: &[&str]) {
    let added = scene
        .tm(&["add-task"])
        .args(arguments)
        .output()
        .expect("tm");
    assert!(
        added.status.success(),
        "{}",
        String::from_utf8_lossy(&added.stderr)
    );
}

fn kill(child: &mut Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("sent");
    child.wait().expect("an end");
}

fn control_folder(scene: &Scene) -> PathBuf {
    let projects = std::fs::read_dir(scene.path("tm").join("projects")).expect("projects");
    projects
        .flatten()
        .next()
        .expect("a project")
        .path()
        .join("control")
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path)
        .expect("a file")
        .permissions()
        .mode()
        & 0o777
}

#[test]
fn a_run_is_paused_and_resumed_from_elsewhere() {
    let scene = scene(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &["1"],
    );
    let mut run = scene.start_and_wait_for_agent(&[]);
    let folder = control_folder(&scene);
    let socket = PathBuf::from(std::fs::read_to_string(folder.join("socket")).expect("a pointer"));
    assert!(
        std::fs::metadata(&socket)
            .expect("a socket")
            .file_type()
            .is_socket()
    );
    assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));
    assert_eq!(steer(&scene, &["pause"])["run"]["status"], "paused");
    let (code, words) = refused(&scene, &["pause"]);
    assert_eq!(code, Some(3), "{words}");
    assert!(
        words.contains("the run is paused already") && words.contains("hint:"),
        "{words}"
    );
    open_gate(&scene, "1");
    // The work of the agent lands, and nothing else begins.
    while task(&scene.report(), "1")["landed"] != true {
        std::thread::yield_now();
    }
    let status = scene.tm(&["waves", "status"]).output().expect("tm");
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("is paused after"), "{status}");
    assert_eq!(scene.statuses(), ["done", "pending"]);
    add_task(&scene, &["--title=Document the news"]);
    assert_eq!(steer(&scene, &["add", "3"])["run"]["tasks"], 3);
    assert_eq!(steer(&scene, &["resume"])["run"]["status"], "running");
    assert_eq!(run.wait().expect("an end").code(), Some(0));
    assert_eq!(scene.statuses(), ["done"; 3]);
    assert_eq!(task(&scene.report(), "3")["title"], "Document the news");
    assert!(!socket.exists() && !folder.join("socket").exists());
    let (code, words) = refused(&scene, &["pause"]);
    assert_eq!(code, Some(1), "{words}");
    assert!(
        words.contains("no run is live") && words.contains("hint:"),
        "{words}"
    );
}

#[test]
fn tasks_of_a_live_run_are_stopped_retried_skipped_and_added() {
    let tasks: &[(&str, &str, &[&str])] = &[
        ("1", "Document it", &[]),
        ("2", "Document more", &["1"]),
        ("3", "Document the rest", &["2"]),
    ];
    let scene = scene(tasks, &["1"]);
    let mut run = scene.start_and_wait_for_agent(&["--tdd", "off"]);
    steer(&scene, &["skip", "2", "--satisfied"]);
    add_task(&scene, &["--title=Document the news", "--dependencies=1"]);
    steer(&scene, &["add", "4"]);
    for (arguments, words) in [
        (&["add", "4"][..], "it is part of the run already"),
        (&["add", "99"], "the backlog has no task of that id"),
        (&["retry", "99"], "the run has no task of that id"),
        (&["retry", "4"], "it is waiting"),
    ] {
        let (code, told) = refused(&scene, arguments);
        assert!(
            code == Some(3) && told.contains(words),
            "{arguments:?}: {told}"
        );
    }
    steer(&scene, &["stop", "1", "--now"]);
    while task(&scene.report(), "1")["state"] != "failed" {
        std::thread::yield_now();
    }
    let report = scene.report();
    assert_eq!(
        (&task(&report, "1")["failure"], &task(&report, "4")["state"]),
        (&"stopped".into(), &"blocked".into())
    );
    run.wait().expect("an end");
    // Nothing but what was stopped was left to do, so the run is over; its work is kept.
    assert_eq!(scene.statuses(), ["pending", "pending", "done", "pending"]);
    scene.assert_no_process_is_left();
}

#[test]
fn a_task_that_is_retried_while_it_runs_is_begun_anew() {
    let scene = scene(&[("1", "Document it", &[])], &["1"]);
    let mut run = scene.start_and_wait_for_agent(&[]);
    steer(&scene, &["retry", "1"]);
    assert_eq!(run.wait().expect("an end").code(), Some(0));
    let report = scene.report();
    let attempts = task(&report, "1")["attempts"]
        .as_array()
        .expect("attempts")
        .clone();
    assert_eq!(
        (
            attempts.len(),
            &attempts[0]["ended"],
            &attempts[0]["failure"]
        ),
        (2, &"killed".into(), &Value::Null)
    );
    assert_eq!(scene.statuses(), ["done"]);
}

#[test]
fn a_paused_run_that_was_killed_goes_on_when_it_is_taken_up() {
    let scene = scene(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &["1"],
    );
    let mut run = scene.start_and_wait_for_agent(&[]);
    steer(&scene, &["pause"]);
    add_task(&scene, &["--title=Document the news"]);
    steer(&scene, &["add", "3"]);
    kill(&mut run);
    let (code, words) = refused(&scene, &["pause"]);
    assert_eq!(
        (code, words.contains("no run is live")),
        (Some(1), true),
        "{words}"
    );
    open_gate(&scene, "1");
    let taken_up = scene.tm(&["waves", "resume"]).output().expect("tm");
    let words = String::from_utf8_lossy(&taken_up.stderr);
    assert_eq!(taken_up.status.code(), Some(0), "{words}");
    assert!(words.contains("the run goes on after the pause"), "{words}");
    assert_eq!(scene.statuses(), ["done"; 3]);
    assert!(!control_folder(&scene).join("socket").exists());
    scene.assert_no_process_is_left();
}

#[test]
fn a_task_that_was_being_stopped_when_tm_was_killed_is_stopped_when_the_run_is_taken_up() {
    let scene = scene(
        &[("1", "Document it", &[]), ("2", "Document more", &[])],
        &["1"],
    );
    let mut run = scene.start_and_wait_for_agent(&["--max-parallel", "1"]);
    steer(&scene, &["stop", "1"]);
    kill(&mut run);
    let taken_up = scene.tm(&["waves", "resume"]).output().expect("tm");
    assert_eq!(
        taken_up.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&taken_up.stderr)
    );
    let report = scene.report();
    assert_eq!(
        (
            &task(&report, "1")["failure"],
            &task(&report, "2")["landed"]
        ),
        (&"stopped".into(), &true.into())
    );
    assert_eq!(scene.statuses(), ["pending", "done"]);
    scene.assert_no_process_is_left();
}

#[test]
fn a_task_that_is_stopped_while_its_work_is_landing_has_landed_or_not_and_says_which() {
    let scene = scene(&[("1", "Document it", &[]), ("2", "Document it", &[])], &[]);
    // The tests of the merged tree wait, so that there is a landing under way.
    write(
        &scene.root().join("run-tests.sh"),
        "[ -f docs/1 ] && [ -f docs/2 ] && [ -p \"$AGENT_FOLDER/gate-landing\" ] && \
         { echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate-landing\" > /dev/null; }\necho 1..1\necho ok - fine\n",
    );
    scene.git(&["commit", "--quiet", "--all", "--message", "tests that wait"]);
    // One agent waits until the work of the other has landed, so the merged tree is a new one.
    write(
        &scene.path("agent.sh"),
        &format!(
            "landed() {{ git cat-file -e \"$(git for-each-ref --format='%(refname)' 'refs/heads/tm/*/run-*'):docs/2\"; }}\n\
             [ \"$TM_TASK_ID\" = 2 ] || until landed 2> /dev/null; do sleep 0.02; done\n{HONEST}"
        ),
    );
    scene.pipe("gate-landing");
    let mut run = scene.start_and_wait_for_agent(&[]);
    assert_eq!(task(&scene.report(), "1")["state"], "landing");
    steer(&scene, &["stop", "1", "--now"]);
    kill(&mut run);
    // The tests that the dead process began go on to their end; those of the next one wait for nobody.
    open_gate(&scene, "landing");
    std::fs::remove_file(scene.path("gate-landing")).expect("the gate");
    let taken_up = scene.tm(&["waves", "resume"]).output().expect("tm");
    assert_eq!(
        taken_up.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&taken_up.stderr)
    );
    assert_eq!(
        (&task(&scene.report(), "1")["landed"], scene.statuses()),
        (&true.into(), vec!["done".to_owned(); 2])
    );
    scene.assert_no_process_is_left();
}
