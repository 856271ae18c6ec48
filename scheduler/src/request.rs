//! What people ask of a run that goes on, and why some of it is refused.
//!
//! A request that is not refused is an input like any other: journaled before it is acted on.

use crate::{PlannedTask, Status, TaskId, quoted};
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
    /// How soon a run, a task or an agent is to stop.
    pub enum StopMode {
        /// Agents may end within the grace period, and what they finished is finished. A run starts nothing more.
        Gently = "gently",
        /// Agents are stopped at once.
        Now = "now",
    }
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

/// A request that is refused. Displays as a fragment that follows "failed to".
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{wanted}: {why}")]
pub struct Refusal {
    /// What was wanted.
    pub wanted: String,
    /// Why it is refused.
    pub why: RefusalReason,
}

/// Why a request is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RefusalReason {
    /// The run has not begun, or has ended.
    #[error("the run is over")]
    Over,
    /// The run stops, so nothing can be started in it.
    #[error("the run is stopping")]
    Stopping,
    /// The run is paused already, or it is not; holds how it stands.
    #[error("the run is {0}")]
    NothingToDo(&'static str),
    /// The run has no such task.
    #[error("the run has no task of that id")]
    UnknownTask,
    /// The task can't be treated so where it stands; holds where that is.
    #[error("it is {0}")]
    Stands(&'static str),
    /// Something that the task needs failed or was left out; holds what.
    #[error("it needs {}, which will not land", quoted(.0))]
    Blocked(Vec<TaskId>),
    /// A GREEN can't be carried out without the tests of its RED; holds the GREEN.
    #[error("its GREEN `{0}` needs its tests")]
    NeedsItsTests(TaskId),
    /// The tasks that depend on it are carried out without it.
    #[error("the tasks that depend on it go on without it")]
    Released,
    /// A task of that id is part of the run already.
    #[error("it is part of the run already")]
    Known,
    /// The backlog has no task of that id.
    #[error("the backlog has no task of that id")]
    NotInBacklog,
    /// The task is done, or somebody put it aside; holds its status.
    #[error("it is {0} in the backlog")]
    Closed(Status),
    /// It depends on tasks that neither are done nor belong to the run; holds those.
    #[error("it depends on {}, which is not done and not part of the run", quoted(.0))]
    Outside(Vec<TaskId>),
}

impl RefusalReason {
    /// Returns the name of the reason in one word, for programs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Stopping => "stopping",
            Self::NothingToDo(_) => "nothing-to-do",
            Self::UnknownTask => "unknown-task",
            Self::Stands(_) => "not-now",
            Self::Blocked(_) => "blocked",
            Self::NeedsItsTests(_) => "needs-its-tests",
            Self::Released => "released",
            Self::Known => "known",
            Self::NotInBacklog => "not-in-backlog",
            Self::Closed(_) => "closed",
            Self::Outside(_) => "outside",
        }
    }
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
                let ids = tasks.iter().map(|task| &task.id);
                format!("added {} to the run", quoted(ids))
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
