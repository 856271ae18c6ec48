//! Long walks: whole nights on other machines, which lose nodes and tm in the middle of it.
//!
//! `cargo test --features full --test tm-tests -- --ignored nights`; `TM_NIGHT_TASKS` is how many tasks a night has.

use super::cluster::Cluster;
use super::scenes::{OfTest as _, assert_all_landed, assert_landed_once, attempts, jobs};
use crate::scene::{Scene, write};
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A night takes no longer.
const PATIENCE: Duration = Duration::from_hours(1);

/// Reads all tests at once: each is a file that says what another one holds.
const TESTS: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 1
exec awk 'FNR == 1 {
  name = FILENAME; sub("t/", "", name); want = $0; file = "bin/" name; got = ""
  getline got < file; close(file)
  if (got == want) print "ok - " name; else { print "not ok - " name; bad = 1 }
  count++
} END { print "1.." count; exit bad + 0 }' t/*
"#;

/// Works for 50 to 500 milliseconds.
const AGENT: &str = r#"
name=$(printf %s "$TM_TASK_ID" | sed 's/:red$//')
sleep "0.$(printf %s "$TM_TASK_ID" | cksum | awk '{ printf "%02d", 5 + $1 % 46 }')"
case $TM_PHASE in
red) echo "$name" > "t/$name" ;;
*) echo "$name" > "bin/$name" ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

/// A repository with many tasks, some of which depend on others.
pub(super) struct Night {
    pub(super) scene: Scene,
    tasks: usize,
}

impl Night {
    pub(super) fn new(tasks: usize) -> Self {
        let asked = std::env::var("TM_NIGHT_TASKS").ok();
        let tasks = asked.map_or(tasks, |asked| asked.parse().expect("a number"));
        let task = |id: usize| {
            let dependencies = if id.is_multiple_of(5) && id > 7 {
                vec![id - 7]
            } else {
                Vec::new()
            };
            json!({"id": id, "title": format!("Add {id}"), "status": "pending", "dependencies": dependencies})
        };
        let all: Vec<_> = (1..=tasks).map(task).collect();
        let backlog = json!({"master": {"tasks": all}}).to_string();
        let scene = Scene::with_backlog(&backlog, AGENT);
        write(&scene.root().join("run-tests.sh"), TESTS);
        write(&scene.root().join("bin/old"), "old\n");
        for old in ["t/check.sh", "t/old.t"] {
            scene.git(&["rm", "--quiet", old]);
        }
        write(&scene.root().join("t/old"), "old\n");
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "tests"]);
        Self { scene, tasks }
    }

    pub(super) fn started(&self, mut command: Command) -> Child {
        let said = File::options()
            .create(true)
            .append(true)
            .open(self.scene.path("said"));
        command
            .stdout(Stdio::null())
            .stderr(said.expect("a file"))
            .spawn()
            .expect("tm")
    }

    /// Waits until so many hundredths of the tasks have landed.
    pub(super) fn until(&self, percent: usize) {
        let begins = Instant::now();
        while self.landed() * 100 < self.tasks * percent {
            assert!(begins.elapsed() < PATIENCE, "{} landed", self.landed());
            std::thread::sleep(Duration::from_millis(500));
        }
        tell(&format!("{} of {} landed", self.landed(), self.tasks));
    }

    fn landed(&self) -> usize {
        let branches = self
            .scene
            .git(&["for-each-ref", "--format=%(refname)", "refs/heads/tm"]);
        let Some(branch) = branches.lines().find(|name| name.contains("/run-")) else {
            return 0;
        };
        let merges = [
            "rev-list",
            "--first-parent",
            "--count",
            &format!("main..{branch}"),
        ];
        self.scene.git(&merges).trim().parse().expect("a number")
    }

    /// All of it has landed, once each, and as it does on this machine.
    pub(super) fn assert_over(&self, mut run: Child) {
        assert!(run.wait().expect("it ends").success());
        let report = self.scene.report();
        assert_all_landed(&report);
        assert_landed_once(&self.scene, &report);
        let (planned, attempts) = attempts(&report);
        tell(&format!("{planned} planned tasks, {attempts} attempts"));
        self.scene.assert_no_process_is_left();
        let here = Self::new(self.tasks);
        here.scene.runs(&["-j", "24"], 0);
        assert_eq!(self.scene.landed_tree(), here.scene.landed_tree());
    }
}

/// Who waits for a night wants to know how far it is.
fn tell(words: &str) {
    writeln!(std::io::stderr(), "{words}").expect("somebody listens");
}

#[test]
#[ignore = "a long walk"]
fn a_night_of_a_thousand_tasks_on_slurm_loses_a_node_and_tm() {
    let night = Night::new(500);
    let Some(mut cluster) = Cluster::start(&night.scene) else {
        return;
    };
    let start = |words: &[&str]| night.started(cluster.with(night.scene.tm(words)));
    let begin = night.scene.run_command(&["--on", "slurm", "-j", "24"]);
    let mut run = night.started(cluster.with(begin));
    night.until(20);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let mut run = start(&["waves", "resume"]);
    night.until(40);
    cluster.kill_node("n1");
    let start = |words: &[&str]| night.started(cluster.with(night.scene.tm(words)));
    night.until(50);
    cluster.pause_node("n2");
    night.until(70);
    cluster.continue_node("n2");
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let run = start(&["waves", "resume"]);
    night.assert_over(run);
    cluster.assert_empty();
    assert_eq!(jobs(&night.scene), Vec::<PathBuf>::new());
}
