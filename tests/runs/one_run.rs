//! One live run a repository, whatever home its user has, and whatever becomes of the files that say so.

use crate::scene::{HONEST, Scene, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first attempt says that it works and waits until somebody writes into the gate.
fn gated() -> Scene {
    let agent = format!(
        "echo started > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null\n{HONEST}"
    );
    let scene = Scene::new(&[("1", "Document it", &[])], &agent);
    scene.pipe("started");
    scene.pipe("gate");
    scene
}

/// Starting a run is refused; returns the words.
fn refused(mut command: Command) -> String {
    let output = command.output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{words}");
    words
}

fn run_lock(home: &Path) -> PathBuf {
    let mut projects = std::fs::read_dir(home.join("projects"))
        .expect("projects")
        .flatten();
    projects.next().expect("a project").path().join("run.lock")
}

#[test]
fn another_home_a_linked_worktree_and_a_removed_lock_let_no_second_run_in() {
    let scene = gated();
    let linked = scene.path("linked");
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        linked.to_str().expect("a path"),
        "-b",
        "linked",
    ]);
    let mut run = scene.start_and_wait_for_agent(&[]);
    let starts = || {
        let mut of_other_home = scene.run_command(&[]);
        of_other_home.env("TM_HOME", scene.path("other-home"));
        let mut of_linked = scene.run_command(&[]);
        of_linked.current_dir(&linked);
        let mut a_loop = scene.tm(&["loop", "-n", "1", "--agent-command", "true"]);
        a_loop.env("TM_HOME", scene.path("other-home"));
        [scene.run_command(&[]), of_other_home, of_linked, a_loop]
    };
    for start in starts() {
        let words = refused(start);
        assert!(
            words.contains(&format!("held by process {} on", run.id())) && words.contains("hint:"),
            "{words}"
        );
    }
    let shared = scene.root().join(".git/tm-run.lock");
    let own = run_lock(&scene.path("tm"));
    for path in [&shared, &own] {
        std::fs::remove_file(path).expect("removed");
    }
    for start in starts() {
        refused(start);
    }
    // What takes its place is no lock of anybody's.
    write(&shared, "{}");
    for start in starts() {
        refused(start);
    }
    while !std::fs::read_to_string(&own)
        .is_ok_and(|record| record.contains(&format!("\"pid\":{}", run.id())))
    {
        std::thread::yield_now();
    }
    write(&scene.path("gate"), "go\n");
    assert_eq!(run.wait().expect("an end").code(), Some(0));
    assert_eq!(scene.statuses(), ["done"]);
    assert_eq!(
        scene.git(&[
            "status",
            "--porcelain",
            "--ignored",
            "--",
            ".",
            ":!.taskmaster"
        ]),
        ""
    );
}

#[test]
fn a_run_stops_gently_when_its_repository_is_replaced() {
    let scene = gated();
    let mut command = scene.run_command(&[]);
    command
        .env("TM_AGENT_GRACE", "10ms")
        .stdout(std::process::Stdio::null());
    let run = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    let git = scene.root().join(".git");
    std::fs::rename(&git, scene.path("moved")).expect("renamed");
    let copied = scene.shell("cp -r ../moved .git").status().expect("cp");
    assert!(copied.success());
    let output = run.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{words}");
    assert!(
        words.contains("is not the folder any more that was locked"),
        "{words}"
    );
    scene.assert_no_process_is_left();
}

#[test]
fn what_holds_the_lock_is_told_by_what_it_wrote_down_and_not_by_the_words_it_was_started_with() {
    let scene = gated();
    let mut run = scene.start_and_wait_for_agent(&["--report-dir", "loop"]);
    let words = refused(scene.run_command(&[]));
    assert!(
        words.contains("`tm waves status` shows it") && !words.contains("tm loop"),
        "{words}"
    );
    write(&scene.path("gate"), "go\n");
    assert_eq!(run.wait().expect("an end").code(), Some(0));
}
