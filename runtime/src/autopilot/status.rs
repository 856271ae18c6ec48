//! How a run stands, and the report of one that is over. Changes nothing.

use super::answers::{StatusView, SubtaskStatus};
use super::error::Error;
use super::project::Project;
use super::session::OpenRun;
use super::state::commit_of;
use crate::now;
use std::path::PathBuf;
use tm_scheduler::RunId;
use tm_scheduler::autopilot::{Progress, WorkItem};
use tm_store::autopilot::PointerStatus;
use tm_store::backlog::stamp;

/// Returns how the run that is named stands, or the current one; `None` when there has been none.
///
/// # Errors
/// There is no run of that name, or its files can't be read.
pub fn status(project: &Project) -> Result<Option<StatusView>, Error> {
    match OpenRun::open(project) {
        Ok(open) => Ok(Some(view(&open))),
        Err(Error::NoRun) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the project for calls about the run itself, whatever becomes the current one meanwhile, and its log of events.
///
/// # Errors
/// There is no such run.
pub fn watched(project: &Project) -> Result<(Project, PathBuf), Error> {
    let open = OpenRun::open(project)?;
    Ok((
        project.with_run(open.state.run_id.clone()),
        open.run.activity(),
    ))
}

/// Returns the run that waves would disturb, and its checkout: one that goes on with the next call, in any checkout of
/// the repository, since all of them work off one backlog.
///
/// # Errors
/// The files of a checkout's runs can't be read.
pub fn under_way(project: &Project) -> Result<Option<(RunId, PathBuf)>, Error> {
    let mut runs = project.all_runs()?.into_iter();
    let found = runs.find(|(run, _)| run.status == PointerStatus::InProgress);
    Ok(found.map(|(run, root)| (run.run_id, root)))
}

fn view(open: &OpenRun<'_>) -> StatusView {
    let state = &open.state;
    let (attempt_number, _) = state.attempts();
    let until = state.ended_at.unwrap_or_else(now);
    let subtask = |item| subtask(item, state.machine.current());
    StatusView {
        active: true,
        run_id: state.run_id.to_string(),
        task_id: state.task_id.to_string(),
        task_title: state.task_title.clone(),
        status: state.status().as_str().to_owned(),
        tag: state.tag.to_string(),
        branch_name: state.branch.clone(),
        phase: state.phase().to_owned(),
        tdd_phase: state.tdd_phase().map(ToOwned::to_owned),
        current_subtask: state.current(),
        current_phase: state.current_phase(),
        attempt_number,
        max_attempts: state.max_attempts(),
        progress: state.progress(),
        subtasks: state.machine.items().iter().map(subtask).collect(),
        commits: state.commits().len(),
        start_time: stamp(state.started_at),
        end_time: state.ended_at.map(stamp),
        duration: duration(until.since(state.started_at)),
        last_test_results: state.last_test_results.clone(),
        run_directory: open.run.path().display().to_string(),
        next_command: open.project.call(&state.machine.next()),
    }
}

fn subtask(item: &WorkItem, current: Option<&WorkItem>) -> SubtaskStatus {
    let status = match item.progress {
        Progress::Committed(_) => "completed",
        Progress::Skipped => "skipped",
        Progress::Open if current.is_some_and(|current| current.id == item.id) => "in-progress",
        Progress::Open => "pending",
    };
    SubtaskStatus {
        id: item.id.to_string(),
        title: item.title.clone(),
        status: status.to_owned(),
        commit: commit_of(&item.progress).map(ToString::to_string),
    }
}

/// Milliseconds as `1h 5m`, `5m 30s` or `30s`.
fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}
