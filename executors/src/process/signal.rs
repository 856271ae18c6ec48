//! Sends a signal to exactly the process that is meant, never to one that got its number later.

use super::ProcessIdentity;
use rustix::process::{Pid, Signal, WaitOptions};
use std::os::fd::OwnedFd;
use tm_scheduler::StopSignal;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Returns the signal that asks a program to stop.
pub(super) const fn of_stop(stop: StopSignal) -> Signal {
    match stop {
        StopSignal::Interrupt => Signal::INT,
        StopSignal::Terminate => Signal::TERM,
    }
}

/// Sends the signal; a process that is gone needs none.
pub(crate) fn send(identity: ProcessIdentity, signal: Signal) {
    let Some(pid) = to_pid(identity.pid) else {
        return;
    };
    if let Err(error) = send_exactly(identity, pid, signal) {
        tracing::debug!(pid = identity.pid, %error, "signal not delivered");
    }
}

/// Sends the signal to all of the group that a process leads.
pub(super) fn send_to_group(leader: ProcessIdentity, signal: Signal) {
    let Some(pid) = to_pid(leader.pid).filter(|_| is_still(leader)) else {
        return;
    };
    if let Err(error) = rustix::process::kill_process_group(pid, signal) {
        tracing::debug!(pid = leader.pid, %error, "signal not delivered to a group");
    }
}

/// Holds on to the process before looking who it is, so the number can't change hands in between.
#[cfg(target_os = "linux")]
fn send_exactly(identity: ProcessIdentity, pid: Pid, signal: Signal) -> rustix::io::Result<()> {
    use rustix::io::Errno;
    let handle = match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOSYS | Errno::PERM | Errno::MFILE | Errno::NFILE) => {
            return send_checked(identity, pid, signal);
        }
        Err(error) => return Err(error),
    };
    if !is_still(identity) {
        return Ok(());
    }
    match rustix::process::pidfd_send_signal(&handle, signal) {
        Err(Errno::NOSYS | Errno::PERM) => send_checked(identity, pid, signal),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn send_exactly(identity: ProcessIdentity, pid: Pid, signal: Signal) -> rustix::io::Result<()> {
    send_checked(identity, pid, signal)
}

/// Returns what can be read once the process has ended; `None` where the system has no such thing, or it has ended.
#[cfg(target_os = "linux")]
#[expect(
    deprecated,
    reason = "its successor is unsafe, for the sake of types whose handle may change; an owned one does not"
)]
pub(super) fn end_of(identity: ProcessIdentity) -> Option<AsyncFd<OwnedFd>> {
    let pid = to_pid(identity.pid)?;
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
    let end = AsyncFd::with_interest(handle, Interest::READABLE).ok()?;
    is_still(identity).then_some(end)
}

/// There is no such thing here.
#[cfg(not(target_os = "linux"))]
pub(super) fn end_of(_: ProcessIdentity) -> Option<AsyncFd<OwnedFd>> {
    None
}

fn send_checked(identity: ProcessIdentity, pid: Pid, signal: Signal) -> rustix::io::Result<()> {
    if is_still(identity) {
        rustix::process::kill_process(pid, signal)
    } else {
        Ok(())
    }
}

fn is_still(identity: ProcessIdentity) -> bool {
    ProcessIdentity::of(identity.pid) == Some(identity)
}

/// Takes note of the end of an adopted child, so that it does not stay as a dead entry in the process table.
pub(super) fn reap(pid: u32) {
    if let Some(pid) = to_pid(pid)
        && let Err(error) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG)
    {
        tracing::debug!(%pid, %error, "adopted process not reaped");
    }
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
