//! What an agent says of its own work: the content of a result file.
//!
//! A claim is recorded beside the proof and never stands in for it. Reading the file is not done here.

use crate::{Phase, Proof, Strength};
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

    /// Returns in words where the claim says more than the proof shows.
    ///
    /// Agents may run a part of the tests only, so a smaller number is no difference.
    pub fn differences(&self, proof: &Proof, phase: Phase) -> Vec<String> {
        let mut differences = Vec::new();
        if self.status != ClaimStatus::Fail
            && let Some(reason) = proof.reason
        {
            differences.push(format!("claims {}, but {reason}", self.status.as_str()));
        }
        // Where tests can't be counted, nobody is told to have counted wrongly.
        if proof.strength == Strength::ExitStatusOnly {
            return differences;
        }
        if let Some(claimed) = self.tests_passed.filter(|&claimed| claimed > proof.passed) {
            differences.push(format!(
                "claims {claimed} tests passed, {} do",
                proof.passed
            ));
        }
        let new_failures = proof.failed.saturating_sub(proof.baseline_failed);
        let claims_fewer = |&claimed: &u64| claimed < new_failures && phase != Phase::Red;
        if let Some(claimed) = self.tests_failed.filter(claims_fewer) {
            differences.push(format!(
                "claims {claimed} tests failed, {new_failures} more than before do"
            ));
        }
        differences
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, Reason};

    #[test]
    fn a_claim_that_says_more_than_the_proof_differs() {
        let claim = |status, passed, failed| Claim {
            status,
            tests_passed: passed,
            tests_failed: failed,
            files: Vec::new(),
            issues: Vec::new(),
        };
        let good = Proof {
            passed: 5,
            failed: 1,
            baseline_failed: 1,
            ..Proof::default()
        };
        let bad = Proof {
            failed: 3,
            ..Proof::refused(Failure::GreenFailing, Reason::RedTestsFail, "")
        };
        let differences = |claim: Claim, proof: &Proof| claim.differences(proof, Phase::Green);
        assert!(differences(claim(ClaimStatus::Pass, Some(5), Some(0)), &good).is_empty());
        assert!(differences(claim(ClaimStatus::Pass, Some(2), None), &good).is_empty());
        assert_eq!(
            differences(claim(ClaimStatus::Pass, Some(9), None), &good),
            ["claims 9 tests passed, 5 do"]
        );
        assert_eq!(
            differences(claim(ClaimStatus::Pass, Some(0), Some(0)), &bad),
            [
                "claims pass, but red-tests-fail",
                "claims 0 tests failed, 3 more than before do"
            ]
        );
        assert!(differences(claim(ClaimStatus::Fail, None, None), &bad).is_empty());
        let uncounted = Proof {
            strength: Strength::ExitStatusOnly,
            ..Proof::default()
        };
        assert!(differences(claim(ClaimStatus::Pass, Some(9), Some(0)), &uncounted).is_empty());
    }
}
