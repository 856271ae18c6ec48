//! Judges work outside of any pair, and a merged tree: nothing that passed before fails, vanishes or is skipped. Judges
//! any work once more with some of its files as they were before: tests, what RED brought, and what decides how tests are
//! run. What passes only with them changed has changed the question.

use super::compared::{cannot_run, evidence, passes, regressions_refused, with_rerun};
use super::{GreenWork, Rules, Strictness, judge_green};
use crate::{Detail, Failure, Proof, Reason, TestReport};

/// What is said of a proof that rests on the exit status.
pub(super) const BY_EXIT_STATUS: &str = "judged by exit status only";

/// Judges work outside of any pair: nothing that passed before fails, and no new test fails.
pub fn judge_plain(base: &TestReport, after: &TestReport, rerun: Option<&TestReport>) -> Proof {
    let proof = with_rerun(base, after, rerun);
    let failure = Failure::Regression;
    let was_as_bad = cannot_run(base).is_some();
    if let Some(why) = cannot_run(after).filter(|_| !was_as_bad) {
        return proof.refuse(failure, Reason::CannotRun, evidence(&why, after));
    }
    let ends_worse = base.end.succeeded() && !passes(after, rerun);
    // Where no results could be read before, how the command ended is all that is known.
    if after.detail == Detail::PerTest && !(was_as_bad && ends_worse) {
        return regressions_refused(proof, after, rerun, failure);
    }
    if ends_worse {
        let why = "the test command passed before and fails now";
        return proof.refuse(failure, Reason::ExitStatusOnly, evidence(why, after));
    }
    proof.noted(BY_EXIT_STATUS)
}

/// Judges a merged tree, just measured or known from before: what passes on the integration branch, or on the task's
/// branch alone, passes merged, and nothing fails that does not fail on the integration branch already.
pub fn judge_landing(
    integration: &TestReport,
    branch: &TestReport,
    merged: &TestReport,
    rerun: Option<&TestReport>,
) -> Proof {
    let mut proof = with_rerun(branch, merged, rerun);
    let failure = Failure::LandingRegression;
    let as_bad = |report: &TestReport| cannot_run(report).is_some();
    if let Some(why) = cannot_run(merged).filter(|_| !as_bad(branch) || !as_bad(integration)) {
        return proof.refuse(failure, Reason::CannotRun, evidence(&why, merged));
    }
    if merged.detail == Detail::ExitStatusOnly {
        if (branch.end.succeeded() || integration.end.succeeded()) && !passes(merged, rerun) {
            let why = "the merged tree fails the test command";
            return proof.refuse(failure, Reason::ExitStatusOnly, evidence(why, merged));
        }
        return proof.noted(BY_EXIT_STATUS);
    }
    let against_integration = with_rerun(integration, merged, rerun);
    add_new(&mut proof.regressions, against_integration.regressions);
    // A test that fails on the branch alone, too, was never proven there; it is new where the branch is to land.
    add_new(&mut proof.new, against_integration.new);
    proof.new.retain(|name| !integration.fails(name));
    regressions_refused(proof, merged, rerun, failure)
}

fn add_new(names: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

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
        let frozen = self.frozen.iter().map(|(path, _)| path);
        self.tests.iter().chain(frozen).cloned().collect()
    }

    fn describe(&self) -> String {
        let mut all = self.tests.clone();
        let frozen = self.frozen.iter();
        all.extend(frozen.map(|(path, why)| format!("{path} ({why})")));
        all.join(", ")
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
    tampered(proof, as_before.regressions, reason, why)
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
    tampered(proof, judged.regressions, reason, evidence)
}

fn tampered(proof: Proof, regressions: Vec<String>, reason: Reason, evidence: String) -> Proof {
    let proof = Proof {
        regressions,
        ..proof
    };
    proof.refuse(Failure::TestsTampered, reason, evidence)
}
