//! Runs that were interrupted: found, put together again, or put aside. Knows nothing of what people see of a run.

use crate::after::AfterRun;
use crate::error::Error;
use crate::holding::command_line;
use crate::notes::note;
use crate::plan::limits;
use crate::project::{KnownRun, Project};
use crate::report::{whole_summary, write_reports};
use crate::setup::{Begins, History, run_setup};
use serde::{Deserialize, Serialize};
use tm_config::Override;
use tm_runtime::Run;
use tm_runtime::steering::Steer;
use tm_scheduler::{CommitId, Limits, RunStatus, Scheduler, State, StopMode, TaskView, Timestamp};
use tm_store::run::{RunDirectory, read_json};
use tokio::sync::mpsc;

/// What a run was started with, for taking it up and for people: `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    version: u32,
    tm_version: String,
    command_line: Vec<String>,
    overrides: Vec<Override>,
    /// What is done when the run is over; manifests of before say nothing of it.
    #[serde(default)]
    pub(crate) after: AfterRun,
}

impl Manifest {
    /// Returns what a run is started with now.
    pub(crate) fn new(project: &Project, after: AfterRun) -> Self {
        Self {
            version: 1,
            tm_version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: command_line().collect(),
            overrides: project.given.clone(),
            after,
        }
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
        tests_at_once: now.tests_at_once,
        deadline: now.deadline,
        max_cost_usd: now.max_cost_usd,
        max_tokens: now.max_tokens,
        max_cost_usd_per_task: now.max_cost_usd_per_task,
        max_tokens_per_task: now.max_tokens_per_task,
        breaker: now.breaker,
        land_batch: now.land_batch,
        ..before.clone()
    }
}

/// The merges that have landed, the oldest first where that can be told.
pub(crate) fn landed(scheduler: &Scheduler) -> Vec<CommitId> {
    let mut merges: Vec<_> = scheduler.tasks().filter_map(merge).collect();
    merges.sort();
    merges.into_iter().map(|(_, merge)| merge).collect()
}

/// The merge by which a task has landed, and when its last attempt ended.
fn merge(view: TaskView<'_>) -> Option<(Option<Timestamp>, CommitId)> {
    match view.state {
        State::Landed { merge, .. } => Some((view.attempts.last()?.ended_at(), merge.clone())),
        _ => None,
    }
}

/// The work that was landing.
fn landing(scheduler: &Scheduler) -> Vec<CommitId> {
    let commit = |view: TaskView<'_>| match view.state {
        State::Landing { commit } => Some(commit.clone()),
        _ => None,
    };
    scheduler.tasks().filter_map(commit).collect()
}

pub(crate) fn is_at_work(run: &Scheduler) -> bool {
    run.tasks().any(|view| view.state.has_worktree())
}

/// Ends what an interrupted run has left running, and keeps its work in progress.
pub(crate) async fn end(project: &Project, run: KnownRun) -> Result<(), Error> {
    let (header, directory) = (run.replayed.header.clone(), run.directory.clone());
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
    note(&project, &header, &directory);
    write_reports(&project, &directory, &summary)
}

/// Opens the project with the settings that a run was started with, and those that are given now.
pub(crate) fn as_started(project: &Project, directory: &RunDirectory) -> Result<Project, Error> {
    let manifest: Manifest = read_json(&directory.manifest())?;
    let overrides = [manifest.overrides, project.given.clone()].concat();
    Project::open(project.root(), overrides, project.caller)
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
    let backlog = project.backlog_of(&header)?;
    let begins = Begins::Again(&history);
    let setup = Box::pin(run_setup(project, (header, directory), backlog, begins)).await?;
    limits.agents = setup.agents.roster(&setup.header.run_id);
    Ok(Run::resume(setup, replayed, limits)?)
}
