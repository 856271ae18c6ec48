//! Commands that steer the live run: `pause`, `resume` after a pause, `stop`, `retry`, `skip` and `add`.
//!
//! What can be done is for the run to say; here its answer gets a hint and an exit code.

use super::holding::stop_orders;
use crate::arguments::{ResumeArguments, SkipArguments, SteeredTask, StopArguments};
use crate::display::{Output, print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::time::Duration;
use tm_runtime::steering::{Ask, CallError, Reply, Steer, SteeringSocket, call};
use tm_store::run::{Holder, RunLock};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Between two signals, so that they count as two.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(100);

/// What steers the run of this process: the socket, the way in for this process itself, and the way out.
type Steers = (Option<SteeringSocket>, UnboundedSender<Steer>, UnboundedReceiver<Steer>);

/// Everything that may steer the run of this process: signals, calls over its socket, and itself.
pub(crate) fn steers(project: &Project) -> Result<Steers, CommandFailure> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let socket = match SteeringSocket::open(&project.directory, sender.clone()) {
        Ok(socket) => Some(socket),
        Err(error) => {
            let failure = CommandFailure::from(error);
            print_line(&format!("warning: the run can't be steered from elsewhere: failed to {}", failure.message));
            None
        }
    };
    let (_, mut orders) = stop_orders()?;
    let by_signals = sender.clone();
    tokio::spawn(async move {
        while let Some(order) = orders.recv().await {
            if by_signals.send(Steer::Stop(order)).is_err() {
                return;
            }
        }
    });
    Ok((socket, sender, receiver))
}

pub(crate) fn pause(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    steer(start, &Ask::Pause, "pause the run", json.into())
}

pub(crate) fn retry(start: &Path, task: &SteeredTask) -> Result<u8, CommandFailure> {
    let ask = Ask::Retry { task: task.task.as_str().into() };
    steer(start, &ask, &format!("retry task `{}`", task.task), task.json.into())
}

pub(crate) fn skip(start: &Path, arguments: &SkipArguments) -> Result<u8, CommandFailure> {
    let ask = Ask::Skip { task: arguments.task.as_str().into(), satisfied: arguments.satisfied };
    steer(start, &ask, &format!("skip task `{}`", arguments.task), arguments.json.into())
}

pub(crate) fn add(start: &Path, task: &SteeredTask) -> Result<u8, CommandFailure> {
    let ask = Ask::Add { task: task.task.as_str().into() };
    steer(start, &ask, &format!("add task `{}`", task.task), task.json.into())
}

pub(crate) fn stop(start: &Path, arguments: &StopArguments) -> Result<u8, CommandFailure> {
    if let Some(task) = &arguments.task {
        let ask = Ask::StopTask { task: task.as_str().into(), now: arguments.now };
        return steer(start, &ask, &format!("stop task `{task}`"), arguments.json.into());
    }
    let project = Project::open(start, Vec::new())?;
    let Some(holder) = RunLock::holder(&project.directory)? else {
        return told(&Reply::done("no run is live"), arguments.json.into());
    };
    match call(&project.directory, &Ask::Stop { now: arguments.now }) {
        Ok(reply) => told(&reply, arguments.json.into()),
        // A loop, or a run that could make no socket, hears signals.
        Err(CallError::Nobody) => stop_by_signal(&holder, arguments),
        Err(error) => Err(error.into()),
    }
}

fn stop_by_signal(holder: &Holder, arguments: &StopArguments) -> Result<u8, CommandFailure> {
    let pid = holder.pid.filter(|_| holder.is_alive()).and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let Some(pid) = pid else {
        return Err(CommandFailure::new(format!("stop the run: its process is not on this machine ({holder})")));
    };
    for _ in 0..if arguments.now { 2 } else { 1 } {
        kill_process(pid, Signal::TERM).map_err(std::io::Error::from)?;
        if arguments.now {
            std::thread::sleep(BETWEEN_SIGNALS);
        }
    }
    told(&Reply::done(format!("asked to stop: {holder}")), arguments.json.into())
}

/// Lets a paused run go on; `None` when no run is live that could be meant.
pub(crate) fn resume_live(start: &Path, arguments: &ResumeArguments) -> Result<Option<u8>, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    let Some(holder) = RunLock::holder(&project.directory)? else { return Ok(None) };
    if arguments.run.is_some() && arguments.run.as_deref() != holder.run_id.as_ref().map(tm_scheduler::RunId::as_str) {
        return Ok(None);
    }
    if arguments.max_parallel.is_some() || arguments.deadline.is_some() {
        let failure = CommandFailure::new("change the limits of a live run").code(ExitCode::Busy);
        return Err(failure.hint("leave the flags out, or `tm waves stop` it first and resume it with them"));
    }
    match call(&project.directory, &Ask::Resume) {
        Ok(reply) if reply.reason.as_deref() == Some("nothing-to-do") => {
            Err(CommandFailure::new(format!("{}; {holder}", reply.message))
                .code(ExitCode::Busy)
                .hint("`tm waves watch` shows it, `tm waves stop` stops it"))
        }
        Ok(reply) => told(&reply, arguments.telling.json.into()).map(Some),
        Err(CallError::Nobody) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn steer(start: &Path, ask: &Ask, wanted: &str, output: Output) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    match call(&project.directory, ask) {
        Ok(reply) => told(&reply, output),
        Err(CallError::Nobody) => Err(nobody(&project, wanted)?),
        Err(error) => Err(error.into()),
    }
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

/// Says why nobody answered.
fn nobody(project: &Project, wanted: &str) -> Result<CommandFailure, CommandFailure> {
    Ok(match RunLock::holder(&project.directory)? {
        None => CommandFailure::new(format!("{wanted}: no run is live"))
            .hint("`tm waves run` starts one, `tm waves resume` takes up an interrupted one"),
        Some(holder) if holder.command_line.iter().any(|word| word == "loop") => {
            CommandFailure::new(format!("{wanted}: a loop is live, and no run"))
                .code(ExitCode::Busy)
                .hint("`tm waves stop` stops the loop")
        }
        Some(holder) => CommandFailure::new(format!("{wanted}: the live run can't be reached, {holder}"))
            .code(ExitCode::Busy)
            .hint("`tm waves stop` stops it by a signal"),
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
        "stopping" | "over" => "`tm waves resume` takes up what was interrupted, `tm waves run` starts a new run",
        _ => return None,
    })
}
