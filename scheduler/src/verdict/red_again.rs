//! Judges what RED's tests do without GREEN's work while GREEN is judged: they have to fail still, or what turned them is
//! neither in GREEN's work nor in the project. Tells by tests that can't pass whether results come from the tests.
//!
//! Code under test can print results and exit, raise a skip, or write the file of results. What it can't do is to fail
//! where a test fails that it does not know of: so RED's tests are changed until they can't pass, and have to be told of.

use super::compared::{command_failed, evidence, named};
use super::{RedFacts, Rules, Strictness};
use crate::{Detail, Failure, Proof, Reason, TestOutcome, TestReport, first_files};

/// What RED's tests do when they are run again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RedAgain {
    /// They fail as they did.
    Fails,
    /// Some pass; holds their names, or the files in which they are.
    Passes(Vec<String>),
    /// They neither pass nor fail as they did; holds what they do instead.
    Differs(String),
    /// The test command did not come to an end; holds how it ended.
    CannotRun(String),
}

/// Compares RED's tests with what they did when RED was proven. Those that passed then are not asked for anything.
pub fn red_again(red: &RedFacts, then: &TestReport, now: &TestReport) -> RedAgain {
    let mut watched = red.new_tests.clone();
    watched.retain(|name| then.fails(name));
    let names = |wanted: fn(&TestReport, &str) -> bool| -> Vec<String> {
        watched
            .iter()
            .filter(|name| wanted(now, name))
            .cloned()
            .collect()
    };
    if let Some(why) = command_failed(now) {
        return RedAgain::CannotRun(why);
    }
    let passing = names(TestReport::passes);
    if !passing.is_empty() {
        return RedAgain::Passes(passing);
    }
    if watched.is_empty() && red.unloaded.is_empty() {
        return by_exit_status(then, now);
    }
    let mut loads = red.unloaded.clone();
    loads.retain(|file| !is_unloaded(file, now));
    if !loads.is_empty() && now.end.succeeded() {
        return RedAgain::Passes(loads);
    }
    let others = names(|now, name| !now.fails(name));
    let (tests, files) = (others.join(", "), loads.join(", "));
    match (others.is_empty(), loads.is_empty()) {
        (true, true) => RedAgain::Fails,
        (false, _) => RedAgain::Differs(format!(
            "tests that failed are not run or are skipped: {tests}"
        )),
        (true, false) => {
            RedAgain::Differs(format!("files that could not be loaded can be: {files}"))
        }
    }
}

/// Without names there is only the end of the command; a RED of which nothing failed has nothing to fail again.
fn by_exit_status(then: &TestReport, now: &TestReport) -> RedAgain {
    if then.detail == Detail::ExitStatusOnly && !then.end.succeeded() && now.end.succeeded() {
        return RedAgain::Passes(vec!["the test command".to_owned()]);
    }
    RedAgain::Fails
}

/// Whether an error keeps a file from loading; one that names none may be of any.
pub(super) fn is_unloaded(file: &str, now: &TestReport) -> bool {
    now.load_errors
        .iter()
        .any(|error| error.file.as_deref().is_none_or(|named| named == file))
}

/// Refuses a GREEN whose RED does not fail without it any more: it proves nothing, whatever GREEN did.
pub fn red_does_not_fail(proof: Proof, again: &RedAgain, now: &TestReport) -> Proof {
    let (reason, evidence) = match again {
        RedAgain::Fails => return proof,
        RedAgain::Passes(names) => {
            let why = "tests of RED pass now without GREEN's work, so what they depend on is outside of the project";
            (Reason::RedNotFailing, named(why, now, names))
        }
        RedAgain::CannotRun(how) => {
            let why = format!("RED's tests can't be run again without GREEN's work: {how}");
            (Reason::CannotRun, evidence(&why, now))
        }
        RedAgain::Differs(how) => {
            let why = format!(
                "RED's tests, run again without GREEN's work, do not fail as they did: {how}"
            );
            (Reason::RedNotFailing, evidence(&why, now))
        }
    };
    proof.refuse(Failure::GreenFailing, reason, evidence)
}

/// RED's tests pass with nothing of GREEN's work but files that are no code. Settings that do so bend how tests are run;
/// data may be what the task asked for.
pub fn only_settings_pass(
    proof: Proof,
    settings: &[String],
    data: &[String],
    now: &TestReport,
    rules: Rules,
) -> Proof {
    if settings.is_empty() {
        let data = data.join(", ");
        let note = format!("RED's tests pass with these alone, without any code: {data}");
        return proof.noted(note);
    }
    let why = format!(
        "RED's tests pass with changed settings alone, without any code: {}",
        settings.join(", ")
    );
    if rules.strictness == Strictness::Relaxed {
        return proof.waive(Reason::TestRunnerChanged, why);
    }
    let evidence = evidence(&why, now);
    proof.refuse(Failure::TestsTampered, Reason::TestRunnerChanged, evidence)
}

/// Tells whether the results show that tests were changed until they can't pass: something fails, is gone, or can't be
/// loaded that was otherwise before.
pub fn tells_of_canary(before: &TestReport, with_canary: &TestReport) -> bool {
    let mut passed = before.names(TestOutcome::Passed);
    let mut errors = with_canary.load_errors.iter();
    control_tells(before, with_canary)
        || before.broken.is_none() && with_canary.broken.is_some()
        || errors.any(|error| !before.load_errors.contains(error))
        || passed.any(|name| !with_canary.passes(name))
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
        first_files(files)
    );
    let (failure, reason) = (Failure::TestsTampered, Reason::ResultsNotFromTests);
    proof.refuse(failure, reason, evidence(&why, with_canary))
}

/// Refuses results of tests that are not those which were to be run: `files` were written to while the command ran.
pub fn tests_were_rewritten(proof: Proof, files: &[String], rules: Rules) -> Proof {
    let why = format!(
        "tests, or what runs them, were changed while they ran: {}",
        first_files(files)
    );
    if rules.strictness == Strictness::Relaxed {
        return proof.waive(Reason::ResultsNotFromTests, why);
    }
    proof.refuse(Failure::TestsTampered, Reason::ResultsNotFromTests, why)
}
