//! What a summary needs to know of a run that its scheduler does not.

use crate::SetupSummary;
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
