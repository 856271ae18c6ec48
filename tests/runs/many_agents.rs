//! Many agents at once that do nothing.

use crate::scene::Scene;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

const AGENTS: usize = 60;
/// Those that wait for git or the disk, and a few besides.
const MOST_THREADS: usize = 64 + 16;

#[test]
fn many_agents_take_no_thread_each_and_are_all_stopped_at_once() {
    let ids: Vec<String> = (1..=AGENTS).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Document it", &[][..]))
        .collect();
    let agent = "echo started > \"$AGENT_FOLDER/started\"; exec sleep 1000";
    let scene = Scene::new(&tasks, agent);
    scene.pipe("started");
    // Open for both, so that it does not end between two agents.
    let started = File::options()
        .read(true)
        .write(true)
        .open(scene.path("started"))
        .expect("a pipe");
    let mut run = scene
        .run_command(&["--max-parallel", &AGENTS.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tm starts");
    let mut started = BufReader::new(started).lines().take(AGENTS);
    assert!(started.all(|line| line.is_ok()));
    let threads = std::fs::read_dir(format!("/proc/{}/task", run.id()))
        .expect("threads")
        .count();
    assert!(threads <= MOST_THREADS, "{threads} threads");
    let pid = Pid::from_raw(i32::try_from(run.id()).expect("a pid")).expect("a pid");
    let code = loop {
        if let Some(status) = run.try_wait().expect("an answer") {
            break status.code();
        }
        kill_process(pid, Signal::INT).expect("sent");
        std::thread::yield_now();
    };
    assert_eq!(code, Some(130));
    scene.assert_no_process_is_left();
    assert_eq!(scene.statuses(), vec!["pending"; AGENTS]);
    let kept = scene.git(&["for-each-ref", "refs/tm/salvage"]);
    assert_eq!(kept, "", "nothing was done that could be kept");
}
