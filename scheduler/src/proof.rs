//! What tm itself saw of an attempt's work: the proof that stands beside the agent's claim.

use crate::{Claim, ClaimStatus, Failure, GateResult, Phase, Reason};
use serde::{Deserialize, Serialize};

/// The judged facts about one attempt's work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The tree that was judged, by its full id; `None` where nothing was, and in journals from before trees were named.
    pub tree: Option<String>,
    /// Tests that failed at the base already; they never count.
    pub baseline_failed: u64,
    /// Tests that are there now and were not at the base.
    pub new: Vec<String>,
    /// RED: files of new tests that can't be loaded yet, because what they test is missing; their tests have no names.
    #[serde(default)]
    pub unloaded: Vec<String>,
    /// How much the results could tell.
    #[serde(default)]
    pub strength: Strength,
    /// By which means the tests were held to their checkout, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// RED: whether its tests were seen failing one by one, or could not be loaded for what is missing.
    #[serde(default)]
    pub seen_failing: bool,
    /// GREEN: tests of its RED that fail still.
    #[serde(default)]
    pub red_failing: Vec<String>,
    /// Tests that pass now.
    pub passed: u64,
    /// Tests that fail now.
    pub failed: u64,
    /// Tests that passed at the base and now fail, are gone, or are skipped.
    pub regressions: Vec<String>,
    /// Tests that failed once and passed when run again; they do not count.
    pub flaky: Vec<String>,
    /// Covered lines, where the test command writes a coverage report.
    pub coverage: Option<CoverageChange>,
    /// What the gates of the project say, in the order in which they were asked.
    #[serde(default)]
    pub gates: Vec<GateResult>,
    /// Why the work is refused; `None` when the proof holds.
    pub failure: Option<Failure>,
    /// Why, more finely; `None` when the proof holds.
    pub reason: Option<Reason>,
    /// Rules that the work breaks and that relaxed strictness lets pass.
    #[serde(default)]
    pub waived: Vec<Reason>,
    /// The evidence for the next attempt's prompt and for people: failing tests with what they printed, bounded.
    pub evidence: String,
    /// How long set-ups, tests, gates and hooks ran for it, in milliseconds, without what they waited for; `None` in
    /// journals from before that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_ms: Option<u64>,
    /// Files that the work changes, as many as are worth knowing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// What people should know although the proof holds, such as "exit status only".
    pub notes: Vec<String>,
}

/// How much a proof rests on, the weakest first.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// No test was run; also what journals say from before proofs had a strength.
    #[default]
    Nothing,
    /// The exit status of the test command alone, which can't tell a new failure from an old one, nor a test that passed
    /// from one that was skipped.
    ExitStatusOnly,
    /// The outcome of every test.
    PerTest,
}

impl Strength {
    /// Returns the word for work that holds: `proven` is said of nothing else than tests that were read one by one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "not tested",
            Self::ExitStatusOnly => "exit status only",
            Self::PerTest => "proven",
        }
    }

    /// Returns what a proof with so many tests rests on; journals from before proofs had a strength name none.
    #[must_use]
    pub const fn of(self, passed: u64, failed: u64) -> Self {
        match self {
            Self::Nothing if passed + failed > 0 => Self::PerTest,
            known => known,
        }
    }

    /// Says what was seen of the tests, and how much that is worth.
    pub fn describe(self, passed: u64, failed: u64, holds: bool) -> String {
        let refused = "the proof does not hold";
        match (self.of(passed, failed), holds) {
            (Self::PerTest, true) => format!("{passed} passed, {failed} failed; proven"),
            (Self::PerTest, false) => format!("{passed} passed, {failed} failed; {refused}"),
            (Self::ExitStatusOnly, true) => {
                "exit status only, no test was read one by one".to_owned()
            }
            (Self::ExitStatusOnly, false) => format!("exit status only; {refused}"),
            (Self::Nothing, true) => "none were run".to_owned(),
            (Self::Nothing, false) => refused.to_owned(),
        }
    }
}

/// Covered lines in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageChange {
    /// At the base; `None` when it was not measured there.
    pub before: Option<f64>,
    /// With the work.
    pub after: f64,
}

impl Proof {
    /// Returns the proof that work is refused for a reason which no test tells.
    pub fn refused(failure: Failure, reason: Reason, evidence: impl Into<String>) -> Self {
        Self::default().refuse(failure, reason, evidence.into())
    }

    /// Refuses the work.
    pub(crate) fn refuse(self, failure: Failure, reason: Reason, evidence: String) -> Self {
        Self {
            failure: Some(failure),
            reason: Some(reason),
            evidence,
            ..self
        }
    }

    /// Tells whether it was refused for what became of tests that passed before.
    pub const fn is_of_old_tests(&self) -> bool {
        matches!(
            self.reason,
            Some(Reason::OldTestFailed | Reason::OldTestGone | Reason::OldTestSkipped)
        )
    }

    /// Says a thing that people should know.
    pub(crate) fn noted(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Lets a rule pass that the work breaks, and says so.
    pub(crate) fn waive(mut self, reason: Reason, why: String) -> Self {
        self.waived.push(reason);
        self.noted(why)
    }

    /// Returns how much it rests on.
    pub const fn rests_on(&self) -> Strength {
        self.strength.of(self.passed, self.failed)
    }

    /// Says what was seen of the tests, and how much that is worth.
    pub fn describe(&self) -> String {
        self.strength
            .describe(self.passed, self.failed, self.holds())
    }

    /// Tells whether the work may be committed.
    pub const fn holds(&self) -> bool {
        self.failure.is_none()
    }
}

impl Claim {
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

#[cfg(test)]
mod tests {
    use super::*;

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
