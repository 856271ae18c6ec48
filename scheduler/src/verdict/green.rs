//! Judges GREEN: RED's files are RED's, its tests pass, nothing that passed before fails, vanishes or is skipped.

use super::compared::{bounded, cannot_run, refused, regressions_refused, with_rerun};
use super::evidence::mistakes_evidence;
use super::red::mistakes_in;
use super::{RedFacts, Rules, Strictness};
use crate::{Detail, Failure, Proof, Reason, TestOutcome, TestReport};
use std::borrow::Cow;

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
    let before = before(work);
    let mut proof = with_rerun(&before, after, rerun);
    for (files, reason, what) in [
        (
            work.tampered,
            Reason::RedTestsChanged,
            "test files of RED were changed",
        ),
        (
            work.runner,
            Reason::TestRunnerChanged,
            "what decides how the tests are run was changed",
        ),
    ] {
        if files.is_empty() {
            continue;
        }
        let why = format!("{what}: {}", files.join(", "));
        match rules.strictness {
            Strictness::Strict | Strictness::Normal => {
                return refused(proof, Failure::TestsTampered, reason, &why, after, &[]);
            }
            Strictness::Relaxed => {
                proof.notes.push(why);
                proof.waived.push(reason);
            }
        }
    }
    let mistakes = mistakes_in(&red.files, work.without_red, after);
    if !mistakes.is_empty() && !after.end.succeeded() {
        let why = "tests of RED fail by a mistake of their own, which no implementation mends";
        let (failure, reason) = (Some(Failure::GreenFailing), Some(Reason::TestMistake));
        return Proof {
            failure,
            reason,
            evidence: mistakes_evidence(why, &mistakes),
            ..proof
        };
    }
    if let Some(why) = cannot_run(after) {
        proof.red_failing = still_unloaded(after, red);
        let reason = if proof.red_failing.is_empty() {
            Reason::CannotRun
        } else {
            Reason::RedTestsFail
        };
        return refused(proof, Failure::GreenFailing, reason, &why, after, &[]);
    }
    if after.detail == Detail::ExitStatusOnly {
        let passes = after.end.succeeded() || rerun.is_some_and(|rerun| rerun.end.succeeded());
        if !passes {
            return refused(
                proof,
                Failure::GreenFailing,
                Reason::ExitStatusOnly,
                "the test command fails",
                after,
                &[],
            );
        }
        proof.notes.push("judged by exit status only".to_owned());
        return covered(proof, after, rules);
    }
    if let Some((reason, why, tests)) = red_tests_do_not_pass(work, red) {
        if reason == Reason::RedTestsFail {
            proof.red_failing = bounded(tests.iter());
        }
        return refused(proof, Failure::GreenFailing, reason, &why, after, &tests);
    }
    let proof = regressions_refused(proof, after, rerun, Failure::Regression);
    if proof.holds() {
        covered(proof, after, rules)
    } else {
        proof
    }
}

/// The files of RED's tests that could not be loaded before, and can't be now.
fn still_unloaded(after: &TestReport, red: &RedFacts) -> Vec<String> {
    let is_named = |file: &&String| {
        after
            .load_errors
            .iter()
            .any(|error| error.file.as_ref().is_none_or(|named| named == *file))
    };
    let mut files: Vec<String> = red.unloaded.iter().filter(is_named).cloned().collect();
    files.sort();
    files.dedup();
    files
}

/// What passed where GREEN started, and what passed without RED's work and could not be loaded with it.
fn before<'a>(work: &GreenWork<'a>) -> Cow<'a, TestReport> {
    let is_more = |(name, outcome): (&String, &TestOutcome)| {
        *outcome == TestOutcome::Passed && !work.base.tests.contains_key(name)
    };
    if !work.without_red.tests.iter().any(is_more) {
        return Cow::Borrowed(work.base);
    }
    let mut before = work.base.clone();
    before.detail = work.without_red.detail;
    let more = work.without_red.tests.iter().filter(|pair| is_more(*pair));
    before
        .tests
        .extend(more.map(|(name, outcome)| (name.clone(), *outcome)));
    Cow::Owned(before)
}

fn red_tests_do_not_pass(
    work: &GreenWork<'_>,
    red: &RedFacts,
) -> Option<(Reason, String, Vec<String>)> {
    let outcome = |name: &String| {
        let again = work.rerun.and_then(|rerun| rerun.tests.get(name));
        let first = work.after.tests.get(name);
        if again == Some(&TestOutcome::Passed) {
            again
        } else {
            first
        }
    };
    let others = |wanted: fn(Option<&TestOutcome>) -> bool| -> Vec<String> {
        red.new_tests
            .iter()
            .filter(|name| wanted(outcome(name)))
            .cloned()
            .collect()
    };
    let failing = others(|outcome| outcome == Some(&TestOutcome::Failed));
    let missing =
        others(|outcome| !matches!(outcome, Some(TestOutcome::Failed | TestOutcome::Passed)));
    let count = red.new_tests.len();
    if !failing.is_empty() {
        return Some((
            Reason::RedTestsFail,
            format!("{} of RED's {count} tests fail", failing.len()),
            failing,
        ));
    }
    if !missing.is_empty() {
        let why = format!("{} of RED's {count} tests were not run", missing.len());
        return Some((Reason::RedTestsMissing, why, missing));
    }
    if red.unloaded.is_empty() {
        return None;
    }
    let new = |wanted: TestOutcome| -> Vec<String> {
        let is_new = |name: &&String| !work.without_red.tests.contains_key(*name);
        let is_wanted = |name: &&String| outcome(name) == Some(&wanted);
        work.after
            .tests
            .keys()
            .filter(is_new)
            .filter(is_wanted)
            .cloned()
            .collect()
    };
    let (failing, files) = (new(TestOutcome::Failed), red.unloaded.join(", "));
    if !failing.is_empty() {
        return Some((
            Reason::RedTestsFail,
            format!("new tests fail; those of RED are in {files}"),
            failing,
        ));
    }
    if new(TestOutcome::Passed)
        .iter()
        .all(|name| red.new_tests.contains(name))
    {
        return Some((
            Reason::RedTestsMissing,
            format!("no test of RED's files was run: {files}"),
            Vec::new(),
        ));
    }
    None
}

/// Coverage below the threshold is refused, unless it was below before and did not fall: only what is new counts.
fn covered(mut proof: Proof, after: &TestReport, rules: Rules) -> Proof {
    let Some(threshold) = rules.coverage_threshold else {
        return proof;
    };
    let Some(coverage) = proof.coverage else {
        proof.notes.push(
            "the test command wrote no coverage report, so the threshold was not checked"
                .to_owned(),
        );
        return proof;
    };
    if coverage.after >= threshold {
        return proof;
    }
    let was = coverage
        .before
        .map_or_else(String::new, |before| format!(", {before:.1} % before"));
    let why = format!(
        "{:.1} % of lines are covered{was}; at least {threshold} % are asked for",
        coverage.after
    );
    let was_below = coverage
        .before
        .is_some_and(|before| before < threshold && coverage.after >= before);
    if was_below || rules.strictness == Strictness::Relaxed {
        proof.notes.push(why);
        proof
            .waived
            .extend((!was_below).then_some(Reason::CoverageTooLow));
        return proof;
    }
    refused(
        proof,
        Failure::GreenFailing,
        Reason::CoverageTooLow,
        &why,
        after,
        &[],
    )
}
