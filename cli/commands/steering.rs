//! Commands that steer the live run: `pause`, `resume` after a pause, `stop`, `retry`, `skip` and `add`.
//!
//! What can be done is for the run to say; here its answer gets a hint and an exit code.

use super::Perform;
use crate::display::{Output, print_data, print_line};
use crate::failure::{CommandFailure, ExitCode, Result};
use crate::project::open;
use clap::Args;
use std::path::Path;
use tm_app::Project;
use tm_runtime::steering::{Ask, Reply};
use tm_scheduler::StopMode;

/// `tm waves pause`.
#[derive(Args)]
pub(crate) struct PauseArguments {
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm waves retry`.
#[derive(Args)]
pub(crate) struct RetryArguments {
    /// The task.
    #[command(flatten)]
    of: SteeredTask,
}

/// `tm waves add`.
#[derive(Args)]
pub(crate) struct AddToRun {
    /// The task.
    #[command(flatten)]
    of: SteeredTask,
}

/// A task of the live run.
#[derive(Args)]
struct SteeredTask {
    /// The task.
    #[arg(value_name = "ID")]
    task: String,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm waves skip`.
#[derive(Args)]
pub(crate) struct SkipArguments {
    /// The task.
    #[arg(value_name = "ID")]
    task: String,
    /// Carry out what depends on it without it, instead of blocking that.
    #[arg(long)]
    satisfied: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm waves stop`.
#[derive(Args)]
pub(crate) struct StopArguments {
    /// Stop this task alone; its work is kept, and what depends on it is blocked.
    #[arg(value_name = "ID")]
    task: Option<String>,
    /// Don't give agents the grace period.
    #[arg(long)]
    now: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for PauseArguments {
    async fn perform(self, start: &Path) -> Result {
        steer(start, &Ask::Pause, self.json)
    }
}

impl Perform for RetryArguments {
    async fn perform(self, start: &Path) -> Result {
        let task = self.of.task.into();
        steer(start, &Ask::Retry { task }, self.of.json)
    }
}

impl Perform for AddToRun {
    async fn perform(self, start: &Path) -> Result {
        let task = self.of.task.into();
        steer(start, &Ask::Add { task }, self.of.json)
    }
}

impl Perform for SkipArguments {
    async fn perform(self, start: &Path) -> Result {
        let (task, satisfied) = (self.task.into(), self.satisfied);
        steer(start, &Ask::Skip { task, satisfied }, self.json)
    }
}

impl Perform for StopArguments {
    async fn perform(self, start: &Path) -> Result {
        let now = self.now;
        if let Some(task) = self.task {
            let task = task.into();
            return steer(start, &Ask::StopTask { task, now }, self.json);
        }
        let mode = if now { StopMode::Now } else { StopMode::Gently };
        told(&tm_app::stop(&open(start)?, mode)?, self.json.into())
    }
}

fn steer(start: &Path, ask: &Ask, json: impl Into<Output>) -> Result {
    told(&tm_app::steer(&open(start)?, ask)?, json.into())
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
    if output == Output::Json {
        print_data(&reply.line());
    }
    if !reply.ok {
        let hint = hint(reply.reason.as_deref().unwrap_or_default());
        return Err(CommandFailure {
            hint: hint.map(ToOwned::to_owned),
            ..CommandFailure::new(&reply.message).code(ExitCode::Refused)
        });
    }
    if output == Output::People {
        print_line(&reply.message);
    }
    Ok(0)
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
