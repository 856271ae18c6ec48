//! One case for every rule.

mod rules;

use super::*;
use crate::test_table::rows;
use crate::{CommandEnd, Coverage, Failure, LoadCause, LoadError, Proof, Reason};
use std::collections::BTreeMap;

/// `+name` passed, `-name` failed, `~name` was skipped.
fn report(tests: &str) -> TestReport {
    let outcome = |word: &str| match word.as_bytes()[0] {
        b'+' => TestOutcome::Passed,
        b'-' => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    };
    let tests: BTreeMap<String, TestOutcome> = tests
        .split_whitespace()
        .map(|word| (word[1..].to_owned(), outcome(word)))
        .collect();
    let failed = tests
        .values()
        .any(|outcome| *outcome == TestOutcome::Failed);
    TestReport {
        detail: Detail::PerTest,
        tests,
        ..TestReport::without_results(CommandEnd::Exited(Some(i32::from(failed))))
    }
}

fn exit(code: i32) -> TestReport {
    TestReport {
        end: CommandEnd::Exited(Some(code)),
        detail: Detail::ExitStatusOnly,
        ..report("")
    }
}

fn broken(why: &str) -> TestReport {
    TestReport {
        broken: Some(why.to_owned()),
        end: CommandEnd::Exited(Some(1)),
        ..report("+a")
    }
}

fn ended(end: CommandEnd) -> TestReport {
    TestReport { end, ..report("") }
}

fn red(base: &TestReport, after: &TestReport, strictness: Strictness) -> Proof {
    judge_red(
        &RedWork {
            base,
            after,
            rerun: None,
            without_tests: None,
            test_files: &["t/n.t".to_owned()],
        },
        strictness,
    )
}

/// The suite fails to load: `+file` because an item is missing, `-file` for another reason.
fn unloadable(tests: &str, files: &str) -> TestReport {
    let load_errors = files.split_whitespace().map(|word| LoadError {
        cause: if word.starts_with('+') {
            LoadCause::MissingItem
        } else {
            LoadCause::Other
        },
        file: Some(word[1..].to_owned()),
        text: format!("error in {word}"),
    });
    TestReport {
        load_errors: load_errors.collect(),
        broken: Some("it does not build".to_owned()),
        end: CommandEnd::Exited(Some(101)),
        ..report(tests)
    }
}

/// What a column of a table says was measured: as `report` and, behind a slash, as `unloadable` reads it, or an end.
fn measured(column: &str) -> TestReport {
    match (column, column.split_once('/'), column.strip_prefix("exit ")) {
        ("torn", ..) => broken("it is torn"),
        ("timed out", ..) => ended(CommandEnd::TimedOut),
        ("not started", ..) => ended(CommandEnd::NotStarted("gone".into())),
        ("killed", ..) => ended(CommandEnd::Exited(None)),
        (_, Some((tests, files)), _) => unloadable(tests, files),
        (_, _, Some(code)) => exit(code.parse().expect("a code")),
        (tests, ..) => report(tests),
    }
}

fn strictness(column: &str) -> Strictness {
    match column {
        "strict" => Strictness::Strict,
        "normal" => Strictness::Normal,
        "relaxed" => Strictness::Relaxed,
        other => panic!("{other}"),
    }
}

/// Name, base, result, strictness, reason.
const REDS: &str = "
    a new test fails                      | +a      | +a -b            | strict  |
    the first test of a project fails     |         | -b               | strict  |
    old failures don't matter             | -a      | -a -b            | strict  |
    an old failure that is mended is fine | -a      | +a -b            | strict  |
    no new test                           | +a      | +a               | normal  | no-new-test
    an old failure is no new test         | -a      | -a               | normal  | no-new-test
    no new test, relaxed                  | +a      | +a               | relaxed |
    all new pass, strict                  | +a      | +a +b            | strict  | everything-passed
    all new pass, normal                  | +a      | +a +b            | normal  | everything-passed
    all new pass, relaxed                 | +a      | +a +b            | relaxed |
    all new are skipped                   | +a      | +a ~b            | normal  | everything-passed
    some new pass, strict                 | +a      | +a +b -c         | strict  | some-passed
    some new pass, normal                 | +a      | +a +b -c         | normal  |
    an old test fails                     | +a      | -a -b            | relaxed | old-test-failed
    an old test vanishes                  | +a      | -b               | normal  | old-test-gone
    an old test is skipped                | +a      | ~a -b            | normal  | old-test-skipped
    nothing is found                      |         |                  | normal  | no-tests-found
    the suite breaks                      | +a      | torn             | relaxed | cannot-run
    time is over                          | +a      | timed out        | normal  | cannot-run
    not started                           | +a      | not started      | normal  | cannot-run
    killed                                | +a      | killed           | normal  | cannot-run
    no such command                       | exit 0  | exit 127         | relaxed | cannot-run
    exit status turns                     | exit 0  | exit 1           | strict  |
    exit status stays good                | exit 0  | exit 0           | normal  | everything-passed
    exit status was bad                   | exit 1  | exit 1           | normal  | exit-status-only
    an item is missing                    | +a      |  / +t/n.t        | strict  |
    an item is missing, others run        | +a      | +a / +t/n.t      | strict  |
    the new test has a mistake            | +a      |  / -t/n.t        | relaxed | new-tests-do-not-load
    one of each                           | +a      |  / +t/n.t -t/n.t | normal  | new-tests-do-not-load
    the code does not build               | +a      |  / -lib          | normal  | error-outside-new-tests
    the code misses an item               | +a      |  / +lib +t/n.t   | normal  | error-outside-new-tests
    an old test fails besides             | +a      | -a / +t/n.t      | normal  | old-test-failed
    a new one passes besides              | +a      | +a +b / +t/n.t   | strict  | some-passed
    errors of the base don't count        |  / -lib |  / -lib +t/n.t   | strict  |
";

#[test]
fn red_is_judged_by_every_rule() {
    for [name, base, after, strict, expected] in rows(REDS) {
        let proof = red(&measured(base), &measured(after), strictness(strict));
        assert_eq!(proof.reason.map_or("", Reason::as_str), expected, "{name}");
        assert_eq!(proof.evidence.is_empty(), expected.is_empty(), "{name}");
        assert_eq!(proof.failure.is_none(), expected.is_empty(), "{name}");
    }
    assert_eq!(
        red(&exit(1), &exit(1), Strictness::Relaxed).waived,
        [Reason::ExitStatusOnly]
    );
    assert!(
        !red(&exit(0), &exit(1), Strictness::Normal).notes.is_empty(),
        "weaker proof is said"
    );
}

#[test]
fn reds_failures_tell_a_test_that_is_no_test_from_one_that_passes() {
    let failure = |after: &str| red(&report("+a"), &report(after), Strictness::Normal).failure;
    assert_eq!(failure("+a +b"), Some(Failure::RedPassed));
    assert_eq!(failure("-a -b"), Some(Failure::Regression));
    assert_eq!(
        red(&report(""), &report(""), Strictness::Normal).failure,
        Some(Failure::RedCannotRun)
    );
}

#[test]
fn a_red_that_does_not_load_may_break_nothing_else() {
    let after = unloadable("", "+t/n.t");
    let with = |without: &TestReport| {
        let (base, test_files) = (report("+a"), ["t/n.t".to_owned()]);
        let work = RedWork {
            base: &base,
            after: &after,
            rerun: None,
            without_tests: Some(without),
            test_files: &test_files,
        };
        judge_red(&work, Strictness::Normal)
    };
    assert_eq!(with(&report("+a")).reason, None);
    assert_eq!(with(&report("-a")).reason, Some(Reason::OldTestFailed));
    assert_eq!(with(&report("")).reason, Some(Reason::OldTestGone));
    let proof = with(&report("+a"));
    assert_eq!(proof.unloaded, ["t/n.t"]);
    assert_eq!(proof.notes, ["t/n.t can't be loaded yet: error in +t/n.t"]);
}

#[test]
fn an_old_test_that_passes_again_is_flaky_in_red_and_a_new_one_does_not_count() {
    let (base, after) = (report("+a"), report("-a -b"));
    let judge = |rerun: &TestReport| {
        let work = RedWork {
            base: &base,
            after: &after,
            rerun: Some(rerun),
            without_tests: None,
            test_files: &[],
        };
        judge_red(&work, Strictness::Normal)
    };
    let flaky = judge(&report("+a -b"));
    assert_eq!((flaky.reason, flaky.flaky), (None, vec!["a".to_owned()]));
    assert_eq!(judge(&report("-a -b")).reason, Some(Reason::OldTestFailed));
    assert_eq!(
        judge(&report("+a +b")).reason,
        Some(Reason::EverythingPassed)
    );
    assert!(old_tests_got_worse(&base, &after));
    assert!(!old_tests_got_worse(&base, &report("+a -b")));
}

#[test]
fn a_file_that_does_not_load_is_no_test() {
    let after = unloadable("-/x/t/n.t -t.n -other", "+t/n.t");
    assert_eq!(red(&report(""), &after, Strictness::Strict).new, ["other"]);
}

#[test]
fn a_test_that_failed_to_load_under_a_name_of_its_own_binds_nobody_to_that_name() {
    let error = |file: Option<&str>| LoadError {
        cause: LoadCause::MissingItem,
        file: file.map(ToOwned::to_owned),
        text: "No module named 'lib'".to_owned(),
    };
    let mut after = TestReport {
        load_errors: vec![error(None)],
        ..report("+a -n.t -other")
    };
    after
        .messages
        .insert("n.t".to_owned(), "No module named 'lib'\n".to_owned());
    let proof = red(&report("+a"), &after, Strictness::Strict);
    assert_eq!(
        (proof.holds(), &proof.new[..], &proof.unloaded[..]),
        (true, &["other".into()][..], &["t/n.t".into()][..])
    );
    let facts = RedFacts {
        new_tests: proof.new,
        unloaded: proof.unloaded,
        ..RedFacts::default()
    };
    let judge = |tests: &str| {
        let (without_red, green) = (report("+a"), report(tests));
        let work = GreenWork {
            base: &after,
            without_red: &without_red,
            after: &green,
            rerun: None,
            red: &facts,
            tampered: &[],
            runner: &[],
        };
        judge_green(&work, Rules::default()).reason
    };
    assert_eq!(judge("+a +other +parses"), None);
    assert_eq!(
        judge("+a +other"),
        Some(Reason::RedTestsMissing),
        "none of RED's file was run"
    );
    assert_eq!(judge("+a +other -parses"), Some(Reason::RedTestsFail));
    assert_eq!(
        judge("+a +parses"),
        Some(Reason::RedTestsMissing),
        "a name that was loaded binds"
    );
}

/// Judges a GREEN whose RED added the test `n`.
fn green(base: &TestReport, after: &TestReport, rerun: Option<&TestReport>, rules: Rules) -> Proof {
    let red = RedFacts {
        new_tests: vec!["n".into()],
        unloaded: Vec::new(),
        ..RedFacts::default()
    };
    let without_red = report("");
    let work = GreenWork {
        base,
        without_red: &without_red,
        after,
        rerun,
        red: &red,
        tampered: &[],
        runner: &[],
    };
    judge_green(&work, rules)
}

/// Name, base, result, reason.
const GREENS: &str = "
    RED's test passes           | +a -n  | +a +n    |
    an old failure stays        | -a -n  | -a +n    |
    RED's test still fails      | +a -n  | +a -n    | red-tests-fail
    RED's test is gone          | +a -n  | +a       | red-tests-missing
    RED's test is skipped       | +a -n  | +a ~n    | red-tests-missing
    an old test fails           | +a -n  | -a +n    | old-test-failed
    an old test is gone         | +a -n  | +n       | old-test-gone
    an old test is skipped      | +a -n  | ~a +n    | old-test-skipped
    a new test of its own fails | +a -n  | +a +n -x | new-test-failed
    the suite breaks            | +a -n  | torn     | cannot-run
    exit status turns           | exit 1 | exit 0   |
    exit status stays bad       | exit 1 | exit 1   | exit-status-only
";

#[test]
fn green_is_judged_by_every_rule() {
    for [name, base, after, expected] in rows(GREENS) {
        let proof = green(&measured(base), &measured(after), None, Rules::default());
        assert_eq!(proof.reason.map_or("", Reason::as_str), expected, "{name}");
    }
    let flaky = green(
        &report("+a -n"),
        &report("-a +n"),
        Some(&report("+a +n")),
        Rules::default(),
    );
    assert_eq!((flaky.failure, flaky.flaky), (None, vec!["a".to_owned()]));
    let again = green(
        &report("+a -n"),
        &report("-a +n"),
        Some(&report("-a +n")),
        Rules::default(),
    );
    assert_eq!(again.failure, Some(Failure::Regression));
}

#[test]
fn green_keeps_the_files_of_red_and_of_the_test_runner() {
    let (base, after, without_red) = (report("-n"), report("+n"), report(""));
    let red = RedFacts {
        new_tests: vec!["n".into()],
        unloaded: Vec::new(),
        ..RedFacts::default()
    };
    let file = ["t/n.t".to_owned()];
    let work = GreenWork {
        base: &base,
        without_red: &without_red,
        after: &after,
        rerun: None,
        red: &red,
        tampered: &[],
        runner: &[],
    };
    for (work, reason) in [
        (
            GreenWork {
                tampered: &file,
                ..work
            },
            Reason::RedTestsChanged,
        ),
        (
            GreenWork {
                runner: &file,
                ..work
            },
            Reason::TestRunnerChanged,
        ),
    ] {
        for strictness in [Strictness::Strict, Strictness::Normal] {
            let proof = judge_green(
                &work,
                Rules {
                    strictness,
                    coverage_threshold: None,
                    ..Rules::default()
                },
            );
            assert_eq!(
                (proof.failure, proof.reason),
                (Some(Failure::TestsTampered), Some(reason))
            );
        }
        let proof = judge_green(
            &work,
            Rules {
                strictness: Strictness::Relaxed,
                coverage_threshold: None,
                ..Rules::default()
            },
        );
        assert_eq!((proof.failure, proof.notes.len()), (None, 1));
    }
}

#[test]
fn tests_that_could_not_be_loaded_have_to_run_in_green_and_old_ones_come_back() {
    let red = RedFacts {
        new_tests: Vec::new(),
        unloaded: vec!["t/n.t".into()],
        ..RedFacts::default()
    };
    let (base, without_red) = (unloadable("", "+t/n.t"), report("+a -b"));
    let judge = |after: &TestReport| {
        let work = GreenWork {
            base: &base,
            without_red: &without_red,
            after,
            rerun: None,
            red: &red,
            tampered: &[],
            runner: &[],
        };
        judge_green(&work, Rules::default()).reason
    };
    assert_eq!(judge(&report("+a +n")), None);
    assert_eq!(judge(&report("+a")), Some(Reason::RedTestsMissing));
    assert_eq!(judge(&report("+a ~n")), Some(Reason::RedTestsMissing));
    assert_eq!(judge(&report("+n")), Some(Reason::OldTestGone));
    assert_eq!(judge(&report("-a +n")), Some(Reason::OldTestFailed));
    assert_eq!(judge(&report("+a -n +m")), Some(Reason::RedTestsFail));
    assert_eq!(judge(&unloadable("", "+t/n.t")), Some(Reason::RedTestsFail));
}

#[test]
fn coverage_counts_against_the_threshold_unless_it_was_worse_before() {
    let covering = |tests: &str, covered: Option<u64>| TestReport {
        coverage: covered.map(|covered| Coverage {
            covered,
            total: 100,
            source: "lcov.info".to_owned(),
        }),
        ..report(tests)
    };
    let judge = |before: Option<u64>, after: Option<u64>, strictness| {
        let rules = Rules {
            strictness,
            coverage_threshold: Some(80.0),
            ..Rules::default()
        };
        green(&covering("-n", before), &covering("+n", after), None, rules)
    };
    for (before, after, expected) in [
        (None, Some(80), None),
        (Some(90), Some(85), None),
        (Some(90), Some(79), Some(Reason::CoverageTooLow)),
        (None, Some(79), Some(Reason::CoverageTooLow)),
        (Some(50), Some(60), None),
        (Some(50), Some(49), Some(Reason::CoverageTooLow)),
        (Some(90), None, None),
    ] {
        assert_eq!(
            judge(before, after, Strictness::Normal).reason,
            expected,
            "{before:?} {after:?}"
        );
    }
    assert_eq!(judge(Some(90), Some(10), Strictness::Relaxed).reason, None);
    assert_eq!(
        judge(Some(90), None, Strictness::Normal).notes.len(),
        1,
        "an unchecked threshold is said"
    );
    let coverage = judge(Some(50), Some(60), Strictness::Normal)
        .coverage
        .expect("coverage");
    assert_eq!((coverage.before, coverage.after), (Some(50.0), 60.0));
}

#[test]
fn plain_work_may_break_nothing_and_leave_nothing_broken() {
    for (name, base, after, rerun, expected) in [
        ("nothing changes", "+a -b", "+a -b", None, None),
        ("new tests pass", "+a", "+a +b", None, None),
        (
            "an old test fails",
            "+a",
            "-a",
            None,
            Some(Failure::Regression),
        ),
        (
            "an old test is gone",
            "+a +b",
            "+b",
            None,
            Some(Failure::Regression),
        ),
        ("an old failure is gone", "+a -b", "+a", None, None),
        (
            "a new test fails",
            "+a",
            "+a -b",
            None,
            Some(Failure::Regression),
        ),
        ("a new test is flaky", "+a", "+a -b", Some("+a +b"), None),
        ("an old test is flaky", "+a", "-a", Some("+a"), None),
    ] {
        let proof = judge_plain(&report(base), &report(after), rerun.map(report).as_ref());
        assert_eq!(proof.failure, expected, "{name}");
    }
    assert_eq!(
        judge_plain(&report("+a"), &broken("x"), None).failure,
        Some(Failure::Regression)
    );
    assert_eq!(judge_plain(&broken("x"), &broken("x"), None).failure, None);
    let ended = |code| TestReport {
        end: CommandEnd::Exited(Some(code)),
        ..broken("x")
    };
    let worse = judge_plain(&ended(0), &ended(1), None);
    assert_eq!(worse.reason, Some(Reason::ExitStatusOnly));
    assert!(judge_plain(&ended(0), &ended(0), None).holds());
    assert_eq!(
        judge_plain(&exit(0), &exit(1), None).failure,
        Some(Failure::Regression)
    );
    assert_eq!(judge_plain(&exit(1), &exit(1), None).failure, None);
}

#[test]
fn a_merged_tree_keeps_what_passes_on_either_side() {
    for (name, integration, branch, merged, expected) in [
        ("both are kept", "+a +i", "+a +b", "+a +i +b", None),
        (
            "a test of the branch fails",
            "+a",
            "+a +b",
            "+a -b",
            Some(Failure::LandingRegression),
        ),
        (
            "a test of the integration branch fails",
            "+a +i",
            "+a",
            "+a -i",
            Some(Failure::LandingRegression),
        ),
        ("what failed on both sides may fail", "-a", "-a", "-a", None),
    ] {
        let proof = judge_landing(&report(integration), &report(branch), &report(merged), None);
        assert_eq!(proof.failure, expected, "{name}");
    }
}

#[test]
fn only_what_got_worse_is_run_again() {
    assert!(needs_rerun(&report("+a"), &report("-a")));
    assert!(needs_rerun(&report("+a"), &report("+a -b")));
    assert!(needs_rerun(&exit(0), &exit(1)));
    assert!(!needs_rerun(&report("-a"), &report("-a")));
    assert!(!needs_rerun(&report("+a"), &report("+a +b")));
}

#[test]
fn evidence_names_the_tests_with_what_they_printed_and_is_bounded() {
    let mut after = report("-a +n");
    after
        .messages
        .insert("a".into(), "expected 1, got 2\n".repeat(1000));
    let proof = judge_plain(&report("+a"), &after, None);
    assert!(
        proof
            .evidence
            .starts_with("tests that passed before do not now:\n- a\n    expected 1, got 2\n")
    );
    assert!(proof.evidence.len() < 5_000);
}

#[test]
fn tests_are_known_by_their_paths() {
    for path in [
        "tests/a.rs",
        "t/x.t",
        "x.t",
        "src/test_a.py",
        "pkg/a_test.go",
        "a.test.ts",
        "a.spec.js",
        "src/__tests__/a.js",
        "src/tests.rs",
        "src/main/FooTest.java",
        "spec/a_spec.rb",
        "conftest.py",
    ] {
        assert!(is_test_path(path), "{path}");
    }
    for path in [
        "src/lib.rs",
        "latest.py",
        "contest.go",
        "src/attestation.rs",
        "README.md",
        "bin/test-tool/main.c",
    ] {
        assert!(!is_test_path(path), "{path}");
    }
    let change = |path: &str, kind| Change {
        path: path.into(),
        kind,
    };
    let with_tests = [
        change("t/a.t", ChangeKind::Added),
        change("lib.sh", ChangeKind::Modified),
    ];
    assert_eq!(test_files_of_red(&with_tests), ["t/a.t"]);
    let without = [
        change("check.sh", ChangeKind::Added),
        change("lib.sh", ChangeKind::Modified),
    ];
    assert_eq!(test_files_of_red(&without), ["check.sh"]);
}

#[test]
fn a_rust_file_may_hold_a_section_of_tests() {
    let section = |text| test_section("src/lib.rs", text);
    assert_eq!(
        section("fn a() {}\n#[cfg(test)]\nmod tests {\n}\n"),
        Some("#[cfg(test)]\nmod tests {\n}\n")
    );
    assert_eq!(
        section("#[cfg(test)]\n#[path = \"x\"]\nmod tests { }"),
        Some("#[cfg(test)]\n#[path = \"x\"]\nmod tests { }")
    );
    assert_eq!(section("#[cfg(test)]\nmod tests;\nfn a() {}\n"), None);
    assert_eq!(
        section("#[cfg(test)]\nuse a;\n\n#[cfg(test)]\nmod b { }"),
        Some("#[cfg(test)]\nmod b { }")
    );
    assert_eq!(section("fn a() {}\n"), None);
    assert_eq!(
        test_section("tests/a.rs", "#[cfg(test)]\nmod tests {}"),
        None
    );
    assert_eq!(test_section("a.py", "#[cfg(test)]\nmod tests {}"), None);
}
