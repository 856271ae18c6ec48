//! How long a service that refused for now is left alone, for waves and loops.

use crate::Timestamp;

/// A service that declares a longer limit is asked again after so long: what it declares may be wrong, or an agent's word.
pub(crate) const LONGEST_DECLARED_MS: u64 = 24 * 3_600_000;

/// Returns when a service that declared a reset is asked again, at most so long from now; `None` where it declared none,
/// or one that is over.
pub(crate) fn declared_reset(
    now: Timestamp,
    declared: Option<Timestamp>,
    longest_ms: u64,
) -> Option<Timestamp> {
    declared
        .filter(|&until| until > now)
        .map(|until| until.min(now.plus(longest_ms)))
}
