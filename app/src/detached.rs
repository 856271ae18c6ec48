//! A run of waves in a process of its own, which outlives whoever asked for it.

use crate::error::Error;
use crate::plan_order::PlanOrder;
use crate::project::{Caller, Project};
use crate::proving_again::JournalTrust;
use crate::run::{Ended, RunOf, Session};
use crate::{AfterRun, Waiting};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tm_config::Override;
use tm_executors::process::{Detached, TreeCommand};
use tm_runtime::preflight::BrokenBase;
use tm_scheduler::RunId;
use tm_store::run::{ProjectDirectory, RunLock, digest, read_json, write_json};

/// How often it is looked whether a run is under way.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const ORDER: &str = "order.json";
const REFUSAL: &str = "refusal.json";

/// What is to be run; a run that was cut off is taken up instead.
#[derive(Debug, Serialize, Deserialize)]
struct DetachedOrder {
    start: PathBuf,
    given: Vec<Override>,
    plan: PlanOrder,
    broken: BrokenBase,
    /// The digest of the settings that whoever ordered it has read.
    settings: String,
}

/// A run that goes on, whatever becomes of this value.
#[derive(Debug)]
pub struct DetachedRun {
    process: Detached,
    project: ProjectDirectory,
    folder: TempDir,
}

/// Starts a run that outlives this process: `program` is told by `word` that it is to carry one out, and in which folder
/// it finds what.
///
/// # Errors
/// It can't be started.
pub fn start(
    project: &Project,
    (program, word): (&Path, &str),
    plan: PlanOrder,
    broken: BrokenBase,
) -> Result<DetachedRun, Error> {
    let start = project.repository.checkout_root();
    let order = DetachedOrder {
        start: start.to_owned(),
        given: project.given.clone(),
        plan,
        broken,
        settings: settings_of(project),
    };
    let folder = tempfile::Builder::new()
        .prefix("detached-")
        .tempdir_in(project.directory.path())?;
    write_json(&folder.path().join(ORDER), &order)?;
    let command = TreeCommand {
        program: program.into(),
        arguments: vec![word.into(), folder.path().into()],
        working_folder: start.to_owned(),
        // Its events are in the folder of the run.
        stdout: PathBuf::from("/dev/null"),
        stderr: folder.path().join("stderr"),
        ..TreeCommand::default()
    };
    Ok(DetachedRun {
        process: Detached::spawn(&command)?,
        project: project.directory.clone(),
        folder,
    })
}

impl DetachedRun {
    /// Waits until the run has its name; `None` where it is over before anybody could see that.
    ///
    /// # Errors
    /// Its process can't be waited for.
    pub async fn under_way(&mut self) -> Result<Option<RunId>, Error> {
        loop {
            let holder = RunLock::holder(&self.project).ok().flatten();
            let own = holder.filter(|holder| holder.pid == Some(self.process.pid()));
            if let Some(id) = own.and_then(|holder| holder.run_id) {
                return Ok(Some(id));
            }
            tokio::select! {
                ended = self.process.wait() => return ended.map(|_| None).map_err(Into::into),
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Waits for its end; returns what was said where it came to nothing.
    ///
    /// # Errors
    /// Its process can't be waited for.
    pub async fn ended(&mut self) -> Result<Option<Value>, Error> {
        self.process.wait().await?;
        Ok(read_json(&self.folder.path().join(REFUSAL)).ok())
    }

    /// Returns the file that tells its events.
    ///
    /// # Errors
    /// It has another name than runs have.
    pub fn activity(&self, id: &RunId) -> Result<PathBuf, Error> {
        Ok(self.project.run(id)?.activity())
    }
}

/// Carries out what a folder tells, in the process that was started for it; `None` where there was nothing to run.
///
/// # Errors
/// The run can't begin, or can't go on.
pub async fn run(
    folder: &Path,
    caller: Caller,
    begins: impl FnOnce(&RunOf),
) -> Result<Option<Ended>, Error> {
    let DetachedOrder {
        start,
        given,
        plan,
        broken,
        settings,
    } = read_json(&folder.join(ORDER))?;
    tm_worktrees::check_git(&start)?;
    let project = Project::open(&start, given, caller)?;
    // Whoever calls the server may write them while this process begins.
    if settings_of(&project) != settings {
        return Err(tm_config::Error::Changed.into());
    }
    let mut session = Session::open(project, AfterRun::default(), Waiting::Refuse).await?;
    let ready = if let Some(interrupted) = session.interrupted()? {
        session.resume(interrupted, JournalTrust::Proven).await?
    } else {
        let planned = session.plan(&plan)?;
        if planned.plan.tasks.is_empty() {
            return Ok(None);
        }
        session.begin(planned, broken).await?
    };
    begins(&ready.of);
    Box::pin(session.run(ready, |_, _, _| {})).await.map(Some)
}

fn settings_of(project: &Project) -> String {
    let settings = serde_json::to_vec(&project.loaded.settings);
    digest(settings.expect("settings are read from such text"))
}

/// Leaves word, for whoever started this process, of why it came to nothing.
pub fn leave(folder: &Path, refusal: &impl Serialize) {
    // Whoever started it may have gone, and the folder with it.
    let _nobody_reads = write_json(&folder.join(REFUSAL), refusal);
}
