//! Judges work once more with some of its files as they were before: tests, what RED brought, and what decides how tests
//! are run. What passes only with them changed has changed the question.

use super::{GreenWork, Rules, Strictness, judge_green, judge_plain};
use crate::{Failure, Proof, Reason, TestReport};

/// Files that are as they were before in a measurement.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AsBefore {
    /// Tests that were there, and what decides how tests are run.
    pub tests: Vec<String>,
    /// What RED brought or changed, and data that its tests read; why is said beside each.
    pub frozen: Vec<(String, String)>,
}

impl AsBefore {
    /// Tells whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.frozen.is_empty()
    }

    /// Returns the paths of all of them.
    pub fn paths(&self) -> Vec<String> {
        let frozen = self.frozen.iter().map(|(path, _)| path.clone());
        self.tests.iter().cloned().chain(frozen).collect()
    }

    fn describe(&self) -> String {
        let frozen = self
            .frozen
            .iter()
            .map(|(path, why)| format!("{path} ({why})"));
        self.tests
            .iter()
            .cloned()
            .chain(frozen)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// What RED brought weighs more: that it is frozen says what to do.
    const fn reason(&self) -> Reason {
        if self.frozen.is_empty() {
            Reason::TestRunnerChanged
        } else {
            Reason::FrozenFileChanged
        }
    }
}

/// A GREEN that changes such files has to pass with them as they were, too.
pub fn with_files_as_before(
    mut proof: Proof,
    green: &GreenWork<'_>,
    files: &AsBefore,
    rules: Rules,
) -> Proof {
    let as_before = judge_green(
        green,
        Rules {
            coverage_threshold: None,
            ..rules
        },
    );
    if as_before.holds() {
        proof.notes.push(format!(
            "changed, and passes with them as they were: {}",
            files.describe()
        ));
        return proof;
    }
    let (what, reason) = match files.reason() {
        Reason::FrozenFileChanged => (
            "files that RED brought or its tests read",
            Reason::FrozenFileChanged,
        ),
        _ => ("tests or their runner", Reason::TestRunnerChanged),
    };
    let why = format!(
        "passes only because {what} were changed: {}\n\n{}",
        files.describe(),
        as_before.evidence
    );
    if rules.strictness == Strictness::Relaxed {
        proof.notes.push(why);
        proof.waived.push(reason);
        return proof;
    }
    let regressions = as_before.regressions;
    Proof {
        failure: Some(Failure::TestsTampered),
        reason: Some(reason),
        evidence: why,
        regressions,
        ..proof
    }
}

/// Work outside of any pair may change tests, since it may change what they ask for: that is said, with what they say as
/// they were. Strictly, they have to pass as they were.
pub fn judge_plain_as_before(
    mut proof: Proof,
    base: &TestReport,
    as_before: &TestReport,
    files: &AsBefore,
    strictness: Strictness,
) -> Proof {
    let judged = judge_plain(base, as_before, None);
    let files = files.describe();
    if judged.holds() {
        proof.notes.push(format!(
            "changed, and passes with them as they were: {files}"
        ));
        return proof;
    }
    let why = format!("passes only because tests or their runner were changed: {files}");
    if strictness == Strictness::Strict {
        let (failure, reason) = (
            Some(Failure::TestsTampered),
            Some(Reason::TestRunnerChanged),
        );
        let evidence = format!("{why}\n\n{}", judged.evidence);
        return Proof {
            failure,
            reason,
            evidence,
            regressions: judged.regressions,
            ..proof
        };
    }
    proof.notes.push(why);
    proof.waived.push(Reason::TestRunnerChanged);
    proof
}
