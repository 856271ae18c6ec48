//! Jobs of which several copies are started, of which nobody hears, and that are given up; on nodes that are threads here.

use super::folder::{Ended, How, Label, Lease, State};
use super::order::Order;
use super::*;
use crate::Error;
use crate::engine::{Ending, Engine as _, Job, JobEnd, JobHandle};
use crate::process::{TreeCommand, shell_words};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Starts each job at once, on a thread that does what a node does.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Loopback {
    standings: Arc<Mutex<BTreeMap<JobFolder, Standing>>>,
}

fn copy(restarts: u32) -> Copy {
    Copy {
        job: "7".to_owned(),
        node: "n1".to_owned(),
        restarts,
        pid: std::process::id(),
        version: VERSION.to_owned(),
    }
}

/// Runs one copy, as a node does.
#[tokio::main(flavor = "current_thread")]
async fn run(folder: &JobFolder, restarts: u32) -> Result<CopyEnd, Error> {
    run_copy(folder, copy(restarts), std::future::pending()).await
}

impl Launcher for Loopback {
    fn name(&self) -> &'static str {
        "loopback"
    }

    fn submit(&self, job: &JobFolder, _about: &JobDescription) {
        self.take_over(job);
        let (launcher, job) = (self.clone(), job.clone());
        std::thread::spawn(move || {
            let ended = run(&job, 0);
            let gone = Standing::Gone(Loss::Lost(format!("{ended:?}")));
            launcher.standings.lock().insert(job, gone);
        });
    }

    fn take_over(&self, job: &JobFolder) {
        let mut standings = self.standings.lock();
        standings.entry(job.clone()).or_insert(Standing::Running);
    }

    fn standing(&self, job: &JobFolder) -> Standing {
        let known = self.standings.lock().get(job).cloned();
        known.unwrap_or_else(|| Standing::Gone(Loss::Lost("nobody knows it".to_owned())))
    }

    fn cancel(&self, _job: &JobFolder) {}

    fn forget(&self, _job: &JobFolder) {}

    fn settled(&self) -> Pending<'_, ()> {
        Box::pin(async {})
    }
}

/// Says what a test has it say, and starts nothing.
#[derive(Debug)]
struct Silent(Standing);

impl Launcher for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn submit(&self, _job: &JobFolder, _about: &JobDescription) {}

    fn take_over(&self, _job: &JobFolder) {}

    fn standing(&self, _job: &JobFolder) -> Standing {
        self.0.clone()
    }

    fn has_ended(&self, _copy: &Copy) -> bool {
        self.0 == surely_gone()
    }

    fn cancel(&self, _job: &JobFolder) {}

    fn forget(&self, _job: &JobFolder) {}

    fn settled(&self) -> Pending<'_, ()> {
        Box::pin(async {})
    }
}

fn surely_gone() -> Standing {
    Standing::Gone(Loss::Lost("its container has ended".to_owned()))
}

fn gone() -> Standing {
    Standing::Gone(Loss::Lost("the node failed".to_owned()))
}

fn command(folder: &Path, script: &str) -> TreeCommand {
    let (program, arguments) = shell_words(script);
    TreeCommand {
        program,
        arguments,
        working_folder: folder.to_owned(),
        stdout: folder.join("log"),
        stderr: folder.join("log"),
        env_markers: vec![("TM_NODE_TEST".to_owned(), folder.display().to_string())],
        ..TreeCommand::default()
    }
}

/// Orders a job that nobody begins with by itself.
async fn ordered(folder: &TempDir, script: &str, standing: Standing) -> (Box<dyn Job>, JobFolder) {
    let jobs = folder.path().join("jobs");
    let engine = RemoteEngine::new(Arc::new(Silent(standing)), jobs.clone(), None);
    let command = command(folder.path(), script);
    let job = engine.start(&command).await.expect("ordered");
    let job_folder = JobFolder::all(&jobs).next().expect("a folder");
    (job, job_folder)
}

#[tokio::test]
async fn of_two_copies_one_runs_and_the_other_ends_itself_and_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo one >> work; mkfifo go; read _ < go; exit 3";
    let (mut job, job_folder) = ordered(&folder, script, Standing::Running).await;
    let first = job_folder.clone();
    let first = std::thread::spawn(move || run(&first, 0));
    job.begun().await;
    let second = job_folder.clone();
    let second = std::thread::spawn(move || run(&second, 1)).join();
    let second = second.expect("no panic").expect("it could look");
    assert_eq!(second, CopyEnd::Second);
    while !folder.path().join("go").exists() {
        tokio::task::yield_now().await;
    }
    let go = folder.path().join("go");
    tokio::task::spawn_blocking(|| fs::OpenOptions::new().write(true).open(go))
        .await
        .expect("no panic")
        .expect("somebody reads");
    assert_eq!(job.wait().await.expect("watched"), JobEnd::Exited(3));
    assert_eq!(job.end(Duration::ZERO).await, Ending::Gone(0));
    let done = first.join().expect("no panic").expect("it could write");
    assert_eq!(done, CopyEnd::Done);
    let work = fs::read_to_string(folder.path().join("work")).expect("work");
    assert_eq!(work, "one\n");
    let told = job.told().join("; ");
    assert!(
        told.contains("a second copy of it was started on `n1` (job 7)"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_copies_at_once_exactly_one_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut job, job_folder) = ordered(&folder, "echo one >> work", Standing::Running).await;
    let copies: Vec<_> = (0..8)
        .map(|number| {
            let job_folder = job_folder.clone();
            std::thread::spawn(move || run(&job_folder, number))
        })
        .collect();
    assert_eq!(job.wait().await.expect("watched"), JobEnd::Exited(0));
    let ends = copies
        .into_iter()
        .map(|copy| copy.join().expect("no panic"));
    let done = ends.filter(|end| matches!(end, Ok(CopyEnd::Done)));
    assert_eq!(done.count(), 1);
    let work = fs::read_to_string(folder.path().join("work")).expect("work");
    assert_eq!(work, "one\n");
}

#[tokio::test]
async fn a_job_that_is_given_up_before_it_begins_never_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let waiting = Standing::Waiting("Resources".to_owned());
    let (mut job, job_folder) = ordered(&folder, "echo one >> work", waiting).await;
    assert!(job.is_running().await, "it has yet to begin");
    assert_eq!(job.end(Duration::ZERO).await, Ending::Gone(0));
    assert!(!job_folder.path().join("order.json").exists());
    let late = job_folder.clone();
    let late = std::thread::spawn(move || run(&late, 0)).join();
    assert_eq!(
        late.expect("no panic").expect("it could look"),
        CopyEnd::Second
    );
    drop(job);
    let late = std::thread::spawn(move || run(&job_folder, 0)).join();
    let late = late.expect("no panic").expect("it could look");
    assert_eq!(late, CopyEnd::Second, "nor when all of the job is gone");
    assert!(!folder.path().join("work").exists());
}

#[tokio::test]
async fn a_copy_that_nobody_reaches_leaves_its_place_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut job, job_folder) = ordered(&folder, "true", gone()).await;
    // It has begun, and nobody hears of it any more.
    assert!(job_folder.take_lease(&Lease::Copy(copy(0))).expect("taken"));
    assert_eq!(job.wait().await.expect("watched"), JobEnd::Unknown);
    assert_eq!(job.end(Duration::ZERO).await, Ending::OutOfReach);
    let told = job.told().join("; ");
    assert!(
        told.starts_with("the node failed; nobody could be reached"),
        "{told}"
    );
    drop(job);
    assert!(
        job_folder.path().exists(),
        "the copy still finds its end asked for"
    );
}

#[tokio::test]
async fn a_job_that_its_engine_lost_before_it_began_is_lost_and_its_place_free() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut job, _) = ordered(&folder, "true", gone()).await;
    assert_eq!(job.begun().await, None);
    assert_eq!(job.wait().await.expect("watched"), JobEnd::Unknown);
    assert_eq!(job.end(Duration::ZERO).await, Ending::Gone(0));
}

#[tokio::test]
async fn what_its_node_could_not_hold_has_not_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let waiting = Standing::Waiting("Resources".to_owned());
    let (mut job, of_job) = ordered(&folder, "true", waiting).await;
    let ended = State::Ended(Ended {
        copy: copy(0),
        how: How::NotHeld("bwrap: no room".to_owned()),
        leftovers: 0,
        told: Vec::new(),
    });
    of_job.set_state(&ended).expect("written");
    let error = job.wait().await.expect_err("it never ran");
    assert!(
        error.is_of_surroundings() && error.to_string().ends_with(": bwrap: no room"),
        "{error}"
    );
}

#[tokio::test]
async fn a_job_whose_folder_went_leaves_its_place_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut job, of_job) = ordered(&folder, "true", Standing::Running).await;
    fs::remove_dir_all(of_job.path()).expect("removed");
    assert_eq!(job.wait().await.expect("an end"), JobEnd::Unknown);
    assert_eq!(job.end(Duration::ZERO).await, Ending::OutOfReach);
}

/// Takes over a job whose folder somebody removed, where the engine says this of it.
async fn adopted_without_folder(standing: Standing) -> (TempDir, Box<dyn Job>) {
    let folder = tempfile::tempdir().expect("a folder");
    let jobs = folder.path().join("jobs");
    let engine = RemoteEngine::new(Arc::new(Silent(standing)), jobs, None);
    let handle = JobHandle::new("silent", &serde_json::json!({"folder": "job-x"}));
    let job = engine.adopt(Some(&handle), &[]).await;
    assert!(!job.is_running().await);
    (folder, job)
}

#[tokio::test]
async fn a_job_whose_folder_is_gone_goes_on_as_long_as_its_engine_has_it() {
    let (_folder, mut job) = adopted_without_folder(Standing::Running).await;
    let some_looks = Duration::from_millis(500);
    assert!(tokio::time::timeout(some_looks, job.wait()).await.is_err());
    let (_folder, mut job) = adopted_without_folder(gone()).await;
    assert_eq!(job.wait().await.expect("an end"), JobEnd::Unknown);
    assert_eq!(job.end(Duration::ZERO).await, Ending::Gone(0));
}

#[tokio::test]
async fn a_program_that_goes_well_as_its_place_is_taken_away_is_not_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_job, of_job) = ordered(&folder, "exit 0", Standing::Running).await;
    let end = run_copy(&of_job, copy(0), std::future::ready(())).await;
    assert_eq!(end.expect("run"), CopyEnd::Done);
    let how = of_job.state().map(|state| match state {
        State::Ended(ended) => Some(ended.how),
        State::Ordered | State::Running(_) => None,
    });
    assert_eq!(how.expect("told"), Some(How::Evicted));
}

#[tokio::test]
async fn a_program_that_ends_as_its_place_is_taken_away_has_not_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo > ended; exit 143";
    let (_job, of_job) = ordered(&folder, script, Standing::Running).await;
    let ended = folder.path().join("ended");
    // The engine tells all of a job at once, and the program may be the first that hears it.
    let evicted = async {
        while !ended.exists() {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let end = run_copy(&of_job, copy(0), evicted).await.expect("run");
    assert_eq!(end, CopyEnd::Done);
    assert!(matches!(
        of_job.state(),
        Ok(State::Ended(Ended {
            how: How::Evicted,
            ..
        }))
    ));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let jobs = folder.path().join("jobs");
    let engine = RemoteEngine::new(Arc::new(Loopback::default()), jobs, None);
    let command = TreeCommand {
        program: "/nowhere/agent".into(),
        ..command(folder.path(), "")
    };
    let mut job = engine.start(&command).await.expect("ordered");
    let error = job.wait().await.expect_err("there is no such program");
    assert!(matches!(error, Error::Start { .. }), "{error:?}");
    assert!(error.with_causes().contains("/nowhere/agent"), "{error:?}");
}

#[test]
fn an_order_has_what_the_command_has_whatever_bytes_and_only_its_owner_reads_it() {
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let odd = std::ffi::OsString::from_vec(vec![b'a', 0xff, b'b']);
    let command = TreeCommand {
        arguments: vec![odd.clone()],
        environment: vec![("SECRET".into(), odd.clone())],
        stdin: crate::process::Stdin::File(odd.clone().into()),
        ..command(folder.path(), "true")
    };
    let label = Label {
        engine: "silent".to_owned(),
        env_markers: Vec::new(),
        program: String::new(),
        working_folder: String::new(),
    };
    let job_folder = JobFolder::new(folder.path(), &label).expect("made");
    job_folder
        .order(&Order::new(&command, None, VariablesOf::Tm))
        .expect("written");
    let file = job_folder.path().join("order.json");
    let mode = file.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let order: Order = job_folder.take_order().expect("read");
    assert!(!file.exists());
    let (read, _) = order.here().expect("of this version");
    assert_eq!(read.arguments, std::slice::from_ref(&odd));
    assert_eq!(read.stdin, crate::process::Stdin::File(odd.clone().into()));
    assert!(read.environment.contains(&("SECRET".into(), odd)));
    assert!(matches!(job_folder.state(), Ok(State::Ordered)));
}

#[tokio::test]
async fn an_engine_ends_no_job_of_another_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (job, job_folder) = ordered(&folder, "true", Standing::Running).await;
    let jobs = folder.path().join("jobs");
    let other = RemoteEngine::new(Arc::new(Loopback::default()), jobs.clone(), None);
    other.clear().await;
    assert!(job.is_running().await);
    assert!(job_folder.path().exists());
    let own = RemoteEngine::new(Arc::new(Silent(gone())), jobs, None);
    own.clear().await;
    assert!(!job_folder.path().exists());
}

#[tokio::test]
async fn a_copy_that_its_engine_has_surely_ended_is_lost_and_not_out_of_reach() {
    for (standing, ending) in [
        (surely_gone(), Ending::Gone(0)),
        (gone(), Ending::OutOfReach),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut job, job_folder) = ordered(&folder, "true", standing).await;
        let taken = job_folder.take_lease(&Lease::Copy(copy(0)));
        assert!(taken.expect("a lease"));
        assert_eq!(job.wait().await.expect("it is over"), JobEnd::Unknown);
        assert_eq!(job.end(Duration::ZERO).await, ending);
    }
}
