//! Tells by tests that can't pass whether results come from the tests.
//!
//! Code under test can print results and exit, raise a skip, or write the file of results. What it can't do is to fail
//! where a test fails that it does not know of: so RED's tests are changed until they can't pass, and have to be told of.

use super::evidence::evidence;
use super::{Rules, Strictness};
use crate::{Failure, Proof, Reason, TestOutcome, TestReport};

/// Tells whether the results show that tests were changed until they can't pass: something fails, is gone, or can't be
/// loaded that was otherwise before.
pub fn tells_of_canary(before: &TestReport, with_canary: &TestReport) -> bool {
    let mut passed = before.names(TestOutcome::Passed);
    before.end.succeeded() && !with_canary.end.succeeded()
        || before.broken.is_none() && with_canary.broken.is_some()
        || with_canary
            .load_errors
            .iter()
            .any(|error| !before.load_errors.contains(error))
        || passed.any(|name| !with_canary.passes(name))
        || with_canary.has_new_failure(before)
}

/// Tells whether a file that does nothing but fail, in the place of a test, is seen to fail: a test fails that was not
/// there, or the command does. Tests that are gone say nothing; they may have been in that place.
pub fn control_tells(before: &TestReport, control: &TestReport) -> bool {
    control.has_new_failure(before) || before.end.succeeded() && !control.end.succeeded()
}

/// Refuses work whose results stay the same when its tests can't pass.
pub fn canary_was_missed(proof: Proof, with_canary: &TestReport, files: &[String]) -> Proof {
    let why = format!(
        "the results are the same with tests that can't pass, so they do not come from the tests: {}",
        files.join(", ")
    );
    let evidence = evidence(&why, with_canary);
    proof.refuse(
        Failure::TestsTampered,
        Reason::ResultsNotFromTests,
        evidence,
    )
}

/// Refuses results of tests that are not those which were to be run: `files` were written to while the command ran.
pub fn tests_were_rewritten(proof: Proof, files: &[String], rules: Rules) -> Proof {
    let why = format!(
        "tests, or what runs them, were changed while they ran: {}",
        files.join(", ")
    );
    if rules.strictness == Strictness::Relaxed {
        return proof.waive(Reason::ResultsNotFromTests, why);
    }
    proof.refuse(Failure::TestsTampered, Reason::ResultsNotFromTests, why)
}
