//! A task as planning needs it: one model for every kind of backlog.
//!
//! Does not know which file a task came from or how that file spells its fields.

use crate::{TaskId, TaskMetadata, TddHalf, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One task of a backlog, with its subtasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The id, absolute: a subtask's is `<parent>.<n>`.
    pub id: TaskId,
    /// One line; empty when the backlog has none.
    pub title: Title,
    /// What is to be done, in a few sentences.
    pub description: String,
    /// How it is to be done.
    pub details: String,
    /// How it is to be tested.
    pub test_strategy: String,
    /// What must be true at the end, one criterion an entry.
    pub acceptance_criteria: Vec<String>,
    /// Where it stands.
    pub status: Status,
    /// How urgent it is; `Medium` when the backlog does not say.
    pub priority: Priority,
    /// How large it is, when the backlog says.
    pub complexity: Option<Complexity>,
    /// Absolute ids of the tasks that must be finished before this one, without repeats, in the backlog's order.
    pub dependencies: Vec<TaskId>,
    /// What only some backlogs say of it.
    #[serde(flatten)]
    pub metadata: TaskMetadata,
    /// One level of subtasks.
    pub subtasks: Vec<Self>,
}

impl Task {
    /// Returns a pending task of medium priority that has nothing but an id and a title.
    pub fn new(id: impl Into<TaskId>, title: impl Into<Title>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            description: String::new(),
            details: String::new(),
            test_strategy: String::new(),
            acceptance_criteria: Vec::new(),
            status: Status::Pending,
            priority: Priority::Medium,
            complexity: None,
            dependencies: Vec::new(),
            metadata: TaskMetadata::default(),
            subtasks: Vec::new(),
        }
    }

    /// Returns tasks, each with its subtasks behind it.
    pub fn with_subtasks(tasks: &[Self]) -> impl Iterator<Item = &Self> {
        tasks
            .iter()
            .flat_map(|task| std::iter::once(task).chain(&task.subtasks))
    }

    /// Returns which half of an explicit pair it is.
    pub fn half(&self) -> Option<TddHalf> {
        self.metadata.tdd.as_ref().map(|mark| mark.half)
    }

    /// Returns the other half of its pair, when it names it.
    pub fn partner_id(&self) -> Option<&TaskId> {
        self.metadata.tdd.as_ref()?.paired_task_id.as_ref()
    }
}

/// Where a task stands in its backlog.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Finished; `completed` is read as this too.
    Done,
    /// Finished, waiting for a person.
    Review,
    /// Put off.
    Deferred,
    /// Decided against.
    Cancelled,
    /// Held up by something outside the backlog.
    Blocked,
    /// A status that Task Master does not know, as it is spelled; never run, never satisfied.
    Other(String),
}

impl Status {
    /// The statuses that can be written.
    pub const KNOWN: [Self; 7] = [
        Self::Pending,
        Self::InProgress,
        Self::Done,
        Self::Review,
        Self::Deferred,
        Self::Cancelled,
        Self::Blocked,
    ];

    /// Returns Task Master's spelling.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in-progress",
            Self::Done => "done",
            Self::Review => "review",
            Self::Deferred => "deferred",
            Self::Cancelled => "cancelled",
            Self::Blocked => "blocked",
            Self::Other(text) => text,
        }
    }

    /// Tells whether a run may take the task.
    #[inline]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Pending | Self::InProgress)
    }

    /// Tells whether the task holds up nobody any more: done, or decided against.
    #[inline]
    pub const fn satisfies_dependants(&self) -> bool {
        matches!(self, Self::Done | Self::Cancelled)
    }
}

impl From<&str> for Status {
    fn from(text: &str) -> Self {
        match text {
            "in_progress" => Self::InProgress,
            "completed" => Self::Done,
            _ => Self::KNOWN
                .into_iter()
                .find(|known| known.as_str() == text)
                .unwrap_or_else(|| Self::Other(text.to_owned())),
        }
    }
}

impl From<String> for Status {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Status> for String {
    fn from(status: Status) -> Self {
        status.as_str().to_owned()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

words! {
    /// How urgent a task is; the most urgent is the greatest.
    #[derive(Default)]
    pub enum Priority {
        /// After everything else.
        Low = "low",
        /// What a task without a priority has.
        #[default]
        Medium = "medium",
        /// Before the others.
        High = "high",
        /// Before everything else.
        Critical = "critical",
    }
}

impl Priority {
    /// Reads a name, `None` for one that is not known.
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|priority| priority.as_str().eq_ignore_ascii_case(text))
    }
}

/// How large a task is.
#[derive(
    Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
pub enum Complexity {
    /// A few lines.
    XS,
    /// Up to a hundred lines.
    S,
    /// Up to three hundred lines.
    M,
    /// Up to eight hundred lines.
    L,
    /// More.
    XL,
}

impl Complexity {
    /// Reads a size name, a score from 1 to 10, or one of Task Master's words; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "xs" | "1" | "2" => Some(Self::XS),
            "s" | "3" | "4" | "simple" => Some(Self::S),
            "m" | "5" | "6" | "moderate" => Some(Self::M),
            "l" | "7" | "8" | "complex" => Some(Self::L),
            "xl" | "9" | "10" | "very-complex" => Some(Self::XL),
            _ => None,
        }
    }

    /// Returns the limit of one attempt in minutes when the user set none.
    pub const fn timeout_minutes(self) -> u64 {
        match self {
            Self::XS | Self::S => 10,
            Self::M => 20,
            Self::L | Self::XL => 45,
        }
    }

    /// Returns how long it takes compared with other tasks; a task without a complexity weighs as much as `M`.
    pub const fn weight(self) -> u64 {
        match self {
            Self::XS => 1,
            Self::S => 2,
            Self::M => 4,
            Self::L => 8,
            Self::XL => 16,
        }
    }
}

words! {
    /// What kind of work a planned task is.
    pub enum Phase {
        /// Writes tests that fail.
        Red = "red",
        /// Makes the tests of its pair pass.
        Green = "green",
        /// Work outside any pair.
        None = "none",
    }
}

/// A task that is called as its id, for tests.
#[cfg(test)]
pub(crate) fn task(id: &str, dependencies: &[&str]) -> Task {
    let mut task = Task::new(id, id);
    task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
    task
}
