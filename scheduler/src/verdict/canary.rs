//! Tells by tests that can't pass whether results come from the tests.
//!
//! Code under test can print results and exit, raise a skip, or write the file of results. What it can't do is to fail
//! where a test fails that it does not know of: so RED's tests are changed until they can't pass, and have to be told of.

use super::compared::refused;
use super::{Rules, Strictness};
use crate::{Failure, Proof, Reason, TestOutcome, TestReport};

/// Tells whether the results show that tests were changed until they can't pass: something fails, is gone, or can't be
/// loaded that was otherwise before.
pub fn tells_of_canary(before: &TestReport, with_canary: &TestReport) -> bool {
    let failed =
        |report: &TestReport, name: &String| report.tests.get(name) == Some(&TestOutcome::Failed);
    let is_worse = |(name, outcome): (&String, &TestOutcome)| {
        *outcome == TestOutcome::Passed && with_canary.tests.get(name) != Some(&TestOutcome::Passed)
    };
    let fails_now = |name: &String| failed(with_canary, name) && !failed(before, name);
    before.end.succeeded() && !with_canary.end.succeeded()
        || before.broken.is_none() && with_canary.broken.is_some()
        || with_canary
            .load_errors
            .iter()
            .any(|error| !before.load_errors.contains(error))
        || before.tests.iter().any(is_worse)
        || with_canary.tests.keys().any(fails_now)
}

/// Tells whether a file that does nothing but fail, in the place of a test, is seen to fail: a test fails that was not
/// there, or the command does. Tests that are gone say nothing; they may have been in that place.
pub fn control_tells(before: &TestReport, control: &TestReport) -> bool {
    let is_new_failure = |(name, outcome): (&String, &TestOutcome)| {
        *outcome == TestOutcome::Failed && before.tests.get(name) != Some(&TestOutcome::Failed)
    };
    control.tests.iter().any(is_new_failure) || before.end.succeeded() && !control.end.succeeded()
}

/// Refuses work whose results stay the same when its tests can't pass.
pub fn canary_was_missed(proof: Proof, with_canary: &TestReport, files: &[String]) -> Proof {
    let why = format!(
        "the results are the same with tests that can't pass, so they do not come from the tests: {}",
        { files.join(", ") }
    );
    refused(
        proof,
        Failure::TestsTampered,
        Reason::ResultsNotFromTests,
        &why,
        with_canary,
        &[],
    )
}

/// Refuses results of tests that are not those which were to be run: `files` were written to while the command ran.
pub fn tests_were_rewritten(mut proof: Proof, files: &[String], rules: Rules) -> Proof {
    let why = format!(
        "tests, or what runs them, were changed while they ran: {}",
        files.join(", ")
    );
    if rules.strictness == Strictness::Relaxed {
        proof.notes.push(why);
        proof.waived.push(Reason::ResultsNotFromTests);
        return proof;
    }
    Proof {
        failure: Some(Failure::TestsTampered),
        reason: Some(Reason::ResultsNotFromTests),
        evidence: why,
        ..proof
    }
}
