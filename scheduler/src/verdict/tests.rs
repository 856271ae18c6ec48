//! One case for every rule.

use super::*;
use crate::CommandEnd;
use std::collections::BTreeMap;

/// `+name` passed, `-name` failed, `~name` was skipped.
fn report(tests: &str) -> TestReport {
    let outcome = |word: &str| match word.as_bytes()[0] {
        b'+' => TestOutcome::Passed,
        b'-' => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    };
    let tests: BTreeMap<String, TestOutcome> =
        tests.split_whitespace().map(|word| (word[1..].to_owned(), outcome(word))).collect();
    let failed = tests.values().any(|outcome| *outcome == TestOutcome::Failed);
    TestReport {
        detail: Detail::PerTest,
        tests,
        ..TestReport::without_results(CommandEnd::Exited(Some(i32::from(failed))))
    }
}

fn exit(code: i32) -> TestReport {
    TestReport { end: CommandEnd::Exited(Some(code)), detail: Detail::ExitStatusOnly, ..report("") }
}

fn broken(why: &str) -> TestReport {
    TestReport { broken: Some(why.to_owned()), end: CommandEnd::Exited(Some(1)), ..report("+a") }
}

fn ended(end: CommandEnd) -> TestReport {
    TestReport { end, ..report("") }
}

#[test]
fn red_is_judged_by_every_rule() {
    use Failure::{RedCannotRun, RedPassed, Regression};
    use Strictness::{Normal, Relaxed, Strict};
    let cases: [(&str, TestReport, TestReport, Strictness, Option<Failure>); 25] = [
        ("a new test fails", report("+a"), report("+a -b"), Strict, None),
        ("the first test of a project fails", report(""), report("-b"), Strict, None),
        ("old failures don't matter", report("-a"), report("-a -b"), Strict, None),
        ("an old failure that is mended is fine", report("-a"), report("+a -b"), Strict, None),
        ("no new test", report("+a"), report("+a"), Normal, Some(RedPassed)),
        ("an old failure is no new test", report("-a"), report("-a"), Normal, Some(RedPassed)),
        ("no new test, relaxed", report("+a"), report("+a"), Relaxed, None),
        ("all new pass, strict", report("+a"), report("+a +b"), Strict, Some(RedPassed)),
        ("all new pass, normal", report("+a"), report("+a +b"), Normal, Some(RedPassed)),
        ("all new pass, relaxed", report("+a"), report("+a +b"), Relaxed, None),
        ("all new are skipped", report("+a"), report("+a ~b"), Normal, Some(RedPassed)),
        ("some new pass, strict", report("+a"), report("+a +b -c"), Strict, Some(RedPassed)),
        ("some new pass, normal", report("+a"), report("+a +b -c"), Normal, None),
        ("an old test fails", report("+a"), report("-a -b"), Relaxed, Some(Regression)),
        ("an old test vanishes", report("+a"), report("-b"), Normal, Some(Regression)),
        ("an old test is skipped", report("+a"), report("~a -b"), Normal, Some(Regression)),
        ("nothing is found", report(""), report(""), Normal, Some(RedCannotRun)),
        ("the suite breaks", report("+a"), broken("syntax error"), Relaxed, Some(RedCannotRun)),
        ("time is over", report("+a"), ended(CommandEnd::TimedOut), Normal, Some(RedCannotRun)),
        ("not started", report("+a"), ended(CommandEnd::NotStarted("gone".into())), Normal, Some(RedCannotRun)),
        ("killed", report("+a"), ended(CommandEnd::Exited(None)), Normal, Some(RedCannotRun)),
        ("no such command", exit(0), exit(127), Relaxed, Some(RedCannotRun)),
        ("exit status turns", exit(0), exit(1), Strict, None),
        ("exit status stays good", exit(0), exit(0), Normal, Some(RedPassed)),
        ("exit status was bad", exit(1), exit(1), Strict, Some(RedCannotRun)),
    ];
    for (name, base, after, strictness, expected) in cases {
        let proof = judge_red(&base, &after, strictness);
        assert_eq!(proof.failure, expected, "{name}");
        assert_eq!(proof.evidence.is_empty(), expected.is_none(), "{name}");
    }
    assert_eq!(judge_red(&exit(1), &exit(1), Normal).failure, None);
    assert!(!judge_red(&exit(0), &exit(1), Normal).notes.is_empty(), "weaker proof is said");
}

#[test]
fn green_is_judged_by_every_rule() {
    use Failure::{GreenFailing, Regression, TestsTampered};
    let red = RedFacts { new_tests: vec!["n".into()], test_files: vec!["t/n.t".into()] };
    let judge = |base: &str, after: &TestReport, rerun: Option<&TestReport>| {
        judge_green(&report(base), after, rerun, &red, &[], Strictness::Normal)
    };
    for (name, base, after, expected) in [
        ("RED's test passes", "+a -n", "+a +n", None),
        ("an old failure stays", "-a -n", "-a +n", None),
        ("RED's test still fails", "+a -n", "+a -n", Some(GreenFailing)),
        ("RED's test is gone", "+a -n", "+a", Some(GreenFailing)),
        ("RED's test is skipped", "+a -n", "+a ~n", Some(GreenFailing)),
        ("an old test fails", "+a -n", "-a +n", Some(Regression)),
        ("an old test is gone", "+a -n", "+n", Some(Regression)),
        ("an old test is skipped", "+a -n", "~a +n", Some(Regression)),
        ("a new test of its own fails", "+a -n", "+a +n -x", Some(Regression)),
    ] {
        assert_eq!(judge(base, &report(after), None).failure, expected, "{name}");
    }
    assert_eq!(judge("+a -n", &broken("syntax error"), None).failure, Some(GreenFailing));
    let flaky = judge("+a -n", &report("-a +n"), Some(&report("+a +n")));
    assert_eq!((flaky.failure, flaky.flaky), (None, vec!["a".to_owned()]));
    let again = judge("+a -n", &report("-a +n"), Some(&report("-a +n")));
    assert_eq!(again.failure, Some(Regression));
    let tampered =
        |strictness| judge_green(&report("-n"), &report("+n"), None, &red, &["t/n.t".to_owned()], strictness);
    assert_eq!(tampered(Strictness::Strict).failure, Some(TestsTampered));
    assert_eq!(tampered(Strictness::Normal).failure, Some(TestsTampered));
    assert_eq!((tampered(Strictness::Relaxed).failure, tampered(Strictness::Relaxed).notes.len()), (None, 1));
    let by_exit = |code| judge_green(&exit(1), &exit(code), None, &red, &[], Strictness::Normal).failure;
    assert_eq!((by_exit(0), by_exit(1)), (None, Some(GreenFailing)));
}

#[test]
fn plain_work_may_break_nothing_and_leave_nothing_broken() {
    for (name, base, after, rerun, expected) in [
        ("nothing changes", "+a -b", "+a -b", None, None),
        ("new tests pass", "+a", "+a +b", None, None),
        ("an old test fails", "+a", "-a", None, Some(Failure::Regression)),
        ("an old test is gone", "+a +b", "+b", None, Some(Failure::Regression)),
        ("an old failure is gone", "+a -b", "+a", None, None),
        ("a new test fails", "+a", "+a -b", None, Some(Failure::Regression)),
        ("a new test is flaky", "+a", "+a -b", Some("+a +b"), None),
        ("an old test is flaky", "+a", "-a", Some("+a"), None),
    ] {
        let proof = judge_plain(&report(base), &report(after), rerun.map(report).as_ref());
        assert_eq!(proof.failure, expected, "{name}");
    }
    assert_eq!(judge_plain(&report("+a"), &broken("x"), None).failure, Some(Failure::Regression));
    assert_eq!(judge_plain(&broken("x"), &broken("x"), None).failure, None);
    assert_eq!(judge_plain(&exit(0), &exit(1), None).failure, Some(Failure::Regression));
    assert_eq!(judge_plain(&exit(1), &exit(1), None).failure, None);
}

#[test]
fn a_merged_tree_keeps_what_passes_on_either_side() {
    for (name, integration, branch, merged, expected) in [
        ("both are kept", "+a +i", "+a +b", "+a +i +b", None),
        ("a test of the branch fails", "+a", "+a +b", "+a -b", Some(Failure::LandingRegression)),
        ("a test of the integration branch fails", "+a +i", "+a", "+a -i", Some(Failure::LandingRegression)),
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
    after.messages.insert("a".into(), "expected 1, got 2\n".repeat(1000));
    let proof = judge_plain(&report("+a"), &after, None);
    assert!(proof.evidence.starts_with("tests that passed before do not now:\n- a\n    expected 1, got 2\n"));
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
    for path in ["src/lib.rs", "latest.py", "contest.go", "src/attestation.rs", "README.md", "bin/test-tool/main.c"] {
        assert!(!is_test_path(path), "{path}");
    }
    let change = |path: &str, kind| Change { path: path.into(), kind };
    let with_tests = [change("t/a.t", ChangeKind::Added), change("lib.sh", ChangeKind::Modified)];
    assert_eq!(test_files_of_red(&with_tests), ["t/a.t"]);
    let without = [change("check.sh", ChangeKind::Added), change("lib.sh", ChangeKind::Modified)];
    assert_eq!(test_files_of_red(&without), ["check.sh"]);
}
