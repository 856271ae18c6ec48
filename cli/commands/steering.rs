//! Commands that steer the live run: `pause`, `resume` after a pause, `stop`, `retry`, `skip` and `add`.
//!
//! What can be done is for the run to say; here its answer gets a hint and an exit code.

use crate::arguments::{ResumeArguments, SkipArguments, SteeredTask, StopArguments};
use crate::display::{Output, print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::open;
use std::path::Path;
use tm_app::Project;
use tm_runtime::steering::{Ask, Reply};

pub(crate) fn pause(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    steer(start, &Ask::Pause, json.into())
}

pub(crate) fn retry(start: &Path, task: &SteeredTask) -> Result<u8, CommandFailure> {
    steer(
        start,
        &Ask::Retry {
            task: task.task.as_str().into(),
        },
        task.json.into(),
    )
}

pub(crate) fn skip(start: &Path, arguments: &SkipArguments) -> Result<u8, CommandFailure> {
    let ask = Ask::Skip {
        task: arguments.task.as_str().into(),
        satisfied: arguments.satisfied,
    };
    steer(start, &ask, arguments.json.into())
}

pub(crate) fn add(start: &Path, task: &SteeredTask) -> Result<u8, CommandFailure> {
    steer(
        start,
        &Ask::Add {
            task: task.task.as_str().into(),
        },
        task.json.into(),
    )
}

pub(crate) fn stop(start: &Path, arguments: &StopArguments) -> Result<u8, CommandFailure> {
    if let Some(task) = &arguments.task {
        let ask = Ask::StopTask {
            task: task.as_str().into(),
            now: arguments.now,
        };
        return steer(start, &ask, arguments.json.into());
    }
    told(
        &tm_app::stop(&open(start, Vec::new())?, arguments.now)?,
        arguments.json.into(),
    )
}

fn steer(start: &Path, ask: &Ask, output: Output) -> Result<u8, CommandFailure> {
    told(&tm_app::steer(&open(start, Vec::new())?, ask)?, output)
}

/// Lets a paused run go on; `None` when no run is live that could be meant.
pub(crate) fn resume_live(
    project: &Project,
    arguments: &ResumeArguments,
) -> Result<Option<u8>, CommandFailure> {
    let Some((holder, reply)) = tm_app::resume_live(project, arguments.run.as_deref())? else {
        return Ok(None);
    };
    if reply.reason.as_deref() == Some("nothing-to-do") {
        return Err(CommandFailure::new(format!("{}; {holder}", reply.message))
            .code(ExitCode::Busy)
            .hint("`tm waves watch` shows it, `tm waves stop` stops it"));
    }
    told(&reply, arguments.notifications.json.into()).map(Some)
}

/// Shows the answer of the run.
fn told(reply: &Reply, output: Output) -> Result<u8, CommandFailure> {
    if output == Output::Json {
        print_data(&reply.line());
    }
    if !reply.ok {
        let failure = CommandFailure::new(&reply.message).code(ExitCode::Refused);
        return Err(match hint(reply.reason.as_deref().unwrap_or_default()) {
            Some(hint) => failure.hint(hint),
            None => failure,
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
