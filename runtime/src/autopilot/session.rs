//! One run of one checkout while a command works on it: locked, loaded, saved.
//!
//! `state.json` is written first and is the truth; whatever a crash leaves stale beside it is written again by the
//! next command that changes the run.

use super::answers::WorkUnit;
use super::decides::{Deciding, assert_as_begun, what_decides};
use super::error::Error;
use super::note::{Began, Note};
use super::project::Project;
use super::report::markdown;
use super::state::RunState;
use super::units as ledger;
use crate::now;
use itertools::Itertools as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::slice::from_ref;
use std::time::Duration;
use tm_executors::testing::TestCommand;
use tm_scheduler::{BranchName, RunId, Status, Tag, Task, TaskId};
use tm_store::autopilot::{AutopilotFolder, AutopilotLock, AutopilotRun};
use tm_store::backlog::{BacklogError, RollUp, StatusChange, stamp};
use tm_store::run::{
    digest, json_bytes, read_json, read_json_and_bytes, write_bytes, write_json, write_text,
};

/// So long a command waits for another one of the same checkout.
const PATIENCE: Duration = Duration::from_secs(30);

/// A run that is open for reading.
#[derive(Debug)]
pub(super) struct OpenRun<'a> {
    pub(super) project: &'a Project,
    pub(super) run: AutopilotRun,
    pub(super) state: RunState,
    /// Where it lies.
    pub(super) folder: AutopilotFolder,
    /// The note of its beginning; none of a run that is over, that an earlier tm began, or that nobody did.
    note: Option<Note>,
    /// The digest of the state as it lies there.
    written: Option<String>,
}

impl<'a> OpenRun<'a> {
    /// Returns a run that begins; nothing of it is written.
    pub(super) fn new(
        project: &'a Project,
        run: AutopilotRun,
        state: RunState,
        decides: Deciding,
    ) -> Self {
        let digests = decides.digests;
        let (current, began) = (state.pointer(), state.began());
        let note = Note::new(current, project.folder.clone(), began, digests);
        Self {
            project,
            run,
            state,
            folder: project.folder.clone(),
            note: Some(note),
            written: None,
        }
    }

    /// Opens the run that is named, or the current one.
    pub(super) fn open(project: &'a Project) -> Result<Self, Error> {
        Self::of(project, project.current_run()?)
    }

    /// Opens a run where its note says that it lies, and nothing in the checkout; one without a note where the settings do.
    pub(super) fn of(project: &'a Project, id: RunId) -> Result<Self, Error> {
        let note = project.notes.of(&id)?;
        let noted = note.as_ref().map(|note| &note.folder);
        let folder = noted.unwrap_or(&project.folder).clone();
        let Ok(run) = folder.run(&id) else {
            return Err(Error::UnknownRun(id));
        };
        let is_known = note.as_ref().is_some_and(|note| note.has_begun) || run.state().exists();
        if !is_known {
            return Err(Error::UnknownRun(id));
        }
        let (mut state, bytes) = read_state(&run, &id)?;
        if let Some(tag) = renamed(project, &state) {
            state.tag = tag;
        }
        Ok(Self {
            project,
            run,
            state,
            folder,
            note,
            written: Some(digest(bytes)),
        })
    }

    /// What tells the repository of the run, by its note where it has one.
    pub(super) fn repository(&self) -> Option<&String> {
        match &self.note {
            Some(note) => note.current.repository.as_ref(),
            None => self.state.repository.as_ref(),
        }
    }

    /// Whether what the state says of branch and statuses is tm's own word: its note vouches for it, or the run is over and
    /// lies where notes do.
    pub(super) fn is_vouched_for(&self) -> bool {
        let without_note =
            || self.state.machine.is_over() && self.project.notes.lie_in(&self.folder);
        let note = self.note.as_ref();
        note.map_or_else(without_note, |note| note.vouches_for(self.written.as_ref()))
    }

    /// Returns where the run works by its note, whatever the state says; `None` where there is none.
    pub(super) fn noted(&self) -> Option<&Began> {
        self.note.as_ref().map(|note| &note.began)
    }

    /// Refuses to go on with a run that nobody began, whose state is none of tm's, or on which something else decides by
    /// now; returns the command of its tests. No step is legal in one that is over, and that is said by the machine.
    fn assert_as_begun(&self) -> Result<Option<TestCommand>, Error> {
        let run = &self.state.run_id;
        if self.state.machine.is_over() {
            return Ok(None);
        }
        let note = self.note.as_ref();
        let note = note.ok_or_else(|| Error::NobodysRun(run.clone()))?;
        if !note.vouches_for(self.written.as_ref()) {
            return Err(Error::StateOtherwise {
                run: run.clone(),
                file: self.run.state(),
            });
        }
        let now = what_decides(self.project, &self.task());
        assert_as_begun(&note.decides, &now.digests)?;
        Ok(now.command)
    }

    /// Writes the state, with the note around it where that vouches for the state that was there: no call makes one of
    /// tm's of a state that is not. The note of a run that is over goes.
    pub(super) fn write_state(&mut self, unit: Option<&WorkUnit>) -> Result<(), Error> {
        let (notes, file) = (&self.project.notes, self.run.state());
        let bytes = json_bytes(&file, &self.state.file(unit))?;
        let (known, next) = (self.written.as_ref(), digest(&bytes));
        let write = || Ok(write_bytes(&file, &bytes)?);
        match &self.note {
            Some(note) if note.vouches_for(known) => {
                let current = self.state.pointer();
                self.note = Some(notes.around(note, current, (known, &next), write)?);
            }
            Some(note) => {
                write()?;
                // Only how far it is: that it was paused was asked for by whoever called.
                self.note = Some(notes.mark(note, self.state.status())?);
            }
            None => write()?,
        }
        self.written = Some(next);
        if self.state.machine.is_over() {
            notes.remove(&self.state.run_id)?;
            self.note = None;
        }
        Ok(())
    }

    /// Writes everything that follows from the state.
    pub(super) fn write_what_follows(&self, unit: Option<&WorkUnit>) -> Result<(), Error> {
        let Self {
            project,
            run,
            state,
            folder,
            ..
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
        folder.point(&state.pointer())?;
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

/// Reads the state of a run that is there; whatever else lies in its place is told by one error, which is no end.
fn read_state(run: &AutopilotRun, id: &RunId) -> Result<(RunState, Vec<u8>), Error> {
    let unreadable = |why| Error::Unusable {
        run: id.clone(),
        source: Box::new(why),
    };
    let read = read_json_and_bytes::<RunState>(&run.state());
    let (state, bytes) = read.map_err(|error| unreadable(error.into()))?;
    let state = state.checked().map_err(unreadable)?;
    if state.run_id != *id {
        return Err(unreadable(Error::UnknownRun(state.run_id)));
    }
    Ok((state, bytes))
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
    /// The command of the tests as it was compared when this was opened; what the backlog and the checkout say since then
    /// is the word of whoever drives the run.
    command: Option<TestCommand>,
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
        project.notes.lock(PATIENCE)
    }

    /// Opens the run that is named, or the current one, to go on with it.
    pub(super) fn open(project: &'a Project) -> Result<Self, Error> {
        let session = Self::open_to_end(project)?;
        let command = session.assert_as_begun()?;
        Ok(Self { command, ..session })
    }

    /// Opens it to stop it, or to give it up, whatever decides on it by now.
    pub(super) fn open_to_end(project: &'a Project) -> Result<Self, Error> {
        let lock = Self::lock(project)?;
        let open = OpenRun::open(project)?;
        project.refuse_of_another(&open.state.run_id, open.repository())?;
        if open.run.last_event() < open.state.event_count {
            // A crash came between the state and what follows from it.
            open.write_what_follows(open.unit_under_way().as_ref())?;
        }
        Ok(Self::with(open, lock))
    }

    /// Takes a run whose lock is held already, in which nothing is judged.
    pub(super) const fn with(open: OpenRun<'a>, lock: AutopilotLock) -> Self {
        Self {
            open,
            command: None,
            _lock: lock,
        }
    }

    /// Returns the command that judges the work.
    pub(super) const fn command(&self) -> Option<&TestCommand> {
        self.command.as_ref()
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
        self.write_state(unit.as_ref())?;
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
