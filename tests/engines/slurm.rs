//! Runs of waves whose set-ups, agents and tests are jobs of Slurm.

use super::cluster::{Cluster, PATIENCE};
use crate::scene::{HONEST, Scene, task, tm_binary, write};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

pub(super) const TASKS: [(&str, &str, &[&str]); 6] = [
    ("1", "Add one", &[]),
    ("2", "Add two", &["1"]),
    ("3", "Add three", &[]),
    ("4", "Document it", &[]),
    ("5", "Document more", &["4"]),
    ("6", "Document all of it", &["1", "4"]),
];

/// Does its work a little later than it could.
pub(super) fn slow() -> String {
    format!("sleep 0.2\n{HONEST}")
}

fn on_slurm(scene: &Scene, cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = cluster.with(scene.run_command(&["--on", "slurm", "-j", "6"]));
    command.args(arguments);
    command
}

fn resumed(scene: &Scene, cluster: &Cluster) -> Value {
    let output = cluster
        .with(scene.tm(&["waves", "resume"]))
        .output()
        .expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    scene.report()
}

/// One task on a cluster, whose agent says that it has started and does its work when it is let go.
struct Waiting {
    scene: Scene,
    cluster: Cluster,
    run: Child,
}

impl Waiting {
    fn begin(arguments: &[&str]) -> Option<Self> {
        let agent =
            format!("echo on > \"$AGENT_FOLDER/started\"; read _ < \"$AGENT_FOLDER/go\"\n{HONEST}");
        let scene = Scene::new(&[("1", "Document it", &[])], &agent);
        Self::begin_in(scene, |scene, cluster| on_slurm(scene, cluster, arguments))
    }

    fn begin_in(scene: Scene, run: impl FnOnce(&Scene, &Cluster) -> Command) -> Option<Self> {
        let cluster = Cluster::start(&scene)?;
        scene.pipe("started");
        scene.pipe("go");
        let run = run(&scene, &cluster)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("tm");
        Some(Self {
            scene,
            cluster,
            run,
        })
    }

    fn started(&self) {
        drop(std::fs::read(self.scene.path("started")).expect("the agent starts"));
    }

    /// Lets the agent work, and returns its task from the report of the run, in which it has landed.
    fn end(self) -> Value {
        task(&self.end_all(), "1").clone()
    }

    /// Lets the agent work, and returns the report of the run, in which all tasks have landed.
    fn end_all(mut self) -> Value {
        drop(
            File::options()
                .write(true)
                .open(self.scene.path("go"))
                .expect("the agent listens"),
        );
        assert!(self.run.wait().expect("it ends").success());
        let report = self.scene.report();
        assert_all_landed(&report);
        self.cluster.assert_empty();
        report
    }
}

/// The lines that a run prints, as they come.
pub(super) fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let stderr = child.stderr.take().expect("a pipe");
    BufReader::new(stderr).lines().map_while(Result::ok)
}

/// The folders of jobs that tm knows.
pub(super) fn jobs(scene: &Scene) -> Vec<PathBuf> {
    let pattern = scene.path("tm/projects/*/jobs/job-*").display().to_string();
    glob::glob(&pattern).expect("a pattern").flatten().collect()
}

pub(super) fn assert_all_landed(report: &Value) {
    let tasks = report["tasks"].as_array().expect("tasks");
    let landed = tasks.iter().filter(|task| task["state"] == "landed");
    assert_eq!(landed.count(), tasks.len(), "{report}");
}

/// Each task landed by one merge and no more.
pub(super) fn assert_landed_once(scene: &Scene, report: &Value) {
    let branch = report["integration_branch"].as_str().expect("a branch");
    let merges = scene.git(&[
        "log",
        "--first-parent",
        "--format=%s",
        &format!("main..{branch}"),
    ]);
    let mut subjects: Vec<&str> = merges.lines().collect();
    let all = subjects.len();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), all, "{merges}");
}

#[test]
fn a_run_over_three_nodes_of_which_one_dies_with_tm_lands_each_task_once() {
    let scene = Scene::new(&TASKS, &slow());
    let Some(mut cluster) = Cluster::start(&scene) else {
        return;
    };
    let mut run = on_slurm(&scene, &cluster, &[]);
    let mut run = run
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    let mut lines = lines(&mut run);
    let said: Vec<String> = lines
        .by_ref()
        .take_while(|line| !line.contains("PASS"))
        .collect();
    assert!(
        said.iter()
            .any(|line| line.contains("a first job ran on n")),
        "{said:?}"
    );
    // The first task has landed, and others are under way.
    let running = ["-h", "-t", "R", "-o", "%N"];
    let node = cluster.until(&running, "squeue", |said| !said.is_empty());
    let node = node.lines().next().expect("a node").trim().to_owned();
    cluster.kill_node(&node);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let report = resumed(&scene, &cluster);
    assert_all_landed(&report);
    assert_landed_once(&scene, &report);
    for task in report["tasks"].as_array().expect("tasks") {
        let last = task["attempts"].as_array().and_then(|all| all.last());
        let place = last.and_then(|last| last["place"].as_str());
        let is_node = |place: &str| place.starts_with('n') && place.contains(" (slurm job ");
        assert!(place.is_some_and(is_node), "{task}");
    }
    let tree = scene.landed_tree();
    cluster.assert_empty();
    assert_eq!(jobs(&scene), Vec::<PathBuf>::new());
    scene.assert_no_process_is_left();
    drop(cluster);

    let here = Scene::new(&TASKS, HONEST);
    here.runs(&[], 0);
    assert_eq!(tree, here.landed_tree(), "the same as on this machine");
}

#[test]
fn a_second_copy_of_a_job_ends_itself_and_the_report_names_it() {
    let Some(waiting) = Waiting::begin(&[]) else {
        return;
    };
    waiting.started();
    let of_agent: Vec<PathBuf> = jobs(&waiting.scene);
    assert_eq!(of_agent.len(), 1, "{of_agent:?}");
    let second = waiting
        .cluster
        .call(&tm_binary().display().to_string())
        .args([
            "node",
            "--id",
            "77",
            "--name",
            "n9",
            "--restarts",
            "1",
            "--job",
        ])
        .arg(&of_agent[0])
        .output()
        .expect("tm");
    assert_eq!(second.status.code(), Some(75), "{second:?}");
    let noticed = waiting.end().to_string();
    assert!(
        noticed.contains("a second copy of it was started on `n9` (job 77)"),
        "{noticed}"
    );
}

#[test]
fn an_agent_runs_where_its_task_says_and_its_job_has_what_the_size_of_the_task_is_given() {
    let task_of = |id: u32, metadata: Value| {
        json!({"id": id, "title": format!("Document {id}"), "status": "pending", "dependencies": [],
               "metadata": metadata})
    };
    let large = task_of(1, json!({"on": "slurm", "complexity": "L"}));
    let backlog = json!({"master": {"tasks": [large, task_of(2, json!({}))]}});
    let agent = format!(
        "[ \"$TM_TASK_ID\" != 1 ] || {{ echo on > \"$AGENT_FOLDER/started\"; read _ < \"$AGENT_FOLDER/go\"; }}\n{HONEST}"
    );
    let scene = Scene::with_backlog(&backlog.to_string(), &agent);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "slurm: { cpus: 1, by_complexity: { L: { cpus: 3 } } }\n",
    );
    let Some(waiting) = Waiting::begin_in(scene, |scene, cluster| {
        cluster.with(scene.run_command(&["--tdd", "off"]))
    }) else {
        return;
    };
    waiting.started();
    let running = ["-h", "-t", "R", "-o", "%C"];
    (waiting.cluster).until(&running, "squeue", |said| said.trim() == "3");
    let shown = |words: &[&str], wanted: &str| {
        let begins = Instant::now();
        loop {
            let output = waiting.scene.tm(words).output().expect("tm");
            let text = String::from_utf8(output.stdout).expect("text");
            if text.contains(wanted) {
                return;
            }
            assert!(begins.elapsed() < PATIENCE, "{text}");
        }
    };
    // tm hears of it a moment after it has begun.
    shown(&["waves", "status"], "Document 1 · on n");
    shown(&["waves", "metrics"], ",node=\"n");
    let report = waiting.end_all();
    let place = |id: &str| task(&report, id)["attempts"][0]["place"].clone();
    assert!(
        place("1")
            .as_str()
            .is_some_and(|place| place.starts_with('n')),
        "{report}"
    );
    assert_eq!(place("2"), Value::Null, "{report}");
}

#[test]
fn a_job_that_somebody_cancels_is_done_again_and_not_charged() {
    let Some(waiting) = Waiting::begin(&["--retries", "0"]) else {
        return;
    };
    waiting.started();
    let cluster = &waiting.cluster;
    let running = ["-h", "-t", "R", "-o", "%i"];
    let job = cluster.until(&running, "squeue", |said| !said.is_empty());
    let cancelled = cluster.ask("scancel", &[job.trim()]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    waiting.started();
    let task = waiting.end();
    assert_eq!(task["attempts"].as_array().map(Vec::len), Some(2), "{task}");
    let first = task["attempts"][0].to_string();
    assert!(first.contains("was cancelled by somebody"), "{first}");
}

#[test]
fn while_slurm_is_down_a_run_waits_and_nothing_is_charged() {
    let scene = Scene::new(&TASKS, &slow());
    let Some(mut cluster) = Cluster::start(&scene) else {
        return;
    };
    cluster.end_controller();
    let mut run = on_slurm(&scene, &cluster, &[]);
    let mut run = run
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    let mut lines = lines(&mut run);
    let waits = lines.find(|line| line.contains("a first job waits for a place: Slurm says:"));
    waits.expect("it says that it waits");
    cluster.start_controller();
    lines
        .find(|line| line.contains("START"))
        .expect("it goes on");
    cluster.end_controller();
    lines
        .find(|line| line.contains("what is to be started waits: Slurm says:"))
        .expect("it says why nothing goes on");
    cluster.start_controller();
    let rest: Vec<String> = lines.collect();
    let is_back = |line: &String| line.contains("jobs are taken again");
    assert!(rest.iter().any(is_back), "{rest:?}");
    assert!(run.wait().expect("it ends").success(), "{rest:?}");
    let report = scene.report();
    assert_all_landed(&report);
    let attempts = report["tasks"].as_array().expect("tasks").iter();
    let attempts: usize = attempts
        .map(|task| task["attempts"].as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(attempts, report["tasks"].as_array().expect("tasks").len());
    cluster.assert_empty();
}

#[test]
fn where_nodes_have_no_tm_a_run_does_not_begin_and_says_why() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    let mut run = on_slurm(&scene, &cluster, &[]);
    let output = run.env("TM_SLURM_TM", "/nowhere/tm").output().expect("tm");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("failed to run a first job: Slurm job "),
        "{said}"
    );
    assert!(said.contains("/nowhere/tm"), "{said}");
    let refused = on_slurm(&scene, &cluster, &[])
        .env("TM_SLURM_PARTITION", "nope")
        .output();
    let refused = String::from_utf8_lossy(&refused.expect("tm").stderr).into_owned();
    assert!(
        refused.contains("invalid partition specified: nope"),
        "{refused}"
    );
    cluster.assert_empty();
    assert_eq!(jobs(&scene), Vec::<PathBuf>::new());
}
