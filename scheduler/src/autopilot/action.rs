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

/// By what a caller takes a step.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CalledBy {
    /// `tm autopilot`.
    #[default]
    Command,
    /// The tools of MCP.
    Tool,
}

/// Whether whoever takes a step reports counts of tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counts {
    /// They are asked for.
    Asked,
    /// tm runs the tests itself.
    Unasked,
}

/// What a report of tests looks like, count by count.
type Report = [(&'static str, &'static str); 2];

impl CalledBy {
    /// Words a call: the step as both name it, what it is about, and the counts that are asked for.
    fn words(self, step: &str, about: &[(&str, &str)], counts: Option<Report>) -> String {
        let command = || {
            let about = about.iter().map(|(_, value)| format!(" {value}"));
            let counts = counts.iter().map(|[one, other]| {
                format!(" --results {}:{},{}:{}", one.0, one.1, other.0, other.1)
            });
            let name = step.split('_').next().unwrap_or(step);
            format!(
                "tm autopilot {name}{}",
                about.chain(counts).collect::<String>()
            )
        };
        let tool = || {
            let about = about
                .iter()
                .map(|(key, value)| format!(r#""{key}": "{value}""#));
            let counts = counts.iter().map(|[one, other]| {
                format!(
                    r#""testResults": {{"{}": {}, "{}": {}}}"#,
                    one.0, one.1, other.0, other.1
                )
            });
            let arguments: Vec<String> = about.chain(counts).collect();
            if arguments.is_empty() {
                return format!("autopilot_{step}");
            }
            format!("autopilot_{step} {{{}}}", arguments.join(", "))
        };
        match self {
            Self::Command => command(),
            Self::Tool => tool(),
        }
    }
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
        self.call(CalledBy::Command, Counts::Asked)
    }

    /// Returns the call that does it, or ends it, with counts of tests where those are asked for.
    pub fn call(&self, by: CalledBy, counts: Counts) -> Option<String> {
        let counts = |of: Report| (counts == Counts::Asked).then_some(of);
        Some(match self {
            Self::Red { subtask } => by.words(
                "complete_phase",
                &[("phase", "red"), ("subtaskId", subtask.as_str())],
                counts([("failed", "N"), ("passed", "N")]),
            ),
            Self::Green { subtask, .. } => by.words(
                "complete_phase",
                &[("phase", "green"), ("subtaskId", subtask.as_str())],
                counts([("passed", "N"), ("failed", "0")]),
            ),
            Self::Commit { subtask } => {
                by.words("commit", &[("subtaskId", subtask.as_str())], None)
            }
            Self::Finalize => by.words("finalize", &[], counts([("passed", "N"), ("failed", "0")])),
            Self::Resume => by.words("resume", &[], None),
            Self::Start { task } => by.words("start", &[("taskId", task.as_str())], None),
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
