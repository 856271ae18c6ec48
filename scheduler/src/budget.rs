//! What agents spent, whether that, or the time, is used up, and how long a service that refused for now is left alone: one
//! answer for runs, tasks and loops.

use crate::{Timestamp, Tokens};

/// What agents reported that they spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
}

impl Spent {
    /// Adds what one agent reports, as far as it does.
    pub(crate) fn add(&mut self, (tokens, cost_usd): (Option<Tokens>, Option<f64>)) {
        let tokens = tokens.map_or(0, Tokens::total);
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost_usd += cost_usd.unwrap_or(0.0);
    }

    /// Returns what is counted of it where so much is the most.
    pub(crate) fn at_most(self, max_tokens: Option<u64>, max_cost_usd: Option<f64>) -> Self {
        Self {
            tokens: self.tokens.min(max_tokens.unwrap_or(u64::MAX)),
            cost_usd: self.cost_usd.min(max_cost_usd.unwrap_or(f64::MAX)),
        }
    }

    /// Tells whether a budget is used up; what has no limit never is.
    pub(crate) fn uses_up(self, max_tokens: Option<u64>, max_cost_usd: Option<f64>) -> bool {
        max_tokens.is_some_and(|most| self.tokens >= most)
            || max_cost_usd.is_some_and(|most| self.cost_usd >= most)
    }
}

/// Tells whether nothing is started any more at that moment.
pub(crate) fn is_too_late(at: Timestamp, deadline: Option<Timestamp>) -> bool {
    deadline.is_some_and(|deadline| at >= deadline)
}

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
