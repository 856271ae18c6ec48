//! What happens to runs on other machines, whichever engine has them.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
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

/// Each task was done last in such a place, as far as somebody saw that attempt's end.
pub(super) fn assert_placed(report: &Value, is_place: impl Fn(&str) -> bool) {
    for task in report["tasks"].as_array().expect("tasks") {
        let last = task["attempts"].as_array().and_then(|all| all.last());
        if last.is_some_and(|last| last["ended"] == "lost") {
            continue;
        }
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

/// Says PASS where the one server that it may reach answers, and another one is refused with what opens it.
const REACHING: &str = r#"
[ "$(curl --silent --max-time 20 "http://127.0.0.1:PORT/")" = served ] || exit 1
curl --silent --max-time 20 http://refused.example/ | grep --quiet 'sandbox.agents.hosts' || exit 1
"#;

/// A server of models, which ends with the test; its port is one that the system gives to nobody who asks for any.
fn server() -> u16 {
    let at = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
    let listener = std::iter::repeat_with(|| fastrand::u16(20_000..30_000))
        .find_map(at)
        .expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a client");
            let heard = BufReader::new(&client).lines().map_while(Result::ok);
            heard.take_while(|line| !line.is_empty()).for_each(drop);
            let _told = (&client).write_all(b"HTTP/1.0 200 OK\r\n\r\nserved");
        }
    });
    port
}

/// A scene of one task, whose agent may reach one server and nobody else.
pub(super) fn reaching() -> Scene {
    let port = server();
    let agent = REACHING.replace("PORT", &port.to_string()) + HONEST;
    let scene = Scene::new(&[("1", "Document it", &[])], &agent);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        &format!("sandbox: {{ agents: {{ network: api, hosts: ['127.0.0.1:{port}'] }} }}\n"),
    );
    scene
}

/// An agent that may reach one server reaches it, and the one that it was kept from is named once, in the words in which
/// a run on this machine names it.
pub(super) fn assert_reaches_one_alone(
    level: &str,
    elsewhere: (&Scene, Command),
    is_place: impl Fn(&str) -> bool,
) {
    let noticed = |(scene, mut run): (&Scene, Command)| {
        run.args(["--tdd", "off", "--retries", "0"]);
        let output = run.env("TM_SANDBOX_LEVEL", level).output().expect("tm");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let report = scene.report();
        let noticed = task(&report, "1")["attempts"][0]["noticed"].clone();
        (noticed, report)
    };
    let (there, report) = noticed(elsewhere);
    assert_placed(&report, is_place);
    assert_eq!(
        there,
        serde_json::json!([
            "it wanted refused.example:80, where `sandbox.agents.network: api` lets nobody"
        ])
    );
    let scene = reaching();
    let (here, _) = noticed((&scene, scene.run_command(&[])));
    assert_eq!(there, here);
}
