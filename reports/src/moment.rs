//! Moments as reports write them.

use jiff::Timestamp as Moment;
use tm_scheduler::Timestamp;

/// Returns the moment as RFC 3339 in UTC with milliseconds.
pub(crate) fn moment(timestamp: Timestamp) -> String {
    let milliseconds = i64::try_from(timestamp.0).unwrap_or(i64::MAX);
    Moment::from_millisecond(milliseconds)
        .map_or_else(|_| timestamp.0.to_string(), |moment| format!("{moment:.3}"))
}
