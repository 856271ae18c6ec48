//! Compares one run of the tests with what was before, and words a refusal: for the next attempt's prompt and for people,
//! bounded.

use crate::{
    CommandEnd, CoverageChange, Detail, Failure, LoadError, Proof, Reason, Strength, TestMistake,
    TestOutcome, TestReport,
};
use std::fmt::Write as _;

/// Lists in a proof hold so many names at the most; counts stay exact.
const MOST_NAMES: usize = 500;

/// So many tests are told of, each with so many lines; the whole has so many bytes.
const MOST_TESTS: usize = 12;
const MOST_LINES: usize = 8;
const MOST_BYTES: usize = 4 * 1024;
/// Of an output so many lines are quoted.
const MOST_OF_OUTPUT: usize = 30;

/// Why the test command itself could not be run; failing tests are no reason.
pub(super) fn command_failed(report: &TestReport) -> Option<String> {
    match &report.end {
        CommandEnd::NotStarted(why) => {
            Some(format!("the test command could not be started: {why}"))
        }
        CommandEnd::TimedOut => Some("the test command did not end within its limit".to_owned()),
        CommandEnd::Exited(None) => Some("a signal ended the test command".to_owned()),
        // Shells say so of a command that is not there or can't be executed.
        CommandEnd::Exited(Some(code @ (126 | 127))) if report.tests.is_empty() => Some(format!(
            "the test command can't be executed (exit code {code})"
        )),
        CommandEnd::Exited(Some(_)) => None,
    }
}

/// What programs print that lack the test runner, a script or a package for it, where only the exit status tells anything.
const NO_RUNNER: [&str; 9] = [
    "command not found",
    ": not found",
    "ENOENT",
    "No module named pytest",
    "missing script",
    "Missing script",
    "ERR_PNPM_NO_SCRIPT",
    "no such command",
    "No rule to make target",
];

/// Whether the output speaks of something that the test command needs and that is not there.
pub(crate) fn lacks_runner(report: &TestReport) -> bool {
    let output = &report.output_tail;
    NO_RUNNER.iter().any(|words| output.contains(words))
}

/// Why the tests could not be run before any work, so that their failing after it says nothing. Results test by test say
/// that there is a runner now; a runner that fails because it finds no tests is one.
pub(super) fn base_cannot_run(base: &TestReport, after: &TestReport) -> Option<String> {
    let tell_nothing =
        |report: &TestReport| report.detail == Detail::ExitStatusOnly && !report.end.succeeded();
    command_failed(base).or_else(|| {
        let is_missing = tell_nothing(base) && tell_nothing(after) && lacks_runner(base);
        is_missing.then(|| "something that the test command needs is not there".to_owned())
    })
}

/// Why the tests as a whole could not be run.
pub(super) fn cannot_run(report: &TestReport) -> Option<String> {
    let broken = || {
        Some(format!(
            "the tests can't be run: {}",
            report.broken.as_ref()?
        ))
    };
    command_failed(report).or_else(broken)
}

/// Counts, new tests, regressions and coverage of one run against what was before.
pub(super) fn counted(base: &TestReport, after: &TestReport) -> Proof {
    let count = |report: &TestReport, outcome| report.count(outcome) as u64;
    let is_regression = |name: &&String| base.passes(name) && !after.passes(name);
    let both_tell = base.detail == Detail::PerTest && after.detail == Detail::PerTest;
    Proof {
        strength: match after.detail {
            Detail::PerTest => Strength::PerTest,
            Detail::ExitStatusOnly => Strength::ExitStatusOnly,
        },
        baseline_failed: count(base, TestOutcome::Failed),
        // Where there are too many, those that fail are not the ones to leave out.
        new: bounded([true, false].into_iter().flat_map(|fails| {
            after
                .new_since(base)
                .filter(move |name| after.fails(name) == fails)
        })),
        passed: count(after, TestOutcome::Passed),
        failed: count(after, TestOutcome::Failed),
        regressions: if both_tell {
            bounded(base.tests.keys().filter(is_regression))
        } else {
            Vec::new()
        },
        coverage: after.coverage.as_ref().map(|coverage| CoverageChange {
            before: base.coverage.as_ref().map(crate::Coverage::percent),
            after: coverage.percent(),
        }),
        ..Proof::default()
    }
}

/// As `counted`, without what passed when it was run again; that is flaky, and named so.
pub(super) fn with_rerun(
    base: &TestReport,
    after: &TestReport,
    rerun: Option<&TestReport>,
) -> Proof {
    let mut proof = counted(base, after);
    let Some(rerun) = rerun else { return proof };
    proof.regressions.retain(|name| !rerun.passes(name));
    let flaky = after
        .names(TestOutcome::Failed)
        .filter(|name| rerun.passes(name) && !base.fails(name));
    proof.flaky = flaky.take(MOST_NAMES).map(ToOwned::to_owned).collect();
    proof
}

/// Whether the command succeeded, in one run or the other.
pub(super) fn passes(report: &TestReport, rerun: Option<&TestReport>) -> bool {
    report.end.succeeded() || rerun.is_some_and(|rerun| rerun.end.succeeded())
}

/// Refuses work with which tests that passed before do not now; `seen` tells what became of them.
pub(super) fn regressed(
    proof: Proof,
    failure: Failure,
    seen: &TestReport,
    after: &TestReport,
) -> Proof {
    let reason = worst(&proof.regressions, seen);
    let why = "tests that passed before do not now";
    let evidence = named(why, after, &proof.regressions);
    proof.refuse(failure, reason, evidence)
}

/// Refuses what got worse, and new tests that fail.
pub(super) fn regressions_refused(
    proof: Proof,
    after: &TestReport,
    rerun: Option<&TestReport>,
    failure: Failure,
) -> Proof {
    if !proof.regressions.is_empty() {
        return regressed(proof, failure, after, after);
    }
    let passes_again = |name: &str| rerun.is_some_and(|rerun| rerun.passes(name));
    let mut failing = proof.new.clone();
    failing.retain(|name| after.fails(name) && !passes_again(name));
    if failing.is_empty() {
        return proof;
    }
    let evidence = named("new tests fail", after, &failing);
    proof.refuse(failure, Reason::NewTestFailed, evidence)
}

/// What became of tests that passed before: failing weighs most, then being gone.
fn worst(names: &[String], after: &TestReport) -> Reason {
    if names.iter().any(|name| after.fails(name)) {
        Reason::OldTestFailed
    } else if names.iter().any(|name| !after.tests.contains_key(name)) {
        Reason::OldTestGone
    } else {
        Reason::OldTestSkipped
    }
}

pub(super) fn bounded<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.take(MOST_NAMES).cloned().collect()
}

/// The reason, and the end of what the command printed.
pub(super) fn evidence(why: &str, report: &TestReport) -> String {
    let lines: Vec<&str> = report.output_tail.trim_end().lines().collect();
    let mut text = why.to_owned();
    if !lines.is_empty() {
        text.push_str("\n\nThe end of the output:\n");
        let before = lines.len().saturating_sub(MOST_OF_OUTPUT);
        push_lines(&mut text, lines.into_iter().skip(before));
    }
    cut(text)
}

fn push_lines<'l>(text: &mut String, lines: impl Iterator<Item = &'l str>) {
    for line in lines {
        let _ = writeln!(text, "    {line}");
    }
}

/// The reason, and the tests with what they printed; where there are none, the end of what the command printed.
pub(super) fn named(why: &str, report: &TestReport, tests: &[String]) -> String {
    if tests.is_empty() {
        return evidence(why, report);
    }
    let mut text = format!("{why}:\n");
    for name in tests.iter().take(MOST_TESTS) {
        let state = match report.tests.get(name) {
            None => " (gone)",
            Some(TestOutcome::Skipped) => " (skipped)",
            Some(TestOutcome::Passed | TestOutcome::Failed) => "",
        };
        let _ = writeln!(text, "- {name}{state}");
        let said = report.messages.get(name).map_or("", String::as_str);
        push_lines(&mut text, said.lines().take(MOST_LINES));
    }
    if tests.len() > MOST_TESTS {
        let _ = writeln!(text, "- and {} more", tests.len() - MOST_TESTS);
    }
    cut(text)
}

/// The reason, and the errors that keep files from loading.
pub(super) fn load_evidence(why: &str, errors: &[&LoadError]) -> String {
    let mut text = format!("{why}:\n");
    for error in errors.iter().take(MOST_TESTS) {
        let file = error.file.as_deref().unwrap_or("(no file named)");
        let _ = writeln!(text, "- {file}");
        push_lines(&mut text, error.text.lines().take(MOST_LINES));
    }
    cut(text)
}

/// The reason, and the mistakes of tests, each with its line.
pub(super) fn mistakes_evidence(why: &str, mistakes: &[&TestMistake]) -> String {
    let mut text = format!("{why}:\n");
    for mistake in mistakes.iter().take(MOST_TESTS) {
        let TestMistake { file, line, .. } = mistake;
        let _ = writeln!(text, "- {file}, line {line}: {}", mistake.text);
    }
    cut(text)
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        text.truncate(text.floor_char_boundary(MOST_BYTES));
        text.push_str("\n[…]");
    }
    text
}
