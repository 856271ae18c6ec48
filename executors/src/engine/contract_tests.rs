//! What every engine owes, tried on each: on the local one, on one that has a wrapper start everything in a session of its
//! own and keeps handles of its own, as a sandbox does, and on one of other machines, whose nodes are threads here.

use super::node::RemoteEngine;
use super::node::tests::Loopback;
use super::*;
use crate::agent::{
    AgentCommand, AgentIdentity, AttemptLimits, RefusalPatterns, adopt_attempt, run_attempt,
};
use crate::process::shell_words;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tm_scheduler::{Ended, OutputFormat, ResultFile, StopMode};
use tokio::process::Child;
use tokio::sync::watch;

/// Starts everything through a shell that waits for it.
#[derive(Debug)]
struct WrappingEngine;

fn wrapped(command: &TreeCommand) -> TreeCommand {
    let script = "trap : INT TERM; setsid --wait \"$@\" & wait $!; exit $?";
    let words: [OsString; 4] = [
        "-c".into(),
        script.into(),
        "wrapper".into(),
        command.program.clone(),
    ];
    let arguments = words
        .into_iter()
        .chain(command.arguments.iter().cloned())
        .collect();
    TreeCommand {
        program: "sh".into(),
        arguments,
        ..command.clone()
    }
}

/// What the engine knows a job by.
#[derive(Serialize, Deserialize)]
struct Wrapped {
    wrapper: JobHandle,
}

#[derive(Debug)]
struct WrappedJob(Box<dyn Job>);

impl Engine for WrappingEngine {
    fn name(&self) -> &'static str {
        "wrapping"
    }

    fn epoch(&self) -> String {
        LocalEngine::default().epoch()
    }

    fn start<'a>(&'a self, command: &'a TreeCommand) -> Pending<'a, Result<Box<dyn Job>, Error>> {
        Box::pin(async {
            Ok(Box::new(WrappedJob(
                LocalEngine::default().start(&wrapped(command)).await?,
            )) as Box<dyn Job>)
        })
    }

    fn adopt<'a>(
        &'a self,
        handle: Option<&'a JobHandle>,
        env_markers: &'a [(String, String)],
    ) -> Pending<'a, Box<dyn Job>> {
        let wrapper = handle
            .and_then(JobHandle::job::<Wrapped>)
            .map(|job| job.wrapper);
        Box::pin(async move {
            Box::new(WrappedJob(
                LocalEngine::default()
                    .adopt(wrapper.as_ref(), env_markers)
                    .await,
            )) as Box<dyn Job>
        })
    }

    /// As of a place elsewhere.
    fn writes_here(&self) -> bool {
        false
    }

    fn give_back(&self, _log: &Path, _part: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Job for WrappedJob {
    fn handle(&self) -> Option<JobHandle> {
        Some(JobHandle::new(
            "wrapping",
            &Wrapped {
                wrapper: self.0.handle()?,
            },
        ))
    }

    fn is_running(&self) -> Pending<'_, bool> {
        self.0.is_running()
    }

    fn wait(&mut self) -> Pending<'_, Result<JobEnd, Error>> {
        self.0.wait()
    }

    fn signal(&self, signal: StopSignal) {
        self.0.signal(signal);
    }

    fn end(&mut self, grace: Duration) -> Pending<'_, Ending> {
        self.0.end(grace)
    }
}

/// An engine, and a folder in which jobs work.
struct Scene {
    folder: TempDir,
    executor: Executor,
    kind: Kind,
}

/// The engine of a scene.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Local,
    Wrapping,
    Remote,
}

/// The same for each engine.
fn scenes() -> [Scene; 3] {
    [Kind::Local, Kind::Wrapping, Kind::Remote].map(Scene::new)
}

impl Scene {
    fn new(kind: Kind) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let executor = Executor::local(folder.path().join("records"));
        let executor = match kind {
            Kind::Local => executor,
            Kind::Wrapping => executor
                .knowing(Arc::new(WrappingEngine))
                .starting_on("wrapping"),
            Kind::Remote => {
                let launcher = Arc::new(Loopback::default());
                let jobs = folder.path().join("jobs");
                let engine = RemoteEngine::new(launcher, jobs, None);
                executor.knowing(Arc::new(engine)).starting_on("loopback")
            }
        };
        Self {
            folder,
            executor,
            kind,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, script: &str) -> TreeCommand {
        let (program, arguments) = shell_words(script);
        let (stdout, stderr) = (self.path("stdout.log"), self.path("stderr.log"));
        let (working_folder, env_markers) = (self.folder.path().to_owned(), self.env_markers());
        TreeCommand {
            program,
            arguments,
            working_folder,
            stdout,
            stderr,
            env_markers,
            ..TreeCommand::default()
        }
    }

    fn env_markers(&self) -> Vec<(String, String)> {
        vec![(
            "TM_CONTRACT_TEST".to_owned(),
            self.folder.path().display().to_string(),
        )]
    }

    /// Starts a script as an earlier tm would have, and waits until it writes into the pipe `ready`.
    async fn started_before(&self, script: &str) -> (Option<Child>, JobHandle) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(
            CWD,
            self.path("ready"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a pipe");
        let command = self.command(script);
        let started = match self.kind {
            Kind::Local => {
                let (child, process, _) = command.spawn().expect("started");
                (Some(child), JobHandle::new("local", &process))
            }
            Kind::Wrapping => {
                let (child, process, _) = wrapped(&command).spawn().expect("started");
                let wrapper = JobHandle::new("local", &process);
                let handle = JobHandle::new("wrapping", &Wrapped { wrapper });
                (Some(child), handle)
            }
            Kind::Remote => {
                let job = self.executor.start(&command).await.expect("started");
                let handle = job.handle().expect("a handle");
                // As of a process that was killed.
                std::mem::forget(job);
                (None, handle)
            }
        };
        drop(fs::read(self.path("ready")).expect("it starts"));
        fs::remove_file(self.path("ready")).expect("removed");
        started
    }

    fn agent(&self, script: &str) -> AgentCommand {
        AgentCommand {
            agent: "scripted".into(),
            executor: self.executor.clone(),
            tree: self.command(script),
            identity_file: self.path("agent.json"),
            result_file: self.path("result.md"),
            held: None,
            limits: AttemptLimits {
                timeout: Duration::from_mins(1),
                stall: None,
                grace: Duration::from_secs(10),
                log_bytes: 64 * 1024,
            },
            polite_stop: StopSignal::Terminate,
            output: OutputFormat::Text,
            refusal_patterns: RefusalPatterns::default(),
        }
    }
}

#[tokio::test]
async fn a_job_has_its_folder_its_variables_its_logs_and_its_exit_code() {
    for scene in scenes() {
        let script = "pwd; echo \"$TM_CONTRACT_TEST\"; echo oh >&2; exit 3";
        let ended = scene
            .executor
            .run(&scene.command(script), Duration::from_mins(1))
            .await
            .expect("started");
        assert_eq!(ended, Some(JobEnd::Exited(3)));
        let place = scene.folder.path().display().to_string();
        assert_eq!(
            fs::read_to_string(scene.path("stdout.log")).expect("a log"),
            format!("{place}\n{place}\n")
        );
        assert_eq!(
            fs::read_to_string(scene.path("stderr.log")).expect("a log"),
            "oh\n"
        );
        assert_eq!(
            fs::read_dir(scene.path("records")).map_or(0, Iterator::count),
            0,
            "nothing is written down any more"
        );
    }
}

#[tokio::test]
async fn a_job_is_ended_at_its_limit_with_what_left_its_session() {
    for scene in scenes() {
        let script = "setsid sleep 1000 & trap '' TERM; sleep 1000";
        let ended = scene
            .executor
            .run(&scene.command(script), Duration::from_millis(200))
            .await
            .expect("started");
        assert_eq!(ended, None);
        let mut rest = scene.executor.adopt(None, &scene.env_markers()).await;
        assert_eq!(
            rest.end(Duration::ZERO).await,
            Ending::Gone(0),
            "nothing is left"
        );
    }
}

#[tokio::test]
async fn a_job_of_an_earlier_tm_is_known_by_its_handle_and_by_its_marks() {
    for scene in scenes() {
        for is_known in [true, false] {
            let (_child, handle) = scene.started_before("echo on > ready; sleep 1000").await;
            let written = serde_json::to_string(&handle).expect("json");
            let handle: JobHandle = serde_json::from_str(&written).expect("a handle");
            let mut job = scene
                .executor
                .adopt(Some(&handle).filter(|_| is_known), &scene.env_markers())
                .await;
            assert_eq!(
                job.is_running().await,
                is_known || scene.kind == Kind::Remote,
                "without a handle nobody of this machine knows the program"
            );
            let ending = job.end(Duration::from_secs(5)).await;
            assert!(matches!(ending, Ending::Gone(1..)), "{ending:?}");
            let again = scene
                .executor
                .adopt(Some(&handle), &scene.env_markers())
                .await;
            assert!(!again.is_running().await, "and it is gone");
        }
    }
}

#[tokio::test]
async fn a_job_that_is_dropped_has_ended() {
    for scene in scenes() {
        let job = scene
            .executor
            .start(&scene.command("sleep 1000"))
            .await
            .expect("started");
        let handle = job.handle().expect("a handle");
        drop(job);
        assert!(
            !scene
                .executor
                .adopt(Some(&handle), &scene.env_markers())
                .await
                .is_running()
                .await
        );
    }
}

#[tokio::test]
async fn an_agent_keeps_its_result_its_bounded_log_and_what_it_left_is_counted() {
    for scene in scenes() {
        let script = "yes | head -c 1000000; setsid sleep 1000 & printf 'status: PASS\\n' > result.md; exit 4";
        let (_sender, orders) = watch::channel(None);
        let report = run_attempt(Box::new(scene.agent(script)), orders, |_| {})
            .await
            .expect("room");
        assert_eq!(report.ended, Ended::Exited(Some(4)));
        assert!(
            matches!(report.result, ResultFile::Claimed(_)) && report.leftovers >= 1,
            "{report:?}"
        );
        assert!(fs::metadata(scene.path("stdout.log")).expect("a log").len() < 66 * 1024);
    }
}

#[tokio::test]
async fn an_agent_is_adopted_by_whoever_knows_its_engine() {
    for scene in scenes() {
        let (_child, handle) = scene.started_before("echo on > ready; sleep 1000").await;
        let command = scene.agent("");
        AgentIdentity::new(handle, u64::MAX)
            .write(&command.identity_file)
            .expect("written");
        let (sender, orders) = watch::channel(None);
        sender.send_replace(Some(StopMode::Now));
        let report = adopt_attempt(Box::new(command), orders, |_| {})
            .await
            .expect("room");
        assert_eq!(report.ended, Ended::Killed);
    }
}

#[test]
fn a_handle_of_before_there_was_a_second_engine_is_one_of_this_machine() {
    let handle: JobHandle =
        serde_json::from_str(r#"{"pid": 7, "start_time": 9}"#).expect("a handle");
    assert_eq!(handle.engine(), "local");
    let process = handle
        .job::<crate::process::ProcessIdentity>()
        .expect("a process");
    assert_eq!((process.pid, process.start_time), (7, 9));
}
