//! Reads every kind of backlog into one model and writes back only what changed.
//!
//! Knows formats; what can be planned of a backlog is decided in the scheduler.

mod change;
mod claude;
mod convert;
mod document;
mod entry;
mod error;
mod fields;
mod file;
mod file_lock;
#[cfg(test)]
mod fixtures;
mod in_order;
mod kind;
mod list;
mod loaded;
mod repair;
mod siblings;
mod snapshot;
mod source;
mod spellings;
mod statuses;
mod statuses_alone;
mod task_master;
#[cfg(test)]
mod tests;
mod yaml;

pub use change::{Change, Changed, Crossing, Refusal};
pub use convert::{Conversion, Loss};
pub use entry::Entry;
pub use error::BacklogError;
pub use kind::{SourceKind, spelled};
pub use repair::Repair;
pub use snapshot::Snapshot;
pub use source::BacklogSource;
pub use statuses_alone::is_same_but_for_statuses;
pub(crate) use yaml::change as change_yaml;

use crate::run::PlannedNumbers;
use change::number;
use std::fmt;
use tm_scheduler::{Status, Tag, Task, TaskId, Timestamp};

/// Which part of a backlog is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The tag that somebody asked for.
    pub tag: Option<Tag>,
    /// The tag that the environment names.
    pub environment_tag: Option<Tag>,
    /// Only tasks whose `metadata.task_group` is this.
    pub group: Option<String>,
    /// The highest numbers that runs planned: a new task gets a higher one.
    pub planned: PlannedNumbers,
}

impl ReadOptions {
    /// Returns those for a tag that is known.
    pub fn of_tag(tag: &Tag) -> Self {
        Self {
            tag: Some(tag.clone()),
            ..Self::default()
        }
    }
}

/// A backlog as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Backlog {
    /// The tag that was read.
    pub tag: Tag,
    /// All tags.
    pub tags: Vec<Tag>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// What is odd about it.
    pub warnings: Vec<Warning>,
    /// The number that the next new task gets.
    pub next_number: u64,
}

/// Something odd that was read nevertheless.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Warning {
    /// The task.
    pub task: Option<TaskId>,
    /// The field.
    pub field: String,
    /// What is odd.
    pub message: String,
    /// Where it stands, where that is known.
    pub position: Option<Position>,
}

/// A place in a file.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Position {
    /// The file's name, where a backlog is more than one file.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Position {
    /// Returns a place in the one file of a backlog.
    const fn at(line: usize, column: usize) -> Self {
        Self {
            file: None,
            line,
            column,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "{file}, line {}", self.line),
            None => write!(formatter, "line {}", self.line),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(task) = &self.task {
            write!(formatter, "task `{task}`, ")?;
        }
        write!(formatter, "`{}`", self.field)?;
        if let Some(position) = &self.position {
            write!(formatter, " ({position})")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// A status that is to be written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusChange {
    /// The task, or the subtask as `<parent>.<n>`.
    pub id: TaskId,
    /// The status.
    pub status: Status,
}

/// What writing a status came to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusOutcome {
    /// The task.
    pub id: TaskId,
    /// The status before.
    pub old: Status,
    /// The status now.
    pub new: Status,
}

/// What becomes of the parent of a subtask whose status changes, and of the subtasks of a task that is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RollUp {
    /// Open subtasks are done with their task. All subtasks done: the parent is done; one begun or done: in progress; all
    /// pending: pending; else as it is.
    Relatives,
    /// Nothing.
    None,
}

/// Returns a moment as backlogs spell it.
pub fn stamp(moment: Timestamp) -> String {
    format!("{:.3}", crate::run::calendar_time(moment))
}
