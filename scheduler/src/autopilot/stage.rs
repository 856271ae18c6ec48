//! Where a run of autopilot, and the subtask under way, can be.

use super::TestCounts;
use crate::{CommitId, TaskId};
use serde::{Deserialize, Serialize};

/// One subtask, or the task itself where it has none.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct WorkItem {
    /// Its id, absolute.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// How far it is.
    pub progress: Progress,
}

/// How far a subtask is.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// Not committed; the first one of these is being worked on.
    Open,
    /// Committed by this run.
    Committed(CommitId),
    /// Finished by somebody else.
    Skipped,
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The surroundings are being checked; the branch comes next.
    Preflight,
    /// The surroundings are in order; the branch is being made, then comes the first subtask.
    BranchSetup,
    /// The first open subtask is being worked on.
    SubtaskLoop(Step),
    /// Everything is committed; the whole suite has to pass once more.
    Finalize,
    /// Nothing is left to do.
    Complete,
    /// Nothing goes on until somebody resumes it.
    Paused {
        /// Where it goes on.
        at: Box<Self>,
        /// Why it stopped.
        why: PauseReason,
    },
    /// Given up; its branch stays unless it was removed.
    Aborted,
}

/// Where the subtask under way is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Tests that fail are awaited.
    Red {
        /// The number of the try, from 1; RED may be tried for ever.
        attempt: u32,
    },
    /// RED holds; an implementation that makes everything pass is awaited.
    Green {
        /// What RED reported.
        red: TestCounts,
        /// The number of the try, from 1.
        attempt: u32,
        /// The last try before the run is paused.
        allowed: u32,
    },
    /// GREEN holds; the commit is awaited.
    Commit {
        /// What RED reported.
        red: TestCounts,
        /// What GREEN reported.
        green: TestCounts,
        /// The coverage in percent that GREEN reported.
        coverage: Option<f64>,
        /// The try that held.
        attempt: u32,
    },
}

words! {
    /// Why a run is paused.
    pub enum PauseReason {
        /// Somebody asked.
        Asked = "asked",
        /// GREEN was tried as often as allowed.
        AttemptsUsedUp = "attempts-used-up",
    }
}
