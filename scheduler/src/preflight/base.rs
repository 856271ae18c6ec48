//! Tells a base at which some tests fail, or at which there are none yet, from one at which tests can't be run.

use super::{Base, BaseState, Problem};
use crate::named_files::file_name;
use crate::verdict::{is_source, is_test_path, lacks_runner};
use crate::{CommandEnd, Detail, Strength, TestOutcome, TestReport};

/// So many of the last lines that were printed are shown.
const LAST_LINES: usize = 12;

/// So much of what the tests were refused is shown.
const REFUSED: usize = 3;

/// What runners say that find no tests, where only the exit status tells anything.
const NO_TESTS: [&str; 18] = [
    "no test files found",
    "no tests found",
    "no tests ran",
    "no tests to run",
    "no tests were found",
    "no test suite found",
    "no test specified",
    "could not find any test",
    "collected 0 items",
    "no tests executed",
    "no packages to test",
    "no go files",
    "no test modules found",
    "no test is available",
    "find any files to test",
    "0 test files matching",
    "start directory is not importable",
    ":test no-source",
];

/// What is said where what is to run the tests is not there yet: a script, or the manifest.
const NO_SCRIPT: [&str; 6] = [
    "missing script",
    "err_pnpm_no_script",
    "no rule to make target",
    "could not find `cargo.toml`",
    "no targets specified in the manifest",
    "cannot find main module",
];

/// The exit codes of pytest and unittest, and of nextest, for no tests.
const CODES_OF_NO_TESTS: [i32; 2] = [5, 4];

/// What was measured at a base.
#[derive(Clone, Debug)]
pub struct BaseMeasured<'a> {
    /// The test command in words.
    pub command: &'a str,
    /// Its results.
    pub report: &'a TestReport,
    /// A second run, made where tests fail.
    pub again: Option<&'a TestReport>,
    /// The paths of all files of the base.
    pub paths: &'a [String],
    /// How results could be read test by test.
    pub advice: Option<String>,
    /// The hidden folder in which the checkout lies, where it does.
    pub hidden_folder: Option<String>,
}

/// Judges the tests at the base; returns the problem, too, where they can't be run.
pub fn judge_base(measured: BaseMeasured<'_>) -> (Base, Option<Problem>) {
    let BaseMeasured {
        command,
        report,
        paths,
        hidden_folder,
        ..
    } = &measured;
    let (state, problem) = match why_broken(report) {
        // The runner says so itself.
        None if report.detail == Detail::PerTest && report.tests.is_empty() => {
            (BaseState::NoTestsYet, None)
        }
        None => (BaseState::Runs, None),
        // What is missing may be what the work is to make.
        Some(_) if finds_no_tests(report, paths) || is_empty(paths) => {
            (BaseState::NoTestsYet, None)
        }
        Some((why, hint)) => {
            let problem = Problem {
                check: "tests".to_owned(),
                what: format!("`{command}`: {why}"),
                last_lines: last_lines(report),
                hint: match hidden_folder {
                    _ if !report.refused.is_empty() => refused(report),
                    Some(folder) if hint != OF_PLACE => format!("{hint}; {}", of_hidden(folder)),
                    _ => hint.to_owned(),
                },
            };
            (BaseState::Broken, Some(problem))
        }
    };
    (counted(measured, state), problem)
}

/// Tells whether a second run has to tell which failing tests are flaky.
pub fn has_failing_tests(report: &TestReport) -> bool {
    report.detail == Detail::PerTest
        && why_broken(report).is_none()
        && report.count(TestOutcome::Failed) > 0
}

const OF_PLACE: &str = "`worktree.setup` in .taskmaster/tm.yaml is what makes a fresh checkout ready (such as `npm ci`), `worktree.copy` \
                        brings ignored files, `test.command` names another command";
const OF_RESULTS: &str =
    "repair the tests, or name another command: `test.command` in .taskmaster/tm.yaml";

/// Servers of files and searches for files pass over a path with a part that begins with a dot.
fn of_hidden(folder: &str) -> String {
    format!(
        "worktrees lie in the hidden folder `{folder}`, from which some programs read nothing: `storage.base_path` in \
         .taskmaster/tm.yaml names another"
    )
}

/// Why the tests can't be run, or tell nothing, and what to change.
fn why_broken(report: &TestReport) -> Option<(String, &'static str)> {
    let lacking = || {
        let ends = ends(report);
        let why = format!("{ends}, since something that it needs is not there");
        Some((why, OF_PLACE))
    };
    match &report.end {
        CommandEnd::NotStarted(why) => Some((why.clone(), OF_PLACE)),
        CommandEnd::TimedOut => {
            let hint = "`test.timeout` in .taskmaster/tm.yaml is how long it may take";
            Some(("it does not end within its limit".to_owned(), hint))
        }
        CommandEnd::Exited(None) => Some((ends(report), OF_PLACE)),
        CommandEnd::Exited(Some(code @ (126 | 127))) if report.tests.is_empty() => {
            Some((format!("it can't be executed (exit code {code})"), OF_PLACE))
        }
        CommandEnd::Exited(code) => match (&report.broken, report.detail) {
            (Some(_), _) if lacks_runner(report) => lacking(),
            (Some(_), _) if !report.load_errors.is_empty() && *code != Some(0) => {
                Some(("something can't be built or loaded".to_owned(), OF_RESULTS))
            }
            (Some(why), _) => Some((why.clone(), OF_RESULTS)),
            (None, Detail::PerTest) => None,
            (None, Detail::ExitStatusOnly) if *code == Some(0) => None,
            (None, Detail::ExitStatusOnly) if lacks_runner(report) => lacking(),
            (None, Detail::ExitStatusOnly) => Some((
                format!(
                    "{}, and nothing but its exit status can be read, so no work could be proven",
                    ends(report)
                ),
                OF_RESULTS,
            )),
        },
    }
}

fn ends(report: &TestReport) -> String {
    match report.end {
        CommandEnd::Exited(Some(code)) => format!("it ends with exit code {code}"),
        _ => "a signal ends it".to_owned(),
    }
}

/// Whether a runner is there and has nothing to run. One that is known has to say so: what it prints can be read.
fn finds_no_tests(report: &TestReport, paths: &[String]) -> bool {
    let CommandEnd::Exited(Some(code)) = report.end else {
        return false;
    };
    let output = report.output_tail.to_lowercase();
    let says_so =
        NO_TESTS.iter().any(|words| output.contains(words)) || CODES_OF_NO_TESTS.contains(&code);
    let has_none = !paths.iter().any(|path| is_test_path(path));
    let lacks_script = NO_SCRIPT.iter().any(|words| output.contains(words));
    let can_run = code != 126 && code != 127 && !lacks_runner(report);
    let is_known = report.detail == Detail::PerTest;
    let is_ready = can_run && (says_so || has_none && !is_known) || lacks_script && has_none;
    report.tests.is_empty() && report.load_errors.is_empty() && is_ready
}

/// What documents without an extension are called, which are no code.
const DOCUMENTS: [&str; 7] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "NOTICE",
    "AUTHORS",
    "README",
    "CHANGELOG",
];

/// What tells that there is a project, though no code.
const MANIFESTS: [&str; 7] = [
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    "build.gradle",
];

/// Whether there is no code at all yet.
fn is_empty(paths: &[String]) -> bool {
    let is_code = |path: &String| is_source(path) && !DOCUMENTS.contains(&file_name(path));
    let is_own = |path: &&String| !path.starts_with(".taskmaster/");
    let mut own = paths.iter().filter(is_own);
    !own.any(|path| is_code(path) || MANIFESTS.contains(&file_name(path)))
}

/// What the tests were refused, the first of it.
fn refused(report: &TestReport) -> String {
    let first = &report.refused[..report.refused.len().min(REFUSED)];
    first.join("; ")
}

fn last_lines(report: &TestReport) -> Vec<String> {
    let mut lines: Vec<String> = report
        .output_tail
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(ToOwned::to_owned)
        .collect();
    lines.split_off(lines.len().saturating_sub(LAST_LINES))
}

fn counted(measured: BaseMeasured<'_>, state: BaseState) -> Base {
    let BaseMeasured {
        command,
        report,
        again,
        paths,
        advice,
        hidden_folder,
    } = measured;
    let count = |outcome| report.count(outcome) as u64;
    let passes_again = |name: &&str| again.is_some_and(|again| again.passes(name));
    let flaky = report
        .names(TestOutcome::Failed)
        .filter(passes_again)
        .count() as u64;
    let strength = match (state, report.detail) {
        (BaseState::Broken, _) => Strength::Nothing,
        (_, Detail::PerTest) => Strength::PerTest,
        (_, Detail::ExitStatusOnly) => Strength::ExitStatusOnly,
    };
    let failed = count(TestOutcome::Failed) - flaky;
    let advice = match state {
        BaseState::Runs if strength == Strength::ExitStatusOnly => advice,
        BaseState::Runs if failed > 0 && !report.refused.is_empty() => Some(refused(report)),
        BaseState::Runs => hidden_folder
            .filter(|_| failed > 0)
            .as_deref()
            .map(of_hidden),
        BaseState::NoTestsYet => paths
            .iter()
            .find(|path| is_test_path(path))
            .map(|path| format!("the command finds none, although `{path}` looks like one")),
        BaseState::Broken => None,
    };
    Base {
        command: command.to_owned(),
        state,
        passed: count(TestOutcome::Passed),
        failed,
        skipped: count(TestOutcome::Skipped),
        flaky,
        advice,
        strength,
        took_ms: 0,
    }
}
