//! The one place that reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};
use tm_scheduler::{Timestamp, milliseconds};

/// Returns the time now.
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(milliseconds(since_epoch))
}
