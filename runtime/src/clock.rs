//! The one place that reads the clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tm_scheduler::Timestamp;

/// Returns the time now.
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}
