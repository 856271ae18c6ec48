//! What steers a run: of the run of this process, signals, calls over its socket, and itself; of another one, a call.

use crate::error::Error;
use crate::holding::stop_orders;
use crate::notice::Notice;
use crate::project::Project;
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;
use tm_runtime::steering::{Ask, CallError, Reply, Steer, SteeringSocket, call};
use tm_scheduler::{RunId, StopMode};
use tm_store::run::{HeldFor, Holder, RunLock};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Between two signals, so that they count as two.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(100);

/// The socket, the way in for this process itself, and the way out.
type Steers = (
    Option<SteeringSocket>,
    UnboundedSender<Steer>,
    UnboundedReceiver<Steer>,
);

/// Returns everything that may steer the run of this process.
pub(crate) fn steers(project: &Project) -> Result<Steers, Error> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let socket = SteeringSocket::open(&project.directory, sender.clone())
        .inspect_err(|error| project.tell(&Notice::NotSteerable(error)))
        .ok();
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

/// Asks something of the live run.
///
/// # Errors
/// None is live, or it can't be reached.
pub fn steer(project: &Project, ask: &Ask) -> Result<Reply, Error> {
    match call(&project.directory, ask) {
        Err(CallError::Nobody) => Err(nobody(project, wanted(ask))?),
        answered => Ok(answered?),
    }
}

/// Why nobody could be asked.
fn nobody(project: &Project, wanted: String) -> Result<Error, Error> {
    let holder = RunLock::holder(&project.directory)?.map(Box::new);
    Ok(match holder {
        None => Error::NoLiveRun(wanted),
        Some(holder) if holder.held_for == Some(HeldFor::Loop) => Error::LoopLive(wanted),
        Some(holder) => Error::Unreachable { wanted, holder },
    })
}

/// Asks whatever is live to stop, the run or the loop.
///
/// # Errors
/// It can't be reached.
pub fn stop(project: &Project, mode: StopMode) -> Result<Reply, Error> {
    let Some(holder) = RunLock::holder(&project.directory)? else {
        return Ok(Reply::done("no run is live"));
    };
    let now = mode == StopMode::Now;
    match call(&project.directory, &Ask::Stop { now }) {
        // A loop, or a run that could make no socket, hears signals.
        Err(CallError::Nobody) => stop_by_signal(holder, mode),
        answered => Ok(answered?),
    }
}

fn stop_by_signal(holder: Holder, mode: StopMode) -> Result<Reply, Error> {
    let Some(pid) = pid_of(&holder) else {
        return Err(Error::NotOnThisMachine(Box::new(holder)));
    };
    let signal = || kill_process(pid, Signal::TERM).map_err(std::io::Error::from);
    signal()?;
    if mode == StopMode::Now {
        std::thread::sleep(BETWEEN_SIGNALS);
        signal()?;
    }
    Ok(Reply::done(format!("asked to stop: {holder}")))
}

/// The process of a holder that is alive on this machine.
fn pid_of(holder: &Holder) -> Option<Pid> {
    let pid = holder.pid.filter(|_| holder.is_alive())?;
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Lets a paused run go on; `None` when no run is live that could be meant.
///
/// # Errors
/// It can't be reached.
pub fn resume_live(project: &Project, run: Option<&str>) -> Result<Option<(Holder, Reply)>, Error> {
    let Some(holder) = RunLock::holder(&project.directory)? else {
        return Ok(None);
    };
    if run.is_some() && run != holder.run_id.as_ref().map(RunId::as_str) {
        return Ok(None);
    }
    if !project.given.is_empty() {
        return Err(Error::LimitsOfLiveRun);
    }
    match call(&project.directory, &Ask::Resume) {
        Err(CallError::Nobody) => Ok(None),
        answered => Ok(Some((holder, answered?))),
    }
}

fn wanted(ask: &Ask) -> String {
    match ask {
        Ask::Retry { task } => format!("retry task `{task}`"),
        Ask::Skip { task, .. } => format!("skip task `{task}`"),
        Ask::Add { task } => format!("add task `{task}`"),
        Ask::StopTask { task, .. } => format!("stop task `{task}`"),
        Ask::Pause => "pause the run".to_owned(),
        Ask::Resume => "resume the run".to_owned(),
        Ask::Status | Ask::Stop { .. } | Ask::Refused { .. } => "reach the run".to_owned(),
    }
}
