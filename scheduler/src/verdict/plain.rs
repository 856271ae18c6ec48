//! Judges work outside of any pair, and a merged tree: nothing that passed before fails, vanishes or is skipped.

use super::compared::{cannot_run, passes, regressions_refused, with_rerun};
use super::evidence::evidence;
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
    if after.detail == Detail::PerTest {
        return regressions_refused(proof, after, rerun, failure);
    }
    if base.end.succeeded() && !passes(after, rerun) {
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
