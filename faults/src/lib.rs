//! Numbered points at which a test can end the process as `kill -9` would, or let an action fail as a full disk would.
//!
//! Without the feature `crash-points`, which only tests turn on, a point is nothing. With it, points are counted from 1
//! in the order in which they are reached, and these variables choose:
//!
//! - `CRASH_POINT`: the number of the point at which the process ends;
//! - `FAULT_POINT`: the number of the point at which an action fails, `12` for that one, `12-` for all from there on,
//!   `agent: rename#3` for the third of that name, whatever goes on beside it;
//! - `FAULT_ERROR`: how it fails, `ENOSPC` (when not given), `EROFS`, `EACCES` or `EIO`;
//! - `CRASH_POINT_LOG`: a file that every point adds its name to, with a `?` behind those that can fail;
//! - `LONGEST_GIT`: how long a git may take, in milliseconds.

use std::time::Duration;

/// Ends the process here when this is the point that the test chose.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub const fn point(_name: &'static str) {}

/// Ends the process here when this is the point that the test chose.
#[cfg(feature = "crash-points")]
pub fn point(name: &'static str) {
    counted::reach(name, "");
}

/// Ends the process here, or says how the action that comes next fails, when this is the point that the test chose.
///
/// # Errors
/// The test wants one.
#[cfg(not(feature = "crash-points"))]
#[inline]
#[expect(clippy::missing_const_for_fn, reason = "with the feature it is not")]
pub fn check(_name: &'static str) -> std::io::Result<()> {
    Ok(())
}

/// Ends the process here, or says how the action that comes next fails, when this is the point that the test chose.
///
/// # Errors
/// The test wants one.
#[cfg(feature = "crash-points")]
pub fn check(name: &'static str) -> std::io::Result<()> {
    counted::fail(&counted::reach(name, "?"))
}

/// Returns how long a git may take: not so long where a test says so.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub const fn longest_git(longest: Duration) -> Duration {
    longest
}

/// Returns how long a git may take: not so long where a test says so.
#[cfg(feature = "crash-points")]
pub fn longest_git(longest: Duration) -> Duration {
    static CHOSEN: std::sync::LazyLock<Option<Duration>> = std::sync::LazyLock::new(|| {
        let milliseconds = std::env::var("LONGEST_GIT").ok()?.parse().ok()?;
        Some(Duration::from_millis(milliseconds))
    });
    CHOSEN.map_or(longest, |chosen| chosen.min(longest))
}

#[cfg(feature = "crash-points")]
mod counted {
    use rustix::io::Errno;
    use std::collections::BTreeMap;
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex, PoisonError};

    static REACHED: AtomicU64 = AtomicU64::new(0);
    static CHOSEN: LazyLock<Option<u64>> = LazyLock::new(|| {
        std::env::var("CRASH_POINT")
            .ok()
            .and_then(|number| number.parse().ok())
    });
    static LOG: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("CRASH_POINT_LOG").ok());
    static FAULT: LazyLock<Option<Fault>> = LazyLock::new(Fault::from_environment);

    static NAMED: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());

    /// Which points fail, and how.
    struct Fault {
        /// The name that the numbers count; without one they count all points.
        name: Option<String>,
        first: u64,
        last: u64,
        error: Errno,
    }

    /// A point that was reached: its number, and its number among those of its name.
    pub(super) struct Reached {
        name: &'static str,
        number: u64,
        of_name: u64,
    }

    impl Fault {
        fn from_environment() -> Option<Self> {
            let text = std::env::var("FAULT_POINT").ok()?;
            let (name, text) = match text.split_once('#') {
                Some((name, number)) => (Some(name.to_owned()), number.to_owned()),
                None => (None, text),
            };
            let first = text.trim_end_matches('-').parse().ok()?;
            let last = if text.ends_with('-') { u64::MAX } else { first };
            let error = match std::env::var("FAULT_ERROR").as_deref() {
                Ok("EROFS") => Errno::ROFS,
                Ok("EACCES") => Errno::ACCESS,
                Ok("EIO") => Errno::IO,
                _ => Errno::NOSPC,
            };
            Some(Self {
                name,
                first,
                last,
                error,
            })
        }
    }

    /// Counts a point and ends the process when it is the chosen one; returns its number.
    pub(super) fn reach(name: &'static str, mark: &str) -> Reached {
        let number = REACHED.fetch_add(1, Ordering::SeqCst) + 1;
        let of_name = {
            let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
            let count = named.entry(name).or_default();
            *count += 1;
            *count
        };
        if let Some(log) = LOG.as_ref() {
            let opened = OpenOptions::new().create(true).append(true).open(log);
            let written = opened.and_then(|mut file| writeln!(file, "{name}{mark}"));
            written.expect("the log of a test can be written");
        }
        if *CHOSEN == Some(number) {
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::KILL)
                .expect("a process can end itself");
        }
        Reached {
            name,
            number,
            of_name,
        }
    }

    pub(super) fn fail(reached: &Reached) -> std::io::Result<()> {
        let Some(fault) = FAULT.as_ref() else {
            return Ok(());
        };
        let number = match &fault.name {
            Some(name) if name != reached.name => return Ok(()),
            Some(_) => reached.of_name,
            None => reached.number,
        };
        if (fault.first..=fault.last).contains(&number) {
            Err(fault.error.into())
        } else {
            Ok(())
        }
    }
}
