//! Commands that steer the live run: `pause`, `resume` after a pause, `stop`, `retry`, `skip` and `add`.
//!
//! What can be done is for the run to say; here its answer gets a hint and an exit code.

use super::Perform;
use crate::display::{Output, print_document, print_line};
use crate::failure::{CommandFailure, ExitCode, Result};
use crate::project::open;
use clap::{Args, Subcommand};
use std::path::Path;
use tm_app::Project;
use tm_runtime::steering::{Ask, Reply};
use tm_scheduler::{StopMode, TaskId};

/// What the live run can be asked for.
#[derive(Subcommand)]
pub(crate) enum SteeringCommand {
    /// Stop the live run, or one of its tasks; twice, or with --now, at once.
    Stop {
        /// Stop this task alone; its work is kept, and what depends on it is blocked.
        #[arg(value_name = "ID")]
        task: Option<String>,
        /// Don't give agents the grace period.
        #[arg(long)]
        now: bool,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Start nothing more in the live run until it is resumed; agents that work go on.
    Pause {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Give a task of the live run a fresh attempt.
    Retry(SteeredTask),
    /// Leave a task out of the live run.
    Skip {
        /// Carry out what depends on it without it, instead of blocking that.
        #[arg(long)]
        satisfied: bool,
        /// The task.
        #[command(flatten)]
        of: SteeredTask,
    },
    /// Take a task of the backlog into the live run.
    Add(SteeredTask),
}

/// A task of the live run.
#[derive(Args)]
pub(crate) struct SteeredTask {
    /// The task.
    #[arg(value_name = "ID")]
    task: String,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for SteeringCommand {
    async fn perform(self, start: &Path) -> Result {
        let (ask, json) = match self {
            Self::Stop { task, now, json } => match task {
                None => return stop(start, now, json),
                Some(task) => {
                    let task = task.into();
                    (Ask::StopTask { task, now }, json)
                }
            },
            Self::Pause { json } => (Ask::Pause, json),
            Self::Retry(of) => of.asks(|task| Ask::Retry { task }),
            Self::Skip { of, satisfied } => of.asks(|task| Ask::Skip { task, satisfied }),
            Self::Add(of) => of.asks(|task| Ask::Add { task }),
        };
        told(&tm_app::steer(&open(start)?, &ask)?, json.into())
    }
}

impl SteeredTask {
    fn asks(self, ask: impl FnOnce(TaskId) -> Ask) -> (Ask, bool) {
        (ask(self.task.into()), self.json)
    }
}

/// Asks whatever is live to stop.
pub(crate) fn stop(start: &Path, now: bool, json: bool) -> Result {
    let mode = if now { StopMode::Now } else { StopMode::Gently };
    told(&tm_app::stop(&open(start)?, mode)?, json.into())
}

/// Lets a paused run go on; `None` when no run is live that could be meant.
pub(crate) fn resume_live(
    project: &Project,
    run: Option<&str>,
    output: Output,
) -> Result<Option<u8>> {
    let Some((holder, reply)) = tm_app::resume_live(project, run)? else {
        return Ok(None);
    };
    if reply.reason.as_deref() == Some("nothing-to-do") {
        return Err(failure!("{}; {holder}", reply.message)
            .code(ExitCode::Busy)
            .hint("`tm waves watch` shows it, `tm waves stop` stops it"));
    }
    told(&reply, output).map(Some)
}

/// Shows the answer of the run.
fn told(reply: &Reply, output: Output) -> Result {
    match output {
        Output::Json => print_document(&reply.line()),
        Output::People if reply.ok => print_line(&reply.message),
        Output::People => {}
    }
    done(reply)
}

fn done(reply: &Reply) -> Result {
    if reply.ok {
        return Ok(0);
    }
    let hint = hint(reply.reason.as_deref().unwrap_or_default());
    Err(CommandFailure {
        hint: hint.map(ToOwned::to_owned),
        ..CommandFailure::new(&reply.message).code(ExitCode::Refused)
    })
}

/// The next command to type, by the reason of a refusal.
fn hint(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "unknown-task" => {
            "`tm waves status` lists its tasks, a test task is `<id>:red`; `tm waves add ID` takes in one of the backlog"
        }
        "outside" => "`tm waves add ID` takes in what it depends on, one after the other",
        "blocked" => {
            "`tm waves retry ID` tries what it needs again, `tm waves skip ID --satisfied` goes on without that"
        }
        "needs-its-tests" => "skip its GREEN instead",
        "not-in-backlog" => "`tm list` lists the tasks, `tm add-task` adds one",
        "closed" => "`tm set-status --id=ID --status=pending` opens it",
        "no-test-command" => "give the task a `test_command` in its metadata",
        "nothing-to-do" | "not-now" => "`tm waves status` shows how it stands",
        "stopping" | "over" => {
            "`tm waves resume` takes up what was interrupted, `tm waves run` starts a new run"
        }
        _ => return None,
    })
}
