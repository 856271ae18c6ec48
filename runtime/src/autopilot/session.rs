//! One run of one checkout while a command works on it: locked, loaded, saved.
//!
//! `state.json` is written first and is the truth; whatever a crash leaves stale beside it is written again by the
//! next command that changes the run.

use super::answers::WorkUnit;
use super::error::Error;
use super::ledger;
use super::project::Project;
use super::report;
use super::state::RunState;
use super::tag;
use crate::now;
use serde_json::{Value, json};
use std::time::Duration;
use tm_scheduler::autopilot::{Order, Stage};
use tm_scheduler::{RunId, Status, Task, TaskId};
use tm_store::autopilot::{AutopilotLock, AutopilotRun, PointerStatus};
use tm_store::backlog::{RollUp, StatusChange, stamp};
use tm_worktrees::BranchName;

/// So long a command waits for another one of the same checkout.
const PATIENCE: Duration = Duration::from_secs(30);

/// A run that is open for reading.
#[derive(Debug)]
pub(super) struct OpenRun<'a> {
    pub(super) project: &'a Project,
    pub(super) run: AutopilotRun,
    pub(super) state: RunState,
}

impl<'a> OpenRun<'a> {
    /// Opens the run that is named, or the current one.
    pub(super) fn open(project: &'a Project, id: Option<&RunId>) -> Result<Self, Error> {
        let id = match id {
            Some(id) => id.clone(),
            None => {
                project
                    .folder
                    .current_runs()?
                    .into_iter()
                    .next()
                    .ok_or(Error::NoRun)?
                    .run_id
            }
        };
        let run = project
            .folder
            .run(&id)
            .map_err(|_| Error::UnknownRun(id.clone()))?;
        if !run.state_file().exists() {
            return Err(Error::UnknownRun(id));
        }
        let mut state = run.state::<RunState>()?.checked()?;
        if let Some(tag) = tag::renamed(project, &state) {
            state.tag = tag;
        }
        Ok(Self {
            project,
            run,
            state,
        })
    }

    /// Writes everything that follows from the state.
    fn write_what_follows(&self, unit: Option<&WorkUnit>) -> Result<(), Error> {
        let Self {
            project,
            run,
            state,
        } = self;
        run.set_manifest(&state.manifest(project.root()))?;
        run.set_commits(&state.commits())?;
        run.set_work_units(&ledger::file(&state.work_units, unit, &run.work_units()))?;
        if state.machine.is_over() {
            run.set_report(&report::markdown(state, run))?;
        }
        project.folder.point(&state.pointer())?;
        run.append(state.updated_at, &state.last_events)?;
        Ok(())
    }

    /// Returns the piece of work under way; none where git can't tell, which the next call does.
    fn unit_under_way(&self) -> Option<WorkUnit> {
        self.work_unit(&self.state.machine.next()).ok().flatten()
    }

    /// Returns the task of the run as the backlog has it now, or as much of it as the run remembers.
    pub(super) fn task(&self) -> Task {
        let backlog = self.project.backlog(Some(&self.state.tag)).ok();
        let found = backlog.and_then(|(_, backlog)| {
            backlog
                .tasks
                .into_iter()
                .find(|task| task.id == self.state.task_id)
        });
        found
            .unwrap_or_else(|| Task::new(self.state.task_id.clone(), self.state.task_title.clone()))
    }
}

/// Returns a subtask of a task, or the task itself where it is its own only piece of work.
pub(super) fn piece(task: &Task, id: &TaskId, title: &str) -> Task {
    if task.id == *id {
        return task.clone();
    }
    let found = task.subtasks.iter().find(|subtask| subtask.id == *id);
    found
        .cloned()
        .unwrap_or_else(|| Task::new(id.clone(), title))
}

/// A run that is open for changing; other commands of the checkout wait.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) open: OpenRun<'a>,
    _lock: AutopilotLock,
}

impl<'a> Session<'a> {
    /// Takes the lock of a checkout.
    pub(super) fn lock(project: &Project) -> Result<AutopilotLock, Error> {
        Ok(AutopilotLock::acquire(&project.folder, PATIENCE)?)
    }

    /// Opens the run that is named, or the current one.
    pub(super) fn open(project: &'a Project, id: Option<&RunId>) -> Result<Self, Error> {
        let lock = Self::lock(project)?;
        let open = OpenRun::open(project, id)?;
        if open.run.last_event() < open.state.event_count {
            // A crash came between the state and what follows from it.
            open.write_what_follows(open.unit_under_way().as_ref())?;
        }
        Ok(Self { open, _lock: lock })
    }

    /// Takes a run whose lock is held already.
    pub(super) const fn with(open: OpenRun<'a>, lock: AutopilotLock) -> Self {
        Self { open, _lock: lock }
    }

    pub(super) const fn project(&self) -> &'a Project {
        self.open.project
    }

    /// Writes the state, then everything that follows from it, then what happened.
    pub(super) fn save(&mut self, events: &[Value]) -> Result<(), Error> {
        let now = now();
        let unit = self.open.unit_under_way();
        let state = &mut self.open.state;
        state.updated_at = now;
        if state.machine.is_over() {
            state.ended_at.get_or_insert(now);
        }
        if let Some(unit) = &unit {
            ledger::hand_out(&mut state.work_units, unit);
        }
        state.take_events(events);
        self.open
            .run
            .set_state(&self.open.state.file(unit.as_ref()))?;
        self.open.write_what_follows(unit.as_ref())
    }

    /// Refuses a checkout that is not on the run's branch.
    pub(super) fn assert_on_branch(&self) -> Result<BranchName, Error> {
        let branch = BranchName::new(self.open.state.branch.clone())?;
        self.project().checkout.assert_on(&branch)?;
        Ok(branch)
    }

    /// Writes statuses into the backlog; a task that is not there any more is left out.
    pub(super) fn set_statuses(&self, wanted: &[(TaskId, Status)]) -> Result<(), Error> {
        let (source, backlog) = self.project().backlog(Some(&self.open.state.tag))?;
        let known = |id: &TaskId| {
            backlog.tasks.iter().find_map(|task| {
                let all = std::iter::once(task).chain(&task.subtasks);
                all.into_iter()
                    .find(|task| task.id == *id)
                    .map(|task| task.status.clone())
            })
        };
        let changes: Vec<StatusChange> = wanted
            .iter()
            .filter(|(id, status)| known(id).is_some_and(|old| old != *status))
            .map(|(id, status)| StatusChange {
                id: id.clone(),
                status: status.clone(),
            })
            .collect();
        if !changes.is_empty() {
            source.set_statuses(&backlog.tag, &changes, RollUp::None, Some(&stamp(now())))?;
        }
        Ok(())
    }

    /// The statuses that say what is under way: the task, and the subtask at hand.
    pub(super) fn under_way(&self) -> Vec<(TaskId, Status)> {
        let state = &self.open.state;
        let current = state.machine.current().map(|item| item.id.clone());
        std::iter::once(state.task_id.clone())
            .chain(current)
            .map(|id| (id, Status::InProgress))
            .collect()
    }
}

/// Pauses every other run of the checkout that goes on with the next call, so that at most one does.
pub(super) fn pause_others(project: &Project, keep: &RunId) -> Result<(), Error> {
    for current in project.folder.current_runs()? {
        if current.run_id == *keep || current.status != PointerStatus::InProgress {
            continue;
        }
        let mut other = OpenRun::open(project, Some(&current.run_id))?;
        if !matches!(other.state.machine.stage(), Stage::Paused { .. }) {
            other.state.machine.handle(&Order::Pause)?;
        }
        other.state.updated_at = now();
        other
            .state
            .take_events(&[json!({"event": "run:paused", "why": "another run goes on"})]);
        other.run.set_state(&other.state.file(None))?;
        other.write_what_follows(None)?;
    }
    Ok(())
}
