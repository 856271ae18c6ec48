//! What people ask of a run that goes on, and why some of it is refused.
//!
//! A request that is not refused is an input like any other: journaled before it is acted on.

use crate::{PlannedTask, Status, StopMode, TaskId};
use serde::{Deserialize, Serialize};

/// One thing that somebody asks of a run that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Start no further attempt; those under way go on to their end, and what is proven lands.
    Pause,
    /// Start attempts again.
    Continue,
    /// End a task: its agent is stopped, its work kept, what depends on it blocked. A GREEN is ended with its RED
    /// unless that is held already.
    StopTask {
        /// The task.
        task: TaskId,
        /// How its agent is stopped.
        order: StopMode,
    },
    /// Give a task a fresh attempt: one that failed or was skipped, one under way (whose attempt is stopped and does
    /// not count), or one that waits before its next attempt.
    Retry(TaskId),
    /// Leave a task out of the run. A GREEN is left out with its RED unless that is held already.
    Skip {
        /// The task.
        task: TaskId,
        /// What is to become of the tasks that depend on it.
        dependants: Dependants,
    },
    /// Take further tasks in: one of the backlog, as a plain task or as a pair.
    Add(Vec<PlannedTask>),
}

words! {
    /// What is to become of the tasks that depend on one that is skipped.
    #[derive(Default)]
    pub enum Dependants {
        /// They are blocked by it.
        #[default]
        Blocked = "blocked",
        /// They are carried out without it.
        Released = "released",
    }
}

/// Why a request is refused. Displays as a fragment that follows "failed to".
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The run has not begun, or has ended.
    #[error("{wanted}: the run is over")]
    Over {
        /// What was wanted.
        wanted: String,
    },
    /// The run stops, so nothing can be started in it.
    #[error("{wanted}: the run is stopping")]
    Stopping {
        /// What was wanted.
        wanted: String,
    },
    /// The run is paused already, or it is not.
    #[error("{wanted}: the run is {stands}")]
    NothingToDo {
        /// What was wanted.
        wanted: String,
        /// How it stands.
        stands: &'static str,
    },
    /// The run has no such task.
    #[error("{wanted}: the run has no task of that id")]
    UnknownTask {
        /// What was wanted.
        wanted: String,
    },
    /// The task can't be treated so where it stands.
    #[error("{wanted}: it is {stands}")]
    Stands {
        /// What was wanted.
        wanted: String,
        /// Where the task stands.
        stands: &'static str,
    },
    /// Something that the task needs failed or was left out.
    #[error("{wanted}: it needs {}, which will not land", names(by))]
    Blocked {
        /// What was wanted.
        wanted: String,
        /// What it needs.
        by: Vec<TaskId>,
    },
    /// A GREEN can't be carried out without the tests of its RED.
    #[error("{wanted} as satisfied: its GREEN `{green}` needs its tests")]
    NeedsItsTests {
        /// What was wanted.
        wanted: String,
        /// The GREEN.
        green: TaskId,
    },
    /// The tasks that depend on it are carried out without it.
    #[error("{wanted}: the tasks that depend on it go on without it")]
    Released {
        /// What was wanted.
        wanted: String,
    },
    /// A task of that id is part of the run already.
    #[error("{wanted}: it is part of the run already")]
    Known {
        /// What was wanted.
        wanted: String,
    },
    /// The backlog has no task of that id.
    #[error("{wanted}: the backlog has no task of that id")]
    NotInBacklog {
        /// What was wanted.
        wanted: String,
    },
    /// The task is done, or somebody put it aside.
    #[error("{wanted}: it is {status} in the backlog")]
    Closed {
        /// What was wanted.
        wanted: String,
        /// Its status.
        status: Status,
    },
    /// It depends on tasks that neither are done nor belong to the run.
    #[error(
        "{wanted}: it depends on {}, which is not done and not part of the run",
        names(on)
    )]
    Outside {
        /// What was wanted.
        wanted: String,
        /// What it depends on.
        on: Vec<TaskId>,
    },
}

impl Refusal {
    /// Returns the name of the reason in one word, for programs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Over { .. } => "over",
            Self::Stopping { .. } => "stopping",
            Self::NothingToDo { .. } => "nothing-to-do",
            Self::UnknownTask { .. } => "unknown-task",
            Self::Stands { .. } => "not-now",
            Self::Blocked { .. } => "blocked",
            Self::NeedsItsTests { .. } => "needs-its-tests",
            Self::Released { .. } => "released",
            Self::Known { .. } => "known",
            Self::NotInBacklog { .. } => "not-in-backlog",
            Self::Closed { .. } => "closed",
            Self::Outside { .. } => "outside",
        }
    }
}

/// Returns ids as a list in words.
pub(crate) fn names(ids: &[TaskId]) -> String {
    ids.iter()
        .map(|id| format!("`{id}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Request {
    /// Returns what was done, in words.
    pub fn done(&self) -> String {
        match self {
            Self::Pause => {
                "paused the run: agents that work go on, and nothing more is started".to_owned()
            }
            Self::Continue => "resumed the run".to_owned(),
            Self::StopTask { task, .. } => format!("asked task `{task}` to stop"),
            Self::Retry(task) => format!("gave task `{task}` a fresh attempt"),
            Self::Skip {
                task,
                dependants: Dependants::Blocked,
            } => format!("skipped task `{task}`"),
            Self::Skip {
                task,
                dependants: Dependants::Released,
            } => {
                format!("skipped task `{task}`; what depends on it goes on without it")
            }
            Self::Add(tasks) => {
                let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
                format!("added {} to the run", names(&ids))
            }
        }
    }

    /// Returns what is wanted, as a fragment that follows "failed to".
    pub fn wanted(&self) -> String {
        match self {
            Self::Pause => "pause the run".to_owned(),
            Self::Continue => "resume the run".to_owned(),
            Self::StopTask { task, .. } => format!("stop task `{task}`"),
            Self::Retry(task) => format!("retry task `{task}`"),
            Self::Skip { task, .. } => format!("skip task `{task}`"),
            Self::Add(tasks) => match tasks.last() {
                Some(task) => format!("add task `{}`", task.backlog_id),
                None => "add no task".to_owned(),
            },
        }
    }
}
