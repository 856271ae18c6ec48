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
        let why = |(path, why): &(String, String)| format!("{path} ({why})");
        let all = self
            .tests
            .iter()
            .cloned()
            .chain(self.frozen.iter().map(why));
        all.collect::<Vec<_>>().join(", ")
    }

    fn passed(&self) -> String {
        let files = self.describe();
        format!("changed, and passes with them as they were: {files}")
    }
}

/// A GREEN that changes such files has to pass with them as they were, too.
pub fn with_files_as_before(
    proof: Proof,
    green: &GreenWork<'_>,
    files: &AsBefore,
    rules: Rules,
) -> Proof {
    let without_coverage = Rules {
        coverage_threshold: None,
        ..rules
    };
    let as_before = judge_green(green, without_coverage);
    if as_before.holds() {
        return proof.noted(files.passed());
    }
    // What RED brought weighs more: that it is frozen says what to do.
    let (what, reason) = if files.frozen.is_empty() {
        ("tests or their runner", Reason::TestRunnerChanged)
    } else {
        let what = "files that RED brought or its tests read";
        (what, Reason::FrozenFileChanged)
    };
    let why = format!(
        "passes only because {what} were changed: {}\n\n{}",
        files.describe(),
        as_before.evidence
    );
    if rules.strictness == Strictness::Relaxed {
        return proof.waive(reason, why);
    }
    let regressions = as_before.regressions;
    Proof {
        regressions,
        ..proof
    }
    .refuse(Failure::TestsTampered, reason, why)
}

/// Work outside of any pair may change tests, since it may change what they ask for: that is said, with what they say as
/// they were. Strictly, they have to pass as they were.
pub fn judge_plain_as_before(
    proof: Proof,
    base: &TestReport,
    as_before: &TestReport,
    files: &AsBefore,
    strictness: Strictness,
) -> Proof {
    let judged = judge_plain(base, as_before, None);
    if judged.holds() {
        return proof.noted(files.passed());
    }
    let files = files.describe();
    let why = format!("passes only because tests or their runner were changed: {files}");
    let reason = Reason::TestRunnerChanged;
    if strictness != Strictness::Strict {
        return proof.waive(reason, why);
    }
    let evidence = format!("{why}\n\n{}", judged.evidence);
    let regressions = judged.regressions;
    Proof {
        regressions,
        ..proof
    }
    .refuse(Failure::TestsTampered, reason, evidence)
}
