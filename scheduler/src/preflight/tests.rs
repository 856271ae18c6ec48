//! Bases as they are: healthy, failing, without tests, and such that nothing can be run.

use super::*;
use crate::test_table::rows;
use crate::{CommandEnd, Detail, LoadCause, LoadError, TestOutcome, TestReport};

fn exited(code: i32, output: &str) -> TestReport {
    let output_tail = output.to_owned();
    TestReport {
        output_tail,
        ..TestReport::without_results(CommandEnd::Exited(Some(code)))
    }
}

fn tests(code: i32, tests: &[(&str, TestOutcome)]) -> TestReport {
    let tests = tests
        .iter()
        .map(|(name, outcome)| ((*name).to_owned(), *outcome))
        .collect();
    TestReport {
        detail: Detail::PerTest,
        tests,
        ..exited(code, "")
    }
}

fn broken(report: TestReport) -> TestReport {
    TestReport {
        detail: Detail::PerTest,
        broken: Some("the tests wrote no results".to_owned()),
        ..report
    }
}

fn judge(report: &TestReport, paths: &[&str]) -> (Base, Option<Problem>) {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    judge_base(BaseMeasured {
        command: "run",
        report,
        again: None,
        paths: &paths,
        advice: None,
        hidden_folder: None,
    })
}

const CODE: [&str; 2] = ["src/a.py", "tests/test_a.py"];
const CODE_WITHOUT_TESTS: [&str; 2] = ["src/a.py", "package.json"];
const NOTHING: [&str; 3] = ["README.md", ".gitignore", ".taskmaster/tasks/tasks.json"];

#[test]
fn tests_that_fail_are_no_problem_and_are_counted() {
    use TestOutcome::{Failed, Passed, Skipped};
    let report = tests(
        1,
        &[("a", Passed), ("b", Failed), ("c", Failed), ("d", Skipped)],
    );
    let again = tests(
        1,
        &[("a", Passed), ("b", Passed), ("c", Failed), ("d", Skipped)],
    );
    let (base, problem) = judge_base(BaseMeasured {
        command: "run",
        report: &report,
        again: Some(&again),
        paths: &[],
        advice: Some("add flags".to_owned()),
        hidden_folder: None,
    });
    assert_eq!(
        (base.state, problem, &base.advice),
        (BaseState::Runs, None, &None)
    );
    let preflight = Preflight {
        bases: vec![base],
        ..Preflight::default()
    };
    assert_eq!(
        preflight.lines(),
        ["base: 1 pass, 1 fail, 1 flaky, 1 skipped"]
    );
}

fn measured(column: &str) -> TestReport {
    let not_built = LoadError {
        cause: LoadCause::Other,
        file: None,
        text: "no".to_owned(),
    };
    let ended = TestReport::without_results;
    match column {
        "no tests" => tests(0, &[]),
        "killed" => ended(CommandEnd::Exited(None)),
        "timed out" => ended(CommandEnd::TimedOut),
        "not started" => ended(CommandEnd::NotStarted("failed to set up".to_owned())),
        "not built" => TestReport {
            load_errors: vec![not_built],
            ..broken(exited(101, ""))
        },
        _ => {
            let (end, output) = column.split_once(": ").unwrap_or((column, ""));
            let (kind, code) = end.split_once(' ').expect("a kind and a code");
            let report = exited(code.parse().expect("a code"), output);
            if kind == "torn" {
                broken(report)
            } else {
                report
            }
        }
    }
}

/// Name, what the command did, what is in the repository, how its base stands. `torn` is without results.
const BASES: &str = r#"
    a command that passes without tests | exit 0                                           | code           | runs
    cargo test without tests            | no tests                                         | code           | none yet
    a known runner that says nothing    | torn 0                                           | code           | broken
    one that fails for another reason   | torn 1: Validation Error: preset                 | code           | broken
    cargo without a manifest            | torn 101: could not find `Cargo.toml`            | code           | none yet
    gradle without tests                | torn 0: > Task :test NO-SOURCE                   | code           | none yet
    pytest without tests                | torn 5: no tests ran in 0.01s                    | code           | none yet
    npm test without test files         | exit 1: No test files found, exiting with code 1 | code and tests | none yet
    a runner of one's own without tests | exit 1: nothing here                             | code           | none yet
    no script for tests                 | exit 1: npm error Missing script: "test"         | code           | none yet
    the same where tests are            | exit 1: npm error Missing script: "test"         | code and tests | broken
    an empty project                    | exit 254: npm error code ENOENT package.json     |                | none yet
    an empty project without its script | exit 127: run-tests.sh: not found                |                | none yet
    a command that is not there         | exit 127: sh: jest: not found                    | code and tests | broken
    the same before any test            | exit 127: sh: jest: not found                    | code           | broken
    npx of something that is not there  | exit 1: sh: 1: jest: not found                   | code           | broken
    no pytest                           | torn 1: python3: No module named pytest          | code and tests | broken
    a script that fails                 | exit 1: lib/x: missing                           | code and tests | broken
    results that are none               | torn 0                                           | code and tests | broken
    code that does not build            | not built                                        | code and tests | broken
    a signal                            | killed                                           | code and tests | broken
    no end                              | timed out                                        | code and tests | broken
    a set-up that fails                 | not started                                      | code and tests | broken
"#;

#[test]
fn a_repository_without_tests_yet_is_told_from_one_whose_tests_can_not_be_run() {
    for [name, result, holds, expected] in rows(BASES) {
        let paths = match holds {
            "code and tests" => &CODE[..],
            "code" => &CODE_WITHOUT_TESTS,
            _ => &NOTHING,
        };
        let (base, problem) = judge(&measured(result), paths);
        let state = match base.state {
            BaseState::Runs => "runs",
            BaseState::NoTestsYet => "none yet",
            BaseState::Broken => "broken",
        };
        assert_eq!(state, expected, "{name}");
        assert_eq!(problem.is_some(), expected == "broken", "{name}");
    }
}

#[test]
fn files_of_tests_that_the_command_does_not_find_are_named() {
    let (base, _) = judge(&tests(0, &[]), &CODE);
    let preflight = Preflight {
        bases: vec![base],
        ..Preflight::default()
    };
    let line =
        "base: no tests yet; the command finds none, although `tests/test_a.py` looks like one";
    assert_eq!(preflight.lines(), [line]);
}

#[test]
fn a_problem_comes_with_the_last_lines_and_what_to_change() {
    let output = (0..30)
        .map(|number| format!("line {number}"))
        .collect::<Vec<_>>()
        .join("\n\n");
    let problem = judge(&exited(127, &output), &CODE).1.expect("a problem");
    assert_eq!(
        problem.last_lines.first().map(String::as_str),
        Some("line 18")
    );
    assert_eq!(problem.last_lines.len(), 12);
    assert!(
        problem.hint.contains("worktree.setup") && problem.what.contains("exit code 127"),
        "{problem:?}"
    );
    let mut preflight = Preflight {
        problems: vec![problem],
        ..Preflight::default()
    };
    assert!(!preflight.is_good() && preflight.nothing_is_proven());
    assert_eq!(
        preflight.lines(),
        ["base: tests: `run`: it can't be executed (exit code 127)"]
    );
    preflight.is_overridden = true;
    assert!(preflight.lines()[0].ends_with("going on all the same (`--allow-broken-base`)"));
}

#[test]
fn a_hidden_folder_is_named_where_tests_fail_in_it_and_nowhere_else() {
    use TestOutcome::{Failed, Passed};
    let judged = |report: &TestReport| {
        judge_base(BaseMeasured {
            command: "run",
            report,
            again: None,
            paths: &CODE.map(str::to_owned),
            advice: None,
            hidden_folder: Some("/home/a/.tm".to_owned()),
        })
    };
    let tells = |words: &str| words.contains("the hidden folder `/home/a/.tm`");
    let (base, problem) = judged(&tests(1, &[("a", Passed), ("b", Failed)]));
    assert!(base.advice.as_deref().is_some_and(tells) && problem.is_none());
    assert_eq!(judged(&tests(0, &[("a", Passed)])).0.advice, None);
    let hint = |report: &TestReport| judged(report).1.map(|problem| problem.hint);
    assert!(hint(&exited(1, "39 failing")).is_some_and(|hint| tells(&hint)));
    assert!(hint(&exited(127, "")).is_some_and(|hint| !tells(&hint)));
}

#[test]
fn an_exit_status_is_called_one_and_told_how_to_be_more() {
    let paths = Vec::new();
    let advice = Some("add `--json`".to_owned());
    let (base, _) = judge_base(BaseMeasured {
        command: "x",
        report: &exited(0, ""),
        again: None,
        paths: &paths,
        advice,
        hidden_folder: None,
    });
    let preflight = Preflight {
        bases: vec![base],
        ..Preflight::default()
    };
    assert_eq!(
        preflight.lines(),
        ["base: the test command passes, exit status only; add `--json`"]
    );
}
