//! Holding the run lock: taken before anything is done, looked after while the work goes on, and what ends that.

use crate::error::Error;
use crate::notice::Notice;
use crate::project::Project;
use std::io::IsTerminal as _;
use std::time::Duration;
use tm_executors::environment::remove_abandoned_folders;
use tm_runtime::autopilot::under_way;
use tm_runtime::loops::{CutOff, clean_up};
use tm_runtime::{end_tear_downs, now};
use tm_scheduler::StopMode;
use tm_store::run::{HeldFor, Holder, RunLock};
use tm_worktrees::end_gits;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// How often a lock that is waited for is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(500);
/// How often the holder makes sure that it still has the lock.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Whether to wait for a lock that somebody else holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Waiting {
    /// Yes.
    Wait,
    /// No.
    Refuse,
}

/// Takes the run lock, or says who has it.
pub(crate) fn lock(
    project: &Project,
    waiting: Waiting,
    held_for: HeldFor,
) -> Result<RunLock, Error> {
    let words = command_line().map(|word| without_secret(&word));
    let holder = Holder {
        held_for: Some(held_for),
        ..Holder::this_process(now(), words.collect())
    };
    loop {
        match RunLock::acquire(&project.directory, &holder) {
            Ok(lock) => {
                if let Some(system) = lock.unreliable_file_system() {
                    project.tell(&Notice::UnreliableLock(system));
                }
                refuse_under_way(project)?;
                return Ok(lock);
            }
            Err(tm_store::Error::Held(_)) if waiting == Waiting::Wait => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Refuses other kinds of runs while one of autopilot goes on in the repository: its commits would look like escapes.
fn refuse_under_way(project: &Project) -> Result<(), Error> {
    Error::refuse(under_way(&project.of_autopilot()?)?, |(run, place)| {
        Error::AutopilotUnderWay { run, place }
    })
}

/// Ends what a tm that was killed left running, but for agents of a run, which are adopted, before anything else is started.
/// Returns the loops that were cut off.
pub(crate) async fn end_abandoned(project: &Project) -> Result<Vec<CutOff>, Error> {
    let executor = project.executor();
    match executor.end_abandoned().await? {
        0 => {}
        count => project.tell(&Notice::ProcessesEnded(count)),
    }
    match remove_abandoned_folders(&executor.temporary_folder()) {
        0 => {}
        count => tracing::info!("{count} folders for temporary files of before have been removed"),
    }
    let found = clean_up(&project.directory).await?;
    for cut_off in &found {
        project.tell(&Notice::LoopCutOff(cut_off));
    }
    Ok(found)
}

/// The words that this process was started with.
pub(crate) fn command_line() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// A word of the command line as others may see it: the path of a URL, as of a webhook, may be a secret.
fn without_secret(word: &str) -> String {
    match word.split_once("://") {
        Some((scheme, rest)) if rest.contains('/') => {
            format!(
                "{scheme}://{}/…",
                rest.split('/').next().unwrap_or_default()
            )
        }
        Some(_) | None => word.to_owned(),
    }
}

/// Does some work and looks after the lock meanwhile; has the work stopped, once, when the lock is lost. Returns what
/// came of the work, and whether the lock was kept.
pub(crate) async fn while_held<T>(
    lock: &mut RunLock,
    work: impl Future<Output = T>,
    stop: impl FnOnce(),
) -> (T, Result<(), Error>) {
    let mut work = std::pin::pin!(work);
    let lost = tokio::select! {
        done = &mut work => return (done, Ok(())),
        lost = lost(lock) => lost,
    };
    stop();
    tracing::error!(error = %lost, "the work is stopped");
    (work.await, Err(Error::LockLost(lost)))
}

/// Waits until the lock is lost, which may be for ever.
async fn lost(lock: &mut RunLock) -> tm_store::Error {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        if let Err(error) = lock.renew() {
            return error;
        }
    }
}

/// Whether whoever started this process wants it to outlive the terminal, as `nohup` does: the signal is ignored. Where
/// that can't be asked, `nohup` is known by what it does to the output.
fn outlives_terminal() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return !std::io::stderr().is_terminal();
    };
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let hangup = 1 << (SignalKind::hangup().as_raw_value() - 1);
    ignored.is_some_and(|ignored| ignored & hangup != 0)
}

/// Waits until the terminal is gone, or for ever.
async fn hung_up(hangup: Option<&mut Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// The first signal is a gentle order to stop, the second one to stop now; a terminal that is gone asks gently, however often
/// it is said.
pub(crate) fn stop_orders()
-> Result<(UnboundedSender<StopMode>, UnboundedReceiver<StopMode>), Error> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let orders = sender.clone();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = (!outlives_terminal())
        .then(|| signal(SignalKind::hangup()))
        .transpose()?;
    tokio::spawn(async move {
        let mut next = StopMode::Gently;
        loop {
            let order = tokio::select! {
                _ = interrupt.recv() => next,
                _ = terminate.recv() => next,
                () = hung_up(hangup.as_mut()) => StopMode::Gently,
            };
            if order == StopMode::Now {
                // Whoever hears the order may be waiting for one.
                end_gits();
            }
            if orders.send(order).is_err() {
                // Nothing runs any more; what is left is put in order.
                end_tear_downs();
            }
            next = StopMode::Now;
        }
    });
    Ok((sender, receiver))
}
