//! What happens to runs on other machines, whichever engine has them.

use crate::scene::{HONEST, Scene, task};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

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

/// An engine of a test's own.
pub(super) trait OfTest {
    /// Nothing that a run asked for is left.
    fn assert_empty(&self);
}

/// What becomes of an engine for a while.
pub(super) enum Fate {
    GoesAway,
    ComesBack,
}

/// One task, whose agent says that it has started and does its work when it is let go.
pub(super) struct Waiting<Engine> {
    pub(super) engine: Engine,
    pub(super) scene: Scene,
    pub(super) run: Child,
}

impl<Engine: OfTest> Waiting<Engine> {
    /// A scene of one task.
    pub(super) fn scene() -> Scene {
        let agent =
            format!("echo on > \"$AGENT_FOLDER/started\"; read _ < \"$AGENT_FOLDER/go\"\n{HONEST}");
        Scene::new(&[("1", "Document it", &[])], &agent)
    }

    pub(super) fn begin(
        scene: Scene,
        engine: Engine,
        run: impl FnOnce(&Scene, &Engine) -> Command,
    ) -> Self {
        scene.pipe("started");
        scene.pipe("go");
        let run = run(&scene, &engine)
            .stdout(Stdio::null())
            .stderr(File::create(scene.path("said")).expect("a file"))
            .spawn()
            .expect("tm");
        Self { engine, scene, run }
    }

    pub(super) fn started(&self) {
        drop(std::fs::read(self.scene.path("started")).expect("the agent starts"));
    }

    /// Lets the agent work.
    pub(super) fn let_go(&self) {
        let go = File::options().write(true).open(self.scene.path("go"));
        drop(go.expect("the agent listens"));
    }

    /// Lets the agent work, and returns the report of the run, in which all tasks have landed.
    pub(super) fn end_all(mut self) -> Value {
        self.let_go();
        assert!(self.run.wait().expect("it ends").success());
        let report = self.scene.report();
        assert_all_landed(&report);
        self.engine.assert_empty();
        report
    }

    /// Lets the agent work, and returns its task from the report of the run, in which it has landed.
    pub(super) fn end(self) -> Value {
        task(&self.end_all(), "1").clone()
    }
}

/// The lines that a run prints, as they come.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
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

/// The first of two attempts at a task that were not charged.
pub(super) fn first_of_two(task: &Value) -> String {
    assert_eq!(task["attempts"].as_array().map(Vec::len), Some(2), "{task}");
    task["attempts"][0].to_string()
}

/// How many tasks a run has, and how many attempts at them there were.
pub(super) fn attempts(report: &Value) -> (usize, usize) {
    let tasks = report["tasks"].as_array().expect("tasks");
    let attempts = tasks
        .iter()
        .map(|task| task["attempts"].as_array().map_or(0, Vec::len));
    (tasks.len(), attempts.sum())
}

/// Each task was done last in such a place.
pub(super) fn assert_placed(report: &Value, is_place: impl Fn(&str) -> bool) {
    for task in report["tasks"].as_array().expect("tasks") {
        let last = task["attempts"].as_array().and_then(|all| all.last());
        let place = last.and_then(|last| last["place"].as_str());
        assert!(place.is_some_and(&is_place), "{task}");
    }
}

/// Starts a run, and returns the lines that it prints.
pub(super) fn watched(mut run: Command) -> (Child, impl Iterator<Item = String>) {
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut run = run.expect("tm");
    let lines = lines(&mut run);
    (run, lines)
}

/// Starts a run, and waits until its first task has landed; what it prints is read as long as the lines are kept.
pub(super) fn under_way(run: Command) -> (Child, impl Iterator<Item = String>) {
    let (run, mut lines) = watched(run);
    let said: Vec<String> = lines
        .by_ref()
        .take_while(|line| !line.contains("PASS"))
        .collect();
    let is_first = |line: &String| line.contains("a first job ran on n");
    assert!(said.iter().any(is_first), "{said:?}");
    (run, lines)
}

/// A run whose engine is away when it begins, and once more in the middle, says so, waits, and charges nothing.
pub(super) fn assert_waits(
    scene: &Scene,
    run: Command,
    engine: &str,
    mut happens: impl FnMut(Fate),
) {
    happens(Fate::GoesAway);
    let (mut run, mut lines) = watched(run);
    let mut says = |words: &str| lines.find(|line| line.contains(words)).expect(words);
    says(&format!("a first job waits for a place: {engine} says:"));
    happens(Fate::ComesBack);
    says("START");
    happens(Fate::GoesAway);
    says(&format!("what is to be started waits: {engine} says:"));
    happens(Fate::ComesBack);
    let rest: Vec<String> = lines.collect();
    let is_back = |line: &String| line.contains("jobs are taken again");
    assert!(rest.iter().any(is_back), "{rest:?}");
    assert!(run.wait().expect("it ends").success(), "{rest:?}");
    let report = scene.report();
    assert_all_landed(&report);
    let (tasks, attempts) = attempts(&report);
    assert_eq!(attempts, tasks, "{report}");
}
