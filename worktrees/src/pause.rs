//! Waits by the clock.

use rustix::event::poll;
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// Waits so long by the clock. What is slept through after each signal anew has no end where signals come all the time.
pub(crate) fn pause(length: Duration) {
    let end = Instant::now() + length;
    while let Some(left) = end.checked_duration_since(Instant::now())
        && let Ok(left) = left.try_into()
        && poll(&mut [], Some(&left)) == Err(Errno::INTR)
    {}
}
