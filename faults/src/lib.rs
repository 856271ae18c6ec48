//! Numbered points at which a test can end the process as `kill -9` would.
//!
//! Without the feature `crash-points`, which only tests turn on, a point is nothing. With it, the variable
//! `CRASH_POINT` holds the number of the point at which the process ends, counted from 1 in the order in which points
//! are reached, and `CRASH_POINT_LOG` a file that every point adds its name to.

/// Ends the process here when this is the point that the test chose.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub const fn point(_name: &'static str) {}

/// Ends the process here when this is the point that the test chose.
#[cfg(feature = "crash-points")]
pub fn point(name: &'static str) {
    counted::point(name);
}

#[cfg(feature = "crash-points")]
mod counted {
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static REACHED: AtomicU64 = AtomicU64::new(0);
    static CHOSEN: LazyLock<Option<u64>> =
        LazyLock::new(|| std::env::var("CRASH_POINT").ok().and_then(|number| number.parse().ok()));
    static LOG: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("CRASH_POINT_LOG").ok());

    pub(super) fn point(name: &'static str) {
        let number = REACHED.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(log) = LOG.as_ref() {
            let opened = OpenOptions::new().create(true).append(true).open(log);
            let written = opened.and_then(|mut file| writeln!(file, "{name}"));
            written.expect("the log of a test can be written");
        }
        if *CHOSEN == Some(number) {
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::KILL).expect("a process can end itself");
        }
    }
}
