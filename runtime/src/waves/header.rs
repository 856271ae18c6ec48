//! The first record of a journal: everything that a run was started with and that replaying needs.

use serde::{Deserialize, Serialize};
use tm_scheduler::{CommitId, Limits, RunId, Tag, Timestamp, WavePlan};

/// What a run was started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The run.
    pub run_id: RunId,
    /// The tag of the backlog.
    pub tag: Tag,
    /// The backlog's path.
    pub backlog: String,
    /// When the run began.
    pub started_at: Timestamp,
    /// The commit that it starts from.
    pub base_commit: CommitId,
    /// The integration branch.
    pub integration_branch: String,
    /// The plan.
    pub plan: WavePlan,
    /// The limits at the start.
    pub limits: Limits,
}
