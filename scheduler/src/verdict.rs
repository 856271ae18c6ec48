//! Judges measured test results: RED, GREEN, plain work, and a merged tree before it lands.
//!
//! Pure: knows results, not how they were measured. A test that failed before never counts, whoever broke it.

mod evidence;
mod paths;
#[cfg(test)]
mod tests;

use crate::{Detail, Failure, Proof, TestOutcome, TestReport};
use evidence::{evidence, named};
use serde::{Deserialize, Serialize};

pub use paths::{is_test_path, test_files_of_red};

/// Lists in a proof hold so many names at the most; counts stay exact.
const MOST_NAMES: usize = 500;

/// How strictly RED and GREEN are judged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strictness {
    /// Every new test of RED has to fail; GREEN may not touch RED's test files.
    Strict,
    /// One new test of RED has to fail; GREEN may not touch RED's test files.
    #[default]
    Normal,
    /// Both are noted only.
    Relaxed,
}

/// One changed file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// Its path, relative to the repository.
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or mode is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// The proven RED that a GREEN has to satisfy.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RedFacts {
    /// Names of the tests that RED added.
    pub new_tests: Vec<String>,
    /// Files of those tests.
    pub test_files: Vec<String>,
}

/// Judges RED: new tests exist, were found, ran and fail; nothing that passed before fails.
pub fn judge_red(base: &TestReport, after: &TestReport, strictness: Strictness) -> Proof {
    let mut proof = counted(base, after);
    if let Some(why) = cannot_run(after) {
        return refused(proof, Failure::RedCannotRun, &why, after, &[]);
    }
    if after.detail == Detail::ExitStatusOnly {
        return red_by_exit_status(proof, base, after, strictness);
    }
    if !proof.regressions.is_empty() {
        let broken = proof.regressions.clone();
        return refused(proof, Failure::Regression, "tests that passed before do not now", after, &broken);
    }
    let new: Vec<&String> = after.tests.keys().filter(|name| !base.tests.contains_key(*name)).collect();
    let failing = new.iter().filter(|name| after.tests[**name] == TestOutcome::Failed).count();
    let why = match (new.len(), failing, strictness) {
        (0, _, _) if after.tests.is_empty() => {
            return refused(proof, Failure::RedCannotRun, "the test command found no tests", after, &[]);
        }
        (0, _, Strictness::Strict | Strictness::Normal) => "there is no new test",
        (_, 0, Strictness::Strict | Strictness::Normal) => "every new test passes without an implementation",
        (count, failing, Strictness::Strict) if failing < count => "some new tests pass without an implementation",
        (count, failing, _) => {
            if failing < count || count == 0 {
                proof.notes.push(format!("{failing} of {count} new tests fail"));
            }
            return proof;
        }
    };
    refused(proof, Failure::RedPassed, why, after, &[])
}

/// Without results test by test, that the command failed is all there is to see.
fn red_by_exit_status(mut proof: Proof, base: &TestReport, after: &TestReport, strictness: Strictness) -> Proof {
    let weaker = "judged by exit status only, which can't tell a new failure from an old one";
    match (base.end.succeeded(), after.end.succeeded(), strictness) {
        (_, true, Strictness::Strict | Strictness::Normal) => {
            refused(proof, Failure::RedPassed, "the test command passes", after, &[])
        }
        (false, false, Strictness::Strict) => {
            let why = "the test command failed before already, and its output can't be read test by test";
            refused(proof, Failure::RedCannotRun, why, after, &[])
        }
        (true, false, _)
        | (false, false, Strictness::Normal | Strictness::Relaxed)
        | (_, true, Strictness::Relaxed) => {
            proof.notes.push(weaker.to_owned());
            proof
        }
    }
}

/// Judges GREEN: RED's files are RED's, its tests pass, nothing that passed before fails, vanishes or is skipped.
///
/// `base` is what was there when GREEN started, RED's failing tests included; `rerun` is a second run of the same work,
/// made when `needs_rerun` says so.
pub fn judge_green(
    base: &TestReport,
    after: &TestReport,
    rerun: Option<&TestReport>,
    red: &RedFacts,
    tampered: &[String],
    strictness: Strictness,
) -> Proof {
    let mut proof = with_rerun(base, after, rerun);
    if !tampered.is_empty() {
        let why = format!("test files of RED were changed: {}", tampered.join(", "));
        if strictness != Strictness::Relaxed {
            return refused(proof, Failure::TestsTampered, &why, after, &[]);
        }
        proof.notes.push(why);
    }
    if let Some(why) = cannot_run(after) {
        return refused(proof, Failure::GreenFailing, &why, after, &[]);
    }
    if after.detail == Detail::ExitStatusOnly {
        if !after.end.succeeded() {
            return refused(proof, Failure::GreenFailing, "the test command fails", after, &[]);
        }
        proof.notes.push("judged by exit status only".to_owned());
        return proof;
    }
    let passes = |name: &String| {
        let in_run = |report: &TestReport| report.tests.get(name) == Some(&TestOutcome::Passed);
        in_run(after) || rerun.is_some_and(in_run)
    };
    let failing: Vec<String> = red.new_tests.iter().filter(|name| !passes(name)).cloned().collect();
    if !failing.is_empty() {
        let why = format!("{} of RED's {} tests do not pass", failing.len(), red.new_tests.len());
        return refused(proof, Failure::GreenFailing, &why, after, &failing);
    }
    regressions_refused(proof, after, rerun, Failure::Regression)
}

/// Judges work outside of any pair: nothing that passed before fails, and no new test fails.
pub fn judge_plain(base: &TestReport, after: &TestReport, rerun: Option<&TestReport>) -> Proof {
    let mut proof = with_rerun(base, after, rerun);
    let was_as_bad = cannot_run(base).is_some();
    if let Some(why) = cannot_run(after).filter(|_| !was_as_bad) {
        return refused(proof, Failure::Regression, &why, after, &[]);
    }
    if after.detail == Detail::ExitStatusOnly {
        let passes = after.end.succeeded() || rerun.is_some_and(|rerun| rerun.end.succeeded());
        if base.end.succeeded() && !passes {
            return refused(proof, Failure::Regression, "the test command passed before and fails now", after, &[]);
        }
        proof.notes.push("judged by exit status only".to_owned());
        return proof;
    }
    regressions_refused(proof, after, rerun, Failure::Regression)
}

/// Judges a merged tree: what passes on the integration branch, or on the task's branch alone, passes merged.
pub fn judge_landing(
    integration: &TestReport,
    branch: &TestReport,
    merged: &TestReport,
    rerun: Option<&TestReport>,
) -> Proof {
    let mut proof = with_rerun(branch, merged, rerun);
    if let Some(why) = cannot_run(merged).filter(|_| cannot_run(branch).is_none()) {
        return refused(proof, Failure::LandingRegression, &why, merged, &[]);
    }
    if merged.detail == Detail::ExitStatusOnly {
        let passes = merged.end.succeeded() || rerun.is_some_and(|rerun| rerun.end.succeeded());
        if branch.end.succeeded() && !passes {
            return refused(proof, Failure::LandingRegression, "the merged tree fails the test command", merged, &[]);
        }
        proof.notes.push("judged by exit status only".to_owned());
        return proof;
    }
    for name in with_rerun(integration, merged, rerun).regressions {
        if !proof.regressions.contains(&name) {
            proof.regressions.push(name);
        }
    }
    regressions_refused(proof, merged, rerun, Failure::LandingRegression)
}

/// Tells whether something is worse than before, so that a second run has to tell whether it is flaky.
pub fn needs_rerun(base: &TestReport, after: &TestReport) -> bool {
    let is_worse = |(name, outcome): (&String, &TestOutcome)| {
        *outcome == TestOutcome::Failed && base.tests.get(name) != Some(&TestOutcome::Failed)
    };
    match after.detail {
        Detail::PerTest => after.tests.iter().any(is_worse),
        Detail::ExitStatusOnly => base.end.succeeded() && !after.end.succeeded(),
    }
}

/// Why the tests as a whole could not be run; failing tests are no reason.
fn cannot_run(report: &TestReport) -> Option<String> {
    use crate::CommandEnd;
    match &report.end {
        CommandEnd::NotStarted(why) => return Some(format!("the test command could not be started: {why}")),
        CommandEnd::TimedOut => return Some("the test command did not end within its limit".to_owned()),
        CommandEnd::Exited(None) => return Some("a signal ended the test command".to_owned()),
        // Shells say so of a command that is not there or can't be executed.
        CommandEnd::Exited(Some(code @ (126 | 127))) if report.tests.is_empty() => {
            return Some(format!("the test command can't be executed (exit code {code})"));
        }
        CommandEnd::Exited(Some(_)) => {}
    }
    report.broken.as_ref().map(|why| format!("the tests can't be run: {why}"))
}

/// Counts, new tests and regressions of one run against what was before.
fn counted(base: &TestReport, after: &TestReport) -> Proof {
    let count = |report: &TestReport, outcome| u64::try_from(report.count(outcome)).unwrap_or(u64::MAX);
    let is_regression = |name: &&String| {
        base.tests[*name] == TestOutcome::Passed && after.tests.get(*name) != Some(&TestOutcome::Passed)
    };
    let both_tell = base.detail == Detail::PerTest && after.detail == Detail::PerTest;
    Proof {
        baseline_failed: count(base, TestOutcome::Failed),
        new: bounded(after.tests.keys().filter(|name| !base.tests.contains_key(*name))),
        passed: count(after, TestOutcome::Passed),
        failed: count(after, TestOutcome::Failed),
        regressions: if both_tell { bounded(base.tests.keys().filter(is_regression)) } else { Vec::new() },
        ..Proof::default()
    }
}

/// As `counted`, without what passed when it was run again; that is flaky, and named so.
fn with_rerun(base: &TestReport, after: &TestReport, rerun: Option<&TestReport>) -> Proof {
    let mut proof = counted(base, after);
    let Some(rerun) = rerun else { return proof };
    let passes_again = |name: &String| rerun.tests.get(name) == Some(&TestOutcome::Passed);
    let was_failing = |name: &String| base.tests.get(name) == Some(&TestOutcome::Failed);
    proof.regressions.retain(|name| !passes_again(name));
    let failed_once = after.names(TestOutcome::Failed).map(ToOwned::to_owned);
    proof.flaky = failed_once.filter(|name| passes_again(name) && !was_failing(name)).take(MOST_NAMES).collect();
    proof
}

/// Refuses what got worse, and new tests that fail.
fn regressions_refused(proof: Proof, after: &TestReport, rerun: Option<&TestReport>, failure: Failure) -> Proof {
    if !proof.regressions.is_empty() {
        let broken = proof.regressions.clone();
        return refused(proof, failure, "tests that passed before do not now", after, &broken);
    }
    let passes_again = |name: &String| rerun.is_some_and(|rerun| rerun.tests.get(name) == Some(&TestOutcome::Passed));
    let fails = |name: &&String| after.tests.get(*name) == Some(&TestOutcome::Failed) && !passes_again(name);
    let failing: Vec<String> = proof.new.iter().filter(fails).cloned().collect();
    if failing.is_empty() {
        return proof;
    }
    refused(proof, failure, "new tests fail", after, &failing)
}

fn refused(mut proof: Proof, failure: Failure, why: &str, after: &TestReport, tests: &[String]) -> Proof {
    proof.failure = Some(failure);
    proof.evidence = if tests.is_empty() { evidence(why, after) } else { named(why, after, tests) };
    proof
}

fn bounded<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.take(MOST_NAMES).cloned().collect()
}
