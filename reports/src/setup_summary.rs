//! How many set-ups of checkouts a run needed, and how long they took. Does not know what they did.

use crate::human_duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use tm_scheduler::counted;

/// The set-ups of a run's checkouts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct SetupSummary {
    /// How many there were.
    pub count: u64,
    /// How long they took together, in milliseconds.
    pub total_ms: u64,
    /// How long the longest took, in milliseconds.
    pub longest_ms: u64,
}

impl SetupSummary {
    /// Adds one that took so many milliseconds.
    #[must_use]
    pub fn and(self, took_ms: u64) -> Self {
        Self {
            count: self.count + 1,
            total_ms: self.total_ms.saturating_add(took_ms),
            longest_ms: self.longest_ms.max(took_ms),
        }
    }
}

impl fmt::Display for SetupSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, longest) = (
            human_duration(self.total_ms),
            human_duration(self.longest_ms),
        );
        write!(
            formatter,
            "{}, {total} together, the longest {longest}",
            counted(self.count, "set-up")
        )
    }
}
