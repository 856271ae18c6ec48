//! Waits for a git, and ends it when it takes too long: what it works on may have been made to take forever.
//!
//! It is asked politely first, with all that it started, so that it removes the locks that it holds.

use super::Git;
use crate::pause::pause;
use crate::{Error, OrFailedTo as _, Result};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A call takes no longer than this, unless somebody says how long it may take: a checkout or a merge of a large repository.
pub(super) const LONGEST: Duration = Duration::from_mins(30);
/// Where work that somebody has done in a worktree is looked at and taken.
pub(crate) const LONGEST_OF_WORK: Duration = Duration::from_mins(10);
/// Where commits are merged. What nobody compares in this time is no work that lands, and others wait for it.
pub(crate) const LONGEST_OF_MERGE: Duration = Duration::from_mins(2);
/// git takes no more memory to merge, in bytes: of a text of nothing but ends of lines it takes 180 bytes each, of others
/// some ten, so that those of `LONGEST_TEXT` are merged whatever they hold, and those of `LONGEST_FILE` as a rule.
const MOST_MEMORY_OF_MERGE: u64 = 4 * 1024 * 1024 * 1024;
/// Where something is fetched over a network.
pub(crate) const LONGEST_OF_NETWORK: Duration = Duration::from_hours(12);
/// So long those that go on may take once all are to end.
const LONGEST_AT_END: Duration = Duration::from_millis(1_500);
/// So long those may take that are begun later: work that is not landed is kept by one.
const LONGEST_AFTER_END: Duration = Duration::from_secs(5);
/// So long one has to remove its locks.
const GRACE: Duration = Duration::from_millis(500);
/// So often is looked whether it may go on, where it says nothing.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};
const BRIEFLY: Duration = Duration::from_millis(1);
/// So much of what it says is taken at once, in bytes.
const READ: usize = 16 * 1024;

/// Since when all are to end.
static ENDING: Mutex<Option<Instant>> = Mutex::new(None);

/// Ends each git that goes on in two seconds, and each that is begun later soon: for whoever stops at once. Those that run
/// hooks of the user's in the user's checkout come to their own end.
pub fn end_gits() {
    ENDING.lock().get_or_insert_with(Instant::now);
}

/// Tells whether what is begun now would be ended at once: whoever does many things goes on with none.
pub(crate) fn gits_are_ending() -> bool {
    ENDING
        .lock()
        .is_some_and(|since| since.elapsed() >= LONGEST_AT_END)
}

impl Git {
    /// Says that the call reads what agents may have written: it takes no more memory than a merge.
    pub(crate) const fn in_bounded_memory(mut self) -> Self {
        self.most_memory = Some(MOST_MEMORY_OF_MERGE);
        self
    }

    /// Says that the call merges what agents wrote: it takes no longer than a merge, and no more memory.
    pub(crate) const fn merging(self) -> Self {
        self.at_most(LONGEST_OF_MERGE).in_bounded_memory()
    }

    /// Has the call end at a moment, or when all of its environment do.
    pub(crate) fn until(mut self, moment: Instant) -> Self {
        self.until = Some(self.until.map_or(moment, |until| until.min(moment)));
        self
    }

    /// Runs the call, whose stdin and stdout are what they are to be, for no longer than it may take.
    pub(super) fn output_in_time(&mut self) -> Result<Output> {
        let longest = self.longest_now();
        let waited = run(&mut self.command, longest, self.most_memory)
            .map_err(|source| self.not_started(source))?;
        if !matches!(&waited, Waited::Done(output) if output.status.code().is_some()) {
            self.remove_own_lock()?;
        }
        let command = || self.words.join(" ");
        match waited {
            Waited::Done(output) => Ok(output),
            Waited::TookTooLong => Err(Error::GitTookTooLong {
                command: command(),
                longest: longest.unwrap_or_default(),
            }),
            Waited::Stopped => Err(Error::GitStopped(command())),
        }
    }

    /// Returns how long it may take when it begins now.
    fn longest_now(&self) -> Option<Duration> {
        let longest = self.longest.map(tm_faults::longest_git);
        let now = Instant::now();
        let left = self.until.map(|until| until.saturating_duration_since(now));
        [longest, left].into_iter().flatten().min()
    }

    /// Removes what a git that was killed had no time to.
    fn remove_own_lock(&self) -> Result<()> {
        let Some(lock) = &self.own_lock else {
            return Ok(());
        };
        tm_untrusted::remove(lock).or_failed_to("remove", lock)
    }
}

/// What became of a call.
enum Waited {
    /// It came to its own end.
    Done(Output),
    /// It was ended because it took too long.
    TookTooLong,
    /// It was ended because all are.
    Stopped,
}

/// Runs a command, which heads a process group of its own, for no longer than it may take, `None` for one that nobody
/// ends, and with no more memory than it may have, in bytes.
fn run(
    command: &mut Command,
    longest: Option<Duration>,
    most_memory: Option<u64>,
) -> io::Result<Waited> {
    if longest == Some(Duration::ZERO) {
        return Ok(Waited::TookTooLong);
    }
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(most) = most_memory {
        limit_memory(&child, most);
    }
    let began = Instant::now();
    let ended = said_by(&mut child, || {
        longest.and_then(|longest| over(began, longest))
    });
    match ended {
        Ok(Ok([stdout, stderr])) => Ok(Waited::Done(Output {
            status: child.wait()?,
            stdout,
            stderr,
        })),
        Ok(Err(cut_off)) => end(&mut child).map(|()| cut_off),
        Err(error) => {
            end(&mut child)?;
            Err(error)
        }
    }
}

/// Keeps a child from taking more memory than this, but for what it reads of files, in bytes.
#[cfg(target_os = "linux")]
fn limit_memory(child: &Child, most: u64) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // What can't be raised is lower.
    let _lower = prlimit(Some(Pid::from_child(child)), Resource::Data, limit);
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_child: &Child, _most: u64) {}

/// Tells why a call is to be ended by now.
fn over(began: Instant, longest: Duration) -> Option<Waited> {
    if began.elapsed() >= longest {
        return Some(Waited::TookTooLong);
    }
    let ending = (*ENDING.lock())?;
    let is_over = if began < ending {
        ending.elapsed() >= LONGEST_AT_END
    } else {
        began.elapsed() >= LONGEST_AFTER_END
    };
    is_over.then_some(Waited::Stopped)
}

/// Returns what a child writes to stdout and stderr until it has ended; or why it is to be ended.
fn said_by(
    child: &mut Child,
    over: impl Fn() -> Option<Waited>,
) -> io::Result<Result<[Vec<u8>; 2], Waited>> {
    let stdout = child.stdout.take().map(OwnedFd::from);
    let mut pipes =
        [stdout, child.stderr.take().map(OwnedFd::from)].map(|pipe| pipe.map(File::from));
    let mut said = [Vec::new(), Vec::new()];
    loop {
        if pipes.iter().all(Option::is_none) {
            // It closes them when it ends.
            if has_ended(child)? {
                return Ok(Ok(said));
            }
            pause(BRIEFLY);
        } else if !is_something_said(&pipes)? && has_ended(child)? {
            // Something that it left behind holds them.
            return Ok(Ok(said));
        }
        for (pipe, said) in pipes.iter_mut().zip(&mut said) {
            take_said(pipe, said)?;
        }
        if let Some(cut_off) = over() {
            return Ok(Err(cut_off));
        }
    }
}

/// Waits a while for something to be said.
fn is_something_said(pipes: &[Option<File>; 2]) -> io::Result<bool> {
    let mut waited: Vec<PollFd<'_>> = pipes
        .iter()
        .flatten()
        .map(|pipe| PollFd::new(pipe, PollFlags::IN))
        .collect();
    match poll(&mut waited, Some(&LOOK)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Takes what is there of what was said, without waiting; a pipe that is closed is gone then.
fn take_said(pipe: &mut Option<File>, said: &mut Vec<u8>) -> io::Result<()> {
    let Some(open) = pipe else {
        return Ok(());
    };
    let mut ready = [PollFd::new(open, PollFlags::IN)];
    let at_once = Timespec::default();
    if !matches!(poll(&mut ready, Some(&at_once)), Ok(1..)) {
        return Ok(());
    }
    let mut bytes = [0; READ];
    match open.read(&mut bytes) {
        Ok(0) => *pipe = None,
        Ok(length) => said.extend_from_slice(&bytes[..length]),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Tells whether a child has ended; its number stays its own until somebody waits for it.
fn has_ended(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

/// Ends a child with all that it started.
fn end(child: &mut Child) -> io::Result<()> {
    let id = Pid::from_child(child);
    let signal = |signal| {
        // One without a group of its own is alone; what has ended hears nothing.
        let _ended = kill_process_group(id, signal).or_else(|_| kill_process(id, signal));
    };
    signal(Signal::TERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && !has_ended(child)? {
        pause(BRIEFLY);
    }
    signal(Signal::KILL);
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;

    #[expect(
        clippy::disallowed_methods,
        reason = "a shell stands for a git and what that starts"
    )]
    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    #[test]
    fn what_comes_to_its_own_end_has_said_all() {
        let script = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 7";
        let waited = run(&mut shell(script), Some(LONGEST), None).expect("a shell");
        let Waited::Done(output) = waited else {
            panic!("it was ended");
        };
        assert_eq!(output.status.code(), Some(7));
        assert_eq!([output.stdout.len(), output.stderr.len()], [300_000; 2]);
    }

    #[test]
    fn what_something_left_behind_holds_open_is_not_waited_for() {
        let waited = run(&mut shell("echo said; sleep 30 &"), Some(LONGEST), None);
        let Ok(Waited::Done(output)) = waited else {
            panic!("it was ended");
        };
        assert_eq!(output.stdout, b"said\n");
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "trap 'rm held; exit' TERM; touch held; sleep 30 & echo $! > child; while :; do wait; done";
        let mut command = shell(script);
        command.current_dir(&folder);
        let began = Instant::now();
        let waited = run(&mut command, Some(Duration::from_millis(300)), None);
        assert!(matches!(waited, Ok(Waited::TookTooLong)));
        assert!(began.elapsed() < Duration::from_secs(10));
        assert!(
            !folder.path().join("held").exists(),
            "it had time to clean up"
        );
        let child = std::fs::read_to_string(folder.path().join("child")).expect("a number");
        let goes_on = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
            state.is_ok_and(|state| !state.contains(") Z"))
        };
        // What was killed is gone when it comes to a processor, and by itself long after this.
        while goes_on() {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_hears_nothing_is_killed() {
        let script = "trap '' TERM; while :; do :; done";
        let waited = run(&mut shell(script), Some(Duration::from_millis(300)), None);
        assert!(matches!(waited, Ok(Waited::TookTooLong)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_wants_more_memory_than_it_may_have_gets_none() {
        let is_limited = "until [ \"$(ulimit -d)\" = 65536 ]; do :; done";
        let script = format!("{is_limited}; dd if=/dev/zero of=/dev/null count=1 bs=");
        for (length, is_given) in [("1M", true), ("100M", false)] {
            let mut command = shell(&format!("{script}{length}"));
            let most = Some(64 * 1024 * 1024);
            let waited = run(&mut command, Some(Duration::from_secs(20)), most);
            let Ok(Waited::Done(output)) = waited else {
                panic!("it was ended");
            };
            assert_eq!(output.status.success(), is_given, "{length}");
        }
    }
}
