//! Judges work outside of any pair, and a merged tree: nothing that passed before fails, vanishes or is skipped.

use super::compared::{cannot_run, refused, regressions_refused, with_rerun};
use crate::{Detail, Failure, Proof, Reason, TestOutcome, TestReport};

/// Judges work outside of any pair: nothing that passed before fails, and no new test fails.
pub fn judge_plain(base: &TestReport, after: &TestReport, rerun: Option<&TestReport>) -> Proof {
    let mut proof = with_rerun(base, after, rerun);
    let was_as_bad = cannot_run(base).is_some();
    if let Some(why) = cannot_run(after).filter(|_| !was_as_bad) {
        return refused(
            proof,
            Failure::Regression,
            Reason::CannotRun,
            &why,
            after,
            &[],
        );
    }
    if after.detail == Detail::ExitStatusOnly {
        if base.end.succeeded() && !passes(after, rerun) {
            let why = "the test command passed before and fails now";
            return refused(
                proof,
                Failure::Regression,
                Reason::ExitStatusOnly,
                why,
                after,
                &[],
            );
        }
        proof.notes.push("judged by exit status only".to_owned());
        return proof;
    }
    regressions_refused(proof, after, rerun, Failure::Regression)
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
    let as_bad = |report: &TestReport| cannot_run(report).is_some();
    if let Some(why) = cannot_run(merged).filter(|_| !as_bad(branch) || !as_bad(integration)) {
        return refused(
            proof,
            Failure::LandingRegression,
            Reason::CannotRun,
            &why,
            merged,
            &[],
        );
    }
    if merged.detail == Detail::ExitStatusOnly {
        if (branch.end.succeeded() || integration.end.succeeded()) && !passes(merged, rerun) {
            let why = "the merged tree fails the test command";
            return refused(
                proof,
                Failure::LandingRegression,
                Reason::ExitStatusOnly,
                why,
                merged,
                &[],
            );
        }
        proof.notes.push("judged by exit status only".to_owned());
        return proof;
    }
    let against_integration = with_rerun(integration, merged, rerun);
    for name in against_integration.regressions {
        if !proof.regressions.contains(&name) {
            proof.regressions.push(name);
        }
    }
    // A test that fails on the branch alone, too, was never proven there; it is new where the branch is to land.
    for name in against_integration.new {
        if !proof.new.contains(&name) {
            proof.new.push(name);
        }
    }
    let fails_there = |name: &String| integration.tests.get(name) == Some(&TestOutcome::Failed);
    proof.new.retain(|name| !fails_there(name));
    regressions_refused(proof, merged, rerun, Failure::LandingRegression)
}

fn passes(report: &TestReport, rerun: Option<&TestReport>) -> bool {
    report.end.succeeded() || rerun.is_some_and(|rerun| rerun.end.succeeded())
}
