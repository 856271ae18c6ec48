//! Judges GREEN: RED's files are RED's, its tests pass, nothing that passed before fails, vanishes or is skipped.

use super::compared::{
    bounded, cannot_run, evidence, mistakes_evidence, named, passes, regressions_refused,
    with_rerun,
};
use super::plain::BY_EXIT_STATUS;
use super::red::mistakes_in;
use super::red_again::is_unloaded;
use super::{RedFacts, Rules, Strictness};
use crate::{Detail, Failure, Proof, Reason, TestOutcome, TestReport, first_files};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What was measured of a GREEN.
#[derive(Clone, Copy, Debug)]
pub struct GreenWork<'a> {
    /// The results where GREEN started, RED's failing tests included.
    pub base: &'a TestReport,
    /// The results there without RED's work; they tell what passed before where RED's tests kept others from loading.
    pub without_red: &'a TestReport,
    /// The results with the work.
    pub after: &'a TestReport,
    /// A second run of the same work, made when `needs_rerun` says so.
    pub rerun: Option<&'a TestReport>,
    /// Its RED.
    pub red: &'a RedFacts,
    /// Test files of RED that are not RED's any more.
    pub tampered: &'a [String],
    /// Files by which GREEN changed how tests are found and run.
    pub runner: &'a [String],
}

/// Judges GREEN.
pub fn judge_green(work: &GreenWork<'_>, rules: Rules) -> Proof {
    let GreenWork {
        after, rerun, red, ..
    } = *work;
    let mut proof = with_rerun(&before(work), after, rerun);
    let runner = "what decides how the tests are run was changed";
    for (files, reason, what) in [
        (
            work.tampered,
            Reason::RedTestsChanged,
            "test files of RED were changed",
        ),
        (work.runner, Reason::TestRunnerChanged, runner),
    ] {
        if files.is_empty() {
            continue;
        }
        let why = format!("{what}: {}", first_files(files));
        if rules.strictness != Strictness::Relaxed {
            return proof.refuse(Failure::TestsTampered, reason, evidence(&why, after));
        }
        proof = proof.waive(reason, why);
    }
    let failure = Failure::GreenFailing;
    let mistakes = mistakes_in(&red.files, work.without_red, after);
    if !mistakes.is_empty() && !after.end.succeeded() {
        let why = "tests of RED fail by a mistake of their own, which no implementation mends";
        let evidence = mistakes_evidence(why, &mistakes);
        return proof.refuse(failure, Reason::TestMistake, evidence);
    }
    if let Some(why) = cannot_run(after) {
        proof.red_failing = still_unloaded(after, red);
        let reason = if proof.red_failing.is_empty() {
            Reason::CannotRun
        } else {
            Reason::RedTestsFail
        };
        return proof.refuse(failure, reason, evidence(&why, after));
    }
    if after.detail == Detail::ExitStatusOnly {
        if !passes(after, rerun) {
            let why = evidence("the test command fails", after);
            return proof.refuse(failure, Reason::ExitStatusOnly, why);
        }
        return covered(proof.noted(BY_EXIT_STATUS), after, rules);
    }
    if let Some((reason, why, tests)) = red_tests_do_not_pass(work) {
        if reason == Reason::RedTestsFail {
            proof.red_failing = bounded(tests.iter());
        }
        return proof.refuse(failure, reason, named(&why, after, &tests));
    }
    let proof = regressions_refused(proof, after, rerun, Failure::Regression);
    match proof.failure {
        None => covered(proof, after, rules),
        Some(_) => proof,
    }
}

/// The files of RED's tests that could not be loaded before, and can't be now.
fn still_unloaded(after: &TestReport, red: &RedFacts) -> Vec<String> {
    let files: BTreeSet<&String> = red
        .unloaded
        .iter()
        .filter(|file| is_unloaded(file, after))
        .collect();
    files.into_iter().cloned().collect()
}

/// What passed where GREEN started, and what passed without RED's work and could not be loaded with it.
fn before<'a>(work: &GreenWork<'a>) -> Cow<'a, TestReport> {
    let is_more = |(name, outcome): (&String, &TestOutcome)| {
        *outcome == TestOutcome::Passed && !work.base.tests.contains_key(name)
    };
    if !work.without_red.tests.iter().any(is_more) {
        return Cow::Borrowed(work.base);
    }
    let more = work.without_red.tests.iter().filter(|pair| is_more(*pair));
    let mut tests = work.base.tests.clone();
    tests.extend(more.map(|(name, outcome)| (name.clone(), *outcome)));
    Cow::Owned(TestReport {
        tests,
        detail: work.without_red.detail,
        ..work.base.clone()
    })
}

fn red_tests_do_not_pass(work: &GreenWork<'_>) -> Option<(Reason, String, Vec<String>)> {
    let red = work.red;
    let outcome = |name: &String| {
        let again = work.rerun.and_then(|rerun| rerun.tests.get(name));
        again
            .filter(|again| **again == TestOutcome::Passed)
            .or_else(|| work.after.tests.get(name))
            .copied()
    };
    let of_red = |wanted: fn(Option<TestOutcome>) -> bool| -> Vec<String> {
        red.new_tests
            .iter()
            .filter(|name| wanted(outcome(name)))
            .cloned()
            .collect()
    };
    let failing = of_red(|outcome| outcome == Some(TestOutcome::Failed));
    let missing = of_red(|outcome| matches!(outcome, None | Some(TestOutcome::Skipped)));
    let count = red.new_tests.len();
    if !failing.is_empty() {
        let why = format!("{} of RED's {count} tests fail", failing.len());
        return Some((Reason::RedTestsFail, why, failing));
    }
    if !missing.is_empty() {
        let why = format!("{} of RED's {count} tests were not run", missing.len());
        return Some((Reason::RedTestsMissing, why, missing));
    }
    if red.unloaded.is_empty() {
        return None;
    }
    let files = red.unloaded.join(", ");
    let new = |wanted| {
        work.after
            .new_since(work.without_red)
            .filter(move |name| outcome(name) == Some(wanted))
    };
    let failing: Vec<String> = new(TestOutcome::Failed).cloned().collect();
    if !failing.is_empty() {
        let why = format!("new tests fail; those of RED are in {files}");
        return Some((Reason::RedTestsFail, why, failing));
    }
    new(TestOutcome::Passed)
        .all(|name| red.new_tests.contains(name))
        .then(|| {
            let why = format!("no test of RED's files was run: {files}");
            (Reason::RedTestsMissing, why, Vec::new())
        })
}

/// Coverage below the threshold is refused, unless it was below before and did not fall: only what is new counts.
fn covered(proof: Proof, after: &TestReport, rules: Rules) -> Proof {
    let Some(threshold) = rules.coverage_threshold else {
        return proof;
    };
    let Some(coverage) = proof.coverage else {
        return proof
            .noted("the test command wrote no coverage report, so the threshold was not checked");
    };
    if coverage.after >= threshold {
        return proof;
    }
    let before = coverage
        .before
        .map(|before| format!(", {before:.1} % before"));
    let why = format!(
        "{:.1} % of lines are covered{}; at least {threshold} % are asked for",
        coverage.after,
        before.unwrap_or_default()
    );
    let is_kept = |before: f64| before < threshold && coverage.after >= before;
    if coverage.before.is_some_and(is_kept) {
        return proof.noted(why);
    }
    if rules.strictness == Strictness::Relaxed {
        return proof.waive(Reason::CoverageTooLow, why);
    }
    let evidence = evidence(&why, after);
    proof.refuse(Failure::GreenFailing, Reason::CoverageTooLow, evidence)
}
