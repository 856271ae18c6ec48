//! What an iteration came to, and how a loop ends.
//!
//! Holds facts; `judge` decides what they mean.

use super::Marker;
use crate::{Failure, Policy, Status, TaskId, Timestamp, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The backlog at a moment, as the loop sees it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BacklogView {
    /// The status of every task and subtask.
    pub statuses: BTreeMap<TaskId, Status>,
    /// Tasks that the loop is still to do.
    pub open: Vec<TaskId>,
    /// Those of them that nothing holds up.
    pub workable: Vec<TaskId>,
}

impl BacklogView {
    /// Returns the statuses that differ later.
    pub fn shifts(&self, later: &Self) -> Vec<StatusShift> {
        let (before, after) = (&self.statuses, &later.statuses);
        let ids: BTreeSet<&TaskId> = before.keys().chain(after.keys()).collect();
        let shift = |id: &TaskId| StatusShift {
            task: id.clone(),
            from: before.get(id).cloned(),
            to: after.get(id).cloned(),
        };
        ids.into_iter()
            .map(shift)
            .filter(|shift| shift.from != shift.to)
            .collect()
    }
}

/// A task whose status is another.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StatusShift {
    /// The task, or the subtask.
    pub task: TaskId,
    /// Its status before; none when it was not there.
    pub from: Option<Status>,
    /// Its status after; none when it is gone.
    pub to: Option<Status>,
}

impl StatusShift {
    /// Tells whether the task became done.
    pub fn is_completion(&self) -> bool {
        self.to == Some(Status::Done)
    }
}

/// What an iteration changed in the folder that the agent works in, besides the backlog and tm's own files.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct WorkChanges {
    /// New commits, oldest first: abbreviated id and subject.
    pub commits: Vec<(String, String)>,
    /// Files that differ, committed or not.
    pub files: u64,
    /// Lines that are new in them.
    pub insertions: u64,
    /// Lines that are gone from them.
    pub deletions: u64,
    /// Paths that differ from the last commit at the end.
    pub uncommitted: u64,
    /// Why nothing of this could be seen, when it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
    /// Why it can't be taken as work, when it can't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl WorkChanges {
    /// Tells whether there is nothing, as far as could be seen.
    pub const fn is_empty(&self) -> bool {
        self.commits.is_empty() && self.files == 0 && self.unseen.is_none()
    }
}

words! {
    /// What one try at an iteration came to.
    pub enum IterationStatus {
        /// It did something, and there is more to do.
        Success = "success",
        /// It is the last: there is nothing left to do.
        Complete = "complete",
        /// The agent can't go on.
        Blocked = "blocked",
        /// It failed.
        Error = "error",
        /// It was stopped from outside.
        Interrupted = "interrupted",
    }
}

/// Why an iteration failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IterationFailure {
    /// As an attempt at a task can fail.
    Attempt(Failure),
    /// The test command does not pass.
    Unverified,
    /// The agent claims that nothing is left to do, and the backlog says otherwise.
    FalseCompletion,
}

impl IterationFailure {
    /// Returns the name used in files and on the screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attempt(failure) => failure.as_str(),
            Self::Unverified => "unverified",
            Self::FalseCompletion => "false-completion",
        }
    }

    /// Returns what follows from the failure of an attempt.
    pub(super) const fn policy(self) -> Option<Policy> {
        match self {
            Self::Attempt(failure) => Some(failure.policy()),
            Self::Unverified | Self::FalseCompletion => None,
        }
    }
}

impl Serialize for IterationFailure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One try at an iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IterationRecord {
    /// The number of the iteration.
    pub iteration: u32,
    /// The number of the try; more than 1 when earlier ones do not count.
    pub attempt: u32,
    /// What it came to.
    pub status: IterationStatus,
    /// Why it failed.
    pub failure: Option<IterationFailure>,
    /// What happened, in one line.
    pub message: String,
    /// What the agent said last.
    pub final_message: String,
    /// What the agent said of the whole loop.
    pub claim: Option<Marker>,
    /// The task that was worked on, as far as the backlog tells.
    pub task_id: Option<TaskId>,
    /// Tasks and subtasks whose status changed.
    pub tasks: Vec<StatusShift>,
    /// What changed besides.
    pub work: WorkChanges,
    /// Whether the test command passed; none when it was not run.
    pub verified: Option<bool>,
    /// When the agent was started; writers have their own way to write moments.
    #[serde(skip)]
    pub started_at: Timestamp,
    /// How long it worked, in milliseconds.
    pub duration_ms: u64,
    /// Tokens, when the agent reports them.
    pub tokens: Option<Tokens>,
    /// Cost in US dollars, when the agent reports it.
    pub cost_usd: Option<f64>,
}

words! {
    /// How a loop ends; the later, the sooner a person has to look.
    pub enum LoopStatus {
        /// There is nothing left to do.
        AllComplete = "all_complete",
        /// All iterations are used up.
        MaxIterations = "max_iterations",
        /// The time is used up.
        Deadline = "deadline",
        /// The money is used up.
        Budget = "budget",
        /// The agent, or everything that is open, is held up.
        Blocked = "blocked",
        /// Too many failures in a row, or one that trying again does not help.
        Error = "error",
        /// The surroundings, such as a full disk, let no agent be started.
        Surroundings = "surroundings",
        /// It was stopped from outside.
        Interrupted = "interrupted",
    }
}
