//! What tm itself saw of an attempt's work: the proof that stands beside the agent's claim.

use crate::Failure;
use serde::{Deserialize, Serialize};

/// The judged facts about one attempt's work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Tests that failed at the base already; they never count.
    pub baseline_failed: u64,
    /// Tests that are there now and were not at the base.
    pub new: Vec<String>,
    /// Tests that pass now.
    pub passed: u64,
    /// Tests that fail now.
    pub failed: u64,
    /// Tests that passed at the base and now fail, are gone, or are skipped.
    pub regressions: Vec<String>,
    /// Tests that failed once and passed when run again; they do not count.
    pub flaky: Vec<String>,
    /// Why the work is refused; `None` when the proof holds.
    pub failure: Option<Failure>,
    /// The evidence for the next attempt's prompt and for people: failing tests with what they printed, bounded.
    pub evidence: String,
    /// What people should know although the proof holds, such as "exit status only".
    pub notes: Vec<String>,
}

impl Proof {
    /// Tells whether the work may be committed.
    pub const fn holds(&self) -> bool {
        self.failure.is_none()
    }
}
