//! What comes next, in words for agents, and the error that names it.

use super::{Autopilot, Stage, Step};
use crate::TaskId;
use std::fmt;

/// The one legal next step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// Write tests that fail, run them, report.
    Red {
        /// The subtask.
        subtask: TaskId,
    },
    /// Make all tests pass, run them, report.
    Green {
        /// The subtask.
        subtask: TaskId,
        /// The number of the try.
        attempt: u32,
    },
    /// Have everything committed.
    Commit {
        /// The subtask.
        subtask: TaskId,
    },
    /// Run the whole suite and close the run.
    Finalize,
    /// Nothing: the run is complete.
    Complete,
    /// Resume the run, which is paused or was cut off during its start.
    Resume,
    /// Start a new run: this one was given up.
    Start {
        /// The task.
        task: TaskId,
    },
}

impl Action {
    /// Returns the word that programs go by.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Red { .. } => "red",
            Self::Green { .. } => "green",
            Self::Commit { .. } => "commit",
            Self::Finalize => "finalize",
            Self::Complete => "complete",
            Self::Resume => "resume",
            Self::Start { .. } => "start",
        }
    }

    /// Returns the command that does it, or ends it; `None` when nothing is left.
    pub fn command(&self) -> Option<String> {
        Some(match self {
            Self::Red { subtask } => {
                format!("tm autopilot complete red {subtask} --results failed:N,passed:N")
            }
            Self::Green { subtask, .. } => {
                format!("tm autopilot complete green {subtask} --results passed:N,failed:0")
            }
            Self::Commit { subtask } => format!("tm autopilot commit {subtask}"),
            Self::Finalize => "tm autopilot finalize".to_owned(),
            Self::Resume => "tm autopilot resume".to_owned(),
            Self::Start { task } => format!("tm autopilot start {task}"),
            Self::Complete => return None,
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Red { subtask } => write!(formatter, "RED of `{subtask}`"),
            Self::Green { subtask, attempt } => {
                write!(formatter, "GREEN of `{subtask}`, try {attempt}")
            }
            Self::Commit { subtask } => write!(formatter, "COMMIT of `{subtask}`"),
            Self::Finalize => formatter.write_str("finalizing: everything is committed"),
            Self::Complete => formatter.write_str("nothing: the run is complete"),
            Self::Resume => formatter.write_str("resuming the run"),
            Self::Start { task } => {
                write!(formatter, "a new run of `{task}`: this one was aborted")
            }
        }
    }
}

/// A step at the wrong time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{wanted}: it is time for {next}")]
pub struct IllegalStep {
    /// What was wanted.
    pub wanted: String,
    /// What is legal.
    pub next: Action,
}

impl Autopilot {
    /// Returns the one legal next step.
    pub fn next(&self) -> Action {
        let subtask = || {
            self.current()
                .map_or_else(|| self.task.clone(), |item| item.id.clone())
        };
        match &self.stage {
            Stage::SubtaskLoop(Step::Red { .. }) => Action::Red { subtask: subtask() },
            Stage::SubtaskLoop(Step::Green { attempt, .. }) => Action::Green {
                subtask: subtask(),
                attempt: *attempt,
            },
            Stage::SubtaskLoop(Step::Commit { .. }) => Action::Commit { subtask: subtask() },
            Stage::Finalize => Action::Finalize,
            Stage::Complete => Action::Complete,
            Stage::Preflight | Stage::BranchSetup | Stage::Paused { .. } => Action::Resume,
            Stage::Aborted => Action::Start {
                task: self.task.clone(),
            },
        }
    }
}
