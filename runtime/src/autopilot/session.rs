//! One run of one checkout while a command works on it: locked, loaded, saved.
//!
//! `state.json` is written first and is the truth; whatever a crash leaves stale beside it is written again by the
//! next command that changes the run.

use super::answers::WorkUnit;
use super::decides::{assert_as_begun, what_decides};
use super::error::Error;
use super::project::Project;
use super::report::markdown;
use super::state::RunState;
use super::units as ledger;
use crate::now;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::slice::from_ref;
use std::time::Duration;
use tm_scheduler::autopilot::{Order, Stage};
use tm_scheduler::{BranchName, RunId, Status, Tag, Task, TaskId};
use tm_store::autopilot::{AutopilotLock, AutopilotRun, PointerStatus};
use tm_store::backlog::{BacklogError, RollUp, StatusChange, stamp};
use tm_store::run::{read_json, write_json, write_text};

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
    pub(super) fn open(project: &'a Project) -> Result<Self, Error> {
        let id = if let Some(id) = &project.environment.run {
            id.clone()
        } else {
            let own = project.current_runs(&project.folder)?;
            let known = [own, project.folder.current_runs()?].concat();
            let current = known.into_iter().next().ok_or(Error::NoRun)?;
            project.refuse_of_another(&current.run_id, current.repository.as_ref())?;
            current.run_id
        };
        Self::of(project, id)
    }

    pub(super) fn of(project: &'a Project, id: RunId) -> Result<Self, Error> {
        let run = project.folder.run(&id).ok();
        let run = run.filter(|run| run.state().exists());
        let run = run.ok_or(Error::UnknownRun(id))?;
        let mut state = read_json::<RunState>(&run.state())?.checked()?;
        if let Some(tag) = renamed(project, &state) {
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
        write_json(&run.manifest(), &state.manifest(project.root()))?;
        let commits = state.commits();
        let lines = commits.iter().flat_map(|commit| [commit.as_str(), "\n"]);
        write_text(&run.commits(), &lines.collect::<String>())?;
        let units: Vec<Value> = read_json(&run.work_units()).unwrap_or_default();
        let units = ledger::file(&state.work_units, unit, &units);
        write_json(&run.work_units(), &units)?;
        if state.machine.is_over() {
            write_text(&run.report(), &markdown(state, run))?;
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
        let state = &self.state;
        let backlog = self.project.backlog(Some(&state.tag)).ok();
        let tasks = backlog.map(|(_, backlog)| backlog.tasks);
        let mut tasks = tasks.into_iter().flatten();
        let found = tasks.find(|task| task.id == state.task_id);
        found.unwrap_or_else(|| Task::new(state.task_id.clone(), state.task_title.clone()))
    }
}

/// Returns a subtask of a task, or the task itself where it is its own only piece of work.
pub(super) fn piece(task: &Task, id: &TaskId, title: &str) -> Task {
    let mut all = Task::with_subtasks(from_ref(task));
    let found = all.find(|piece| piece.id == *id).cloned();
    found.unwrap_or_else(|| Task::new(id.clone(), title))
}

/// A run that is open for changing; other commands of the checkout wait.
#[derive(Debug)]
pub(super) struct Session<'a> {
    open: OpenRun<'a>,
    _lock: AutopilotLock,
}

impl<'a> Deref for Session<'a> {
    type Target = OpenRun<'a>;

    fn deref(&self) -> &OpenRun<'a> {
        &self.open
    }
}

impl DerefMut for Session<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.open
    }
}

impl<'a> Session<'a> {
    /// Takes the lock of a checkout.
    pub(super) fn lock(project: &Project) -> Result<AutopilotLock, Error> {
        Ok(AutopilotLock::acquire(&project.folder, PATIENCE)?)
    }

    /// Opens the run that is named, or the current one, to go on with it.
    pub(super) fn open(project: &'a Project) -> Result<Self, Error> {
        let session = Self::open_to_end(project)?;
        let now = what_decides(project, &session.task());
        assert_as_begun(&session.state.decides, &now)?;
        Ok(session)
    }

    /// Opens it to stop it, or to give it up, whatever decides on it by now.
    pub(super) fn open_to_end(project: &'a Project) -> Result<Self, Error> {
        let lock = Self::lock(project)?;
        let open = OpenRun::open(project)?;
        project.refuse_of_another(&open.state.run_id, open.state.repository.as_ref())?;
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

    /// Writes the state, then everything that follows from it, then what happened.
    pub(super) fn save(&mut self, events: &[Value]) -> Result<(), Error> {
        let now = now();
        let unit = self.unit_under_way();
        let state = &mut self.state;
        state.updated_at = now;
        if state.machine.is_over() {
            state.ended_at.get_or_insert(now);
        }
        if let Some(unit) = &unit {
            ledger::hand_out(&mut state.work_units, unit);
        }
        state.take_events(events);
        write_json(&self.run.state(), &self.state.file(unit.as_ref()))?;
        self.write_what_follows(unit.as_ref())
    }

    /// Refuses a checkout that is not on the run's branch.
    pub(super) fn assert_on_branch(&self) -> Result<BranchName, Error> {
        let branch = &self.state.branch;
        self.project.repository.assert_on(branch)?;
        Ok(branch.clone())
    }

    /// Writes statuses into the backlog; a task that is not there any more is left out.
    pub(super) fn set_statuses(&self, wanted: &[(TaskId, Status)]) -> Result<(), Error> {
        let (source, backlog) = self.project.backlog(Some(&self.state.tag))?;
        let known: BTreeMap<&TaskId, &Status> = Task::with_subtasks(&backlog.tasks)
            .map(|task| (&task.id, &task.status))
            .collect();
        let is_other =
            |(id, status): &&(TaskId, Status)| known.get(id).is_some_and(|known| *known != status);
        let change = |(id, status): &(TaskId, Status)| StatusChange {
            id: id.clone(),
            status: status.clone(),
        };
        let changes: Vec<StatusChange> = wanted.iter().filter(is_other).map(change).collect();
        if !changes.is_empty() {
            source.set_statuses(&backlog.tag, &changes, RollUp::None, Some(&stamp(now())))?;
        }
        Ok(())
    }

    /// The statuses that say what is under way: the task, and the subtask at hand.
    pub(super) fn under_way(&self) -> Vec<(TaskId, Status)> {
        [&self.state.task_id]
            .into_iter()
            .chain(self.state.machine.current().map(|item| &item.id))
            .map(|id| (id.clone(), Status::InProgress))
            .collect()
    }
}

/// Pauses every other run of the checkout that goes on with the next call, so that at most one does.
pub(super) fn pause_others(project: &Project, keep: &RunId) -> Result<(), Error> {
    for current in project.current_runs(&project.folder)? {
        if current.run_id == *keep || current.status != PointerStatus::InProgress {
            continue;
        }
        let mut other = OpenRun::of(project, current.run_id)?;
        if !matches!(other.state.machine.stage(), Stage::Paused { .. }) {
            other.state.machine.handle(&Order::Pause)?;
        }
        other.state.updated_at = now();
        other
            .state
            .take_events(&[json!({"event": "run:paused", "why": "another run goes on"})]);
        write_json(&other.run.state(), &other.state.file(None))?;
        other.write_what_follows(None)?;
    }
    Ok(())
}

/// Returns the tag's new name where the tag of a run is gone and exactly one other one has its task; `None` otherwise.
fn renamed(project: &Project, state: &RunState) -> Option<Tag> {
    let gone = project.backlog(Some(&state.tag)).err()?;
    if !matches!(gone, Error::Backlog(BacklogError::UnknownTag { .. })) {
        return None;
    }
    let (_, backlog) = project.backlog(None).ok()?;
    let holds = |tag: &Tag| {
        let backlog = project.backlog(Some(tag));
        backlog.is_ok_and(|(_, backlog)| holds(&backlog.tasks, state))
    };
    backlog.tags.into_iter().filter(holds).exactly_one().ok()
}

/// Whether these tasks are those that the run was started from: its task under its title, with all of its pieces.
fn holds(tasks: &[Task], state: &RunState) -> bool {
    let is_of_run = |task: &&Task| task.id == state.task_id && task.title == *state.task_title;
    let Some(task) = tasks.iter().find(is_of_run) else {
        return false;
    };
    let is_there = |id: &TaskId| Task::with_subtasks(from_ref(task)).any(|piece| piece.id == *id);
    state.machine.items().iter().all(|item| is_there(&item.id))
}
