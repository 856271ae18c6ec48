//! What an agent says of its own work: the content of a result file.
//!
//! A claim is recorded beside the proof and never stands in for it. Reading the file is not done here.

use serde::{Deserialize, Serialize};

words! {
    /// The status an agent claims.
    pub enum ClaimStatus {
        /// Everything asked for is there.
        Pass = "pass",
        /// The work stands, non-functional points are open.
        Partial = "partial",
        /// The work is not done.
        Fail = "fail",
    }
}

/// One claim: what a result file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The claimed status.
    pub status: ClaimStatus,
    /// Tests that the agent says passed.
    pub tests_passed: Option<u64>,
    /// Tests that the agent says failed.
    pub tests_failed: Option<u64>,
    /// Paths that the agent says it changed, as written; never trusted as paths.
    pub files: Vec<String>,
    /// Open points in the agent's words.
    pub issues: Vec<String>,
}

impl Claim {
    /// Returns a claim of a status that says nothing besides.
    pub const fn of(status: ClaimStatus) -> Self {
        Self {
            status,
            tests_passed: None,
            tests_failed: None,
            files: Vec::new(),
            issues: Vec::new(),
        }
    }
}

/// What was found at the place of the result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultFile {
    /// No file.
    Missing,
    /// A file that is empty, half-written or not in the format, after all re-reads; holds what is wrong with it.
    Malformed(String),
    /// A valid file.
    Claimed(Claim),
}
