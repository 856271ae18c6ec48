//! What a summary needs to know of a run that its scheduler does not.

use crate::human_duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{CommitId, RunId, Tag, Timestamp};

/// Facts about a run that the scheduler does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFacts {
    /// The run.
    pub run_id: RunId,
    /// The tag.
    pub tag: Tag,
    /// The commit that the run started from.
    pub base_commit: CommitId,
    /// The integration branch.
    pub integration_branch: String,
    /// Where the integration branch stands.
    pub integration_commit: CommitId,
    /// When the run began.
    pub started_at: Timestamp,
    /// When it ended; now, while it goes on.
    pub ended_at: Timestamp,
    /// What was seen before any agent was started, where somebody looked.
    pub preflight: Option<Preflight>,
    /// The set-ups of checkouts.
    pub setups: SetupSummary,
}

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
            "set-ups {}, {total} together, the longest {longest}",
            self.count
        )
    }
}
