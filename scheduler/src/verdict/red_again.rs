//! Judges what RED's tests do without GREEN's work while GREEN is judged: they have to fail still, or what turned them is
//! neither in GREEN's work nor in the project.

use super::compared::command_failed;
use super::evidence::{evidence, named};
use super::{RedFacts, Rules, Strictness};
use crate::{Detail, Failure, Proof, Reason, TestReport};

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
    let failed_then = |name: &&String| then.fails(name);
    let watched: Vec<&String> = red.new_tests.iter().filter(failed_then).collect();
    let names = |wanted: fn(&TestReport, &str) -> bool| -> Vec<String> {
        let names = watched.iter().filter(|name| wanted(now, name));
        names.map(ToString::to_string).collect()
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
    let loads = red.unloaded.iter().filter(|file| !is_unloaded(file, now));
    let loads: Vec<String> = loads.cloned().collect();
    if !loads.is_empty() && now.end.succeeded() {
        return RedAgain::Passes(loads);
    }
    let others = names(|now, name| !now.fails(name));
    match (others.is_empty(), loads.is_empty()) {
        (true, true) => RedAgain::Fails,
        (false, _) => RedAgain::Differs(format!(
            "tests that failed are not run or are skipped: {}",
            others.join(", ")
        )),
        (true, false) => RedAgain::Differs(format!(
            "files that could not be loaded can be: {}",
            loads.join(", ")
        )),
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
    let (reason, why, tests) = match again {
        RedAgain::Fails => return proof,
        RedAgain::Passes(names) => {
            let why = "tests of RED pass now without GREEN's work, so what they depend on is outside of the project";
            (Reason::RedNotFailing, why.to_owned(), names.as_slice())
        }
        RedAgain::CannotRun(how) => {
            let why = format!("RED's tests can't be run again without GREEN's work: {how}");
            (Reason::CannotRun, why, &[][..])
        }
        RedAgain::Differs(how) => {
            let why = format!(
                "RED's tests, run again without GREEN's work, do not fail as they did: {how}"
            );
            (Reason::RedNotFailing, why, &[][..])
        }
    };
    proof.refuse(Failure::GreenFailing, reason, named(&why, now, tests))
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
        return proof.noted(format!(
            "RED's tests pass with these alone, without any code: {}",
            data.join(", ")
        ));
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
