//! Runs that were interrupted: found, put together again, or put aside. Knows nothing of what people see of a run.

use crate::after::AfterRun;
use crate::error::Error;
use crate::notice::Notice;
use crate::plan::limits;
use crate::project::{KnownRun, Project};
use crate::report::{whole_summary, write_reports};
use crate::setup::{Begins, History, run_setup};
use serde::{Deserialize, Serialize};
use tm_config::Override;
use tm_runtime::steering::Steer;
use tm_runtime::{Run, replay};
use tm_scheduler::{CommitId, Limits, RunStatus, Scheduler, State, StopMode, TaskView, Timestamp};
use tm_store::run::{RunDirectory, read_json};
use tokio::sync::mpsc;

/// What a run was started with, for taking it up and for people: `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) tm_version: String,
    pub(crate) command_line: Vec<String>,
    pub(crate) overrides: Vec<Override>,
    /// What is done when the run is over; manifests of before say nothing of it.
    #[serde(default)]
    pub(crate) after: AfterRun,
}

/// Returns the last run when it can be taken up.
pub(crate) fn interrupted(project: &Project) -> Result<Option<KnownRun>, Error> {
    let Some(id) = project.directory.live()? else {
        return Ok(None);
    };
    let directory = project.directory.run(&id)?;
    match replay(&directory.journal()) {
        Ok(replayed) => {
            let run = KnownRun {
                directory,
                replayed,
            };
            Ok(Some(run).filter(is_resumable))
        }
        // It never began.
        Err(tm_runtime::Error::Store(tm_store::Error::JournalUnstarted { .. })) => Ok(None),
        Err(error) => Err(Error::UnreadableLastRun {
            run: id,
            folder: directory.path().to_owned(),
            error: Box::new(error),
        }),
    }
}

/// A run without a summary lost its process at the very end: the last statuses may not be written yet.
pub(crate) fn is_resumable(run: &KnownRun) -> bool {
    match run.replayed.scheduler.ended() {
        None | Some(RunStatus::Interrupted | RunStatus::Stopped) => true,
        Some(RunStatus::Completed | RunStatus::Failed) => !run.directory.summary_json().exists(),
    }
}

/// The limits of the run, with the slots and the deadline of now.
pub(crate) fn resumed_limits(project: &Project, before: &Limits) -> Limits {
    let now = limits(project);
    let has_slots = project.is_from_flag("waves.max_parallel");
    Limits {
        slots: if has_slots { now.slots } else { before.slots },
        deadline: now.deadline,
        max_cost_usd: now.max_cost_usd,
        max_tokens: now.max_tokens,
        max_cost_usd_per_task: now.max_cost_usd_per_task,
        max_tokens_per_task: now.max_tokens_per_task,
        breaker: now.breaker,
        ..before.clone()
    }
}

/// The merges that have landed, the oldest first where that can be told.
pub(crate) fn landed(scheduler: &Scheduler) -> Vec<CommitId> {
    let landed = |view: TaskView<'_>| match view.state {
        State::Landed { merge, .. } => Some((view.attempts.last()?.ended_at(), merge.clone())),
        _ => None,
    };
    let mut merges: Vec<_> = scheduler.tasks().filter_map(landed).collect();
    merges.sort();
    merges.into_iter().map(|(_, merge)| merge).collect()
}

/// The work that was landing.
fn landing(scheduler: &Scheduler) -> Vec<CommitId> {
    let commit = |view: TaskView<'_>| match view.state {
        State::Landing { commit } => Some(commit.clone()),
        _ => None,
    };
    scheduler.tasks().filter_map(commit).collect()
}

/// Ends what an interrupted run has left running, keeps its work in progress, and leaves the rest as it is.
pub(crate) async fn abandon(project: &Project, run: KnownRun) -> Result<(), Error> {
    let (header, directory) = (run.replayed.header.clone(), run.directory.clone());
    let scheduler = &run.replayed.scheduler;
    if scheduler.tasks().any(|view| view.state.holds_slot()) {
        // A deadline that has passed: nothing is started, and what runs is stopped.
        let limits = Limits {
            deadline: Some(Timestamp(0)),
            ..header.limits.clone()
        };
        let project = as_started(project, &directory)?;
        let run = Box::pin(opened(&project, run, limits)).await?;
        let (sender, steers) = mpsc::unbounded_channel();
        // The other end is here.
        sender.send(Steer::Stop(StopMode::Now)).unwrap_or_default();
        let outcome = Box::pin(run.run(steers, |_, _, _| {})).await?;
        let summary = whole_summary(&project, &outcome.scheduler, &header, outcome.ended_at);
        write_reports(&summary, directory.path())?;
    }
    project.tell(&Notice::PutAside(&header.run_id));
    Ok(())
}

/// Opens the project with the settings that a run was started with, and those that are given now.
pub(crate) fn as_started(project: &Project, directory: &RunDirectory) -> Result<Project, Error> {
    let manifest: Manifest = read_json(&directory.manifest())?;
    let overrides = [manifest.overrides, project.given.clone()].concat();
    let root = project.repository.checkout_root();
    Project::open(root, overrides, project.caller)
}

/// Puts an interrupted run together again, in the project as it was started.
pub(crate) async fn opened(
    project: &Project,
    run: KnownRun,
    mut limits: Limits,
) -> Result<Run, Error> {
    let KnownRun {
        directory,
        replayed,
    } = run;
    let header = replayed.header.clone();
    let history = History {
        landed: landed(&replayed.scheduler),
        landing: landing(&replayed.scheduler),
    };
    let run_id = header.run_id.clone();
    let backlog = project.backlog_of(&header)?;
    let setup = run_setup(
        project,
        (header, directory),
        backlog,
        Begins::Again(&history),
    )
    .await?;
    limits.agents = setup.agents.roster(&run_id);
    Ok(Run::resume(setup, replayed, limits)?)
}
