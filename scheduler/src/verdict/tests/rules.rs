//! One case for every rule about what surrounds the tests: what RED brought, links, RED again, tests that can't pass.

use super::*;
use crate::TestMistake;

fn links(links: &[(&str, &str)]) -> BTreeMap<String, String> {
    links
        .iter()
        .map(|(path, target)| ((*path).to_owned(), (*target).to_owned()))
        .collect()
}

#[test]
fn links_lead_where_a_file_system_would_follow_them() {
    let tree = links(&[
        ("a/b/top", "../.."),
        ("here", "a/./b"),
        ("round", "about"),
        ("about", "round"),
        ("up", "../x"),
        ("abroad", "/etc/passwd"),
        ("sly", "a/b/top/../x"),
        ("git", ".git/config"),
        ("far", "here/../../.."),
    ]);
    for (path, expected) in [
        ("a/c", Some("a/c")),
        ("a/b/top/c", Some("c")),
        ("here/c", Some("a/b/c")),
        ("round", Some("round")),
        ("up", None),
        ("abroad", None),
        ("sly", None),
        ("git", None),
        ("far", None),
    ] {
        assert_eq!(leads_to(path, &tree).as_deref(), expected, "{path}");
    }
    assert_eq!(
        lead_out(&tree, &tree),
        Vec::<String>::new(),
        "what was there before is not the work's"
    );
    assert_eq!(
        lead_out(
            &links(&[("up", "../y")]),
            &links(&[("up", "../x"), ("ok", "up2")])
        ),
        ["up -> ../x"]
    );
}

#[test]
fn results_tell_of_tests_that_can_not_pass_or_do_not() {
    let before = report("+a -old");
    for (name, with_canary, expected) in [
        ("nothing changes", report("+a -old"), false),
        ("one more passes", report("+a -old +more"), false),
        ("an old failure passes", report("+a +old"), false),
        ("a test fails", report("-a -old"), true),
        ("a new one fails", report("+a -old -canary"), true),
        ("a test is gone", report("-old"), true),
        ("a test is skipped", report("~a -old"), true),
        ("it does not load", unloadable("+a -old", "-t/n.t"), true),
    ] {
        assert_eq!(tells_of_canary(&before, &with_canary), expected, "{name}");
    }
    assert!(tells_of_canary(&exit(0), &exit(1)));
    assert!(!tells_of_canary(&exit(0), &exit(0)));
    assert!(
        control_tells(&before, &report("+a -old -canary")) && control_tells(&exit(0), &exit(1))
    );
    assert!(
        !control_tells(&before, &report("-old")),
        "a test that is gone may have been in that place"
    );
    let proof = canary_was_missed(Proof::default(), &before, &["t/n.t".into()]);
    assert_eq!(
        (proof.failure, proof.reason),
        (
            Some(Failure::TestsTampered),
            Some(Reason::ResultsNotFromTests)
        )
    );
    assert!(proof.evidence.contains("t/n.t"));
}

/// Name, what is known of RED, its results, those of the second time, what is said of that.
const AGAIN: &str = "
    it fails             | named    | -n +p      | -n +p      | fails
    what passed may fail | named    | -n +p      | -n -p      | fails
    it passes            | named    | -n +p      | +n +p      | passes: n
    it is skipped        | named    | -n         | ~n         | differs
    it is gone           | named    | -n         | +a         | differs
    it does not load     | unloaded | / +t/n.t   | / +t/n.t   | fails
    it loads and passes  | unloaded | / +t/n.t   | +n         | passes: t/n.t
    it loads and fails   | unloaded | / +t/n.t   | -n         | differs
    the command fails    |          | exit 1     | exit 1     | fails
    the command passes   |          | exit 1     | exit 0     | passes: the test command
";

#[test]
fn reds_tests_have_to_fail_again_as_they_did() {
    let named = RedFacts {
        new_tests: vec!["n".into(), "p".into()],
        ..RedFacts::default()
    };
    let unloaded = RedFacts {
        unloaded: vec!["t/n.t".into()],
        ..RedFacts::default()
    };
    for [name, of, then, now, expected] in rows(AGAIN) {
        let red = match of {
            "named" => &named,
            "unloaded" => &unloaded,
            _ => &RedFacts::default(),
        };
        let now = measured(now);
        let again = red_again(red, &measured(then), &now);
        let said = match &again {
            RedAgain::Fails => "fails".to_owned(),
            RedAgain::Passes(names) => format!("passes: {}", names.join(" ")),
            RedAgain::Differs(_) => "differs".to_owned(),
            RedAgain::CannotRun(_) => "cannot run".to_owned(),
        };
        assert_eq!(said, expected, "{name}: {again:?}");
        let reason = red_does_not_fail(Proof::default(), &again, &now).reason;
        let refused = (again != RedAgain::Fails).then_some(Reason::RedNotFailing);
        assert_eq!(reason, refused, "{name}");
    }
    let hangs = TestReport::without_results(CommandEnd::TimedOut);
    let again = red_again(&named, &report("-n"), &hangs);
    assert_eq!(
        red_does_not_fail(Proof::default(), &again, &hangs).reason,
        Some(Reason::CannotRun)
    );
}

#[test]
fn settings_that_make_reds_tests_pass_are_refused_and_data_is_named() {
    let (settings, data, now) = (
        ["tsconfig.json".to_owned()],
        ["page.html".to_owned()],
        report("+n"),
    );
    let judge = |settings: &[String], strictness| {
        let rules = Rules {
            strictness,
            ..Rules::default()
        };
        only_settings_pass(Proof::default(), settings, &data, &now, rules)
    };
    assert_eq!(
        judge(&settings, Strictness::Normal).reason,
        Some(Reason::TestRunnerChanged)
    );
    assert_eq!(
        judge(&settings, Strictness::Relaxed).waived,
        [Reason::TestRunnerChanged]
    );
    let proof = judge(&[], Strictness::Strict);
    assert!(
        proof.holds() && proof.notes[0].contains("page.html"),
        "{proof:?}"
    );
}

/// Which of these files, all changed by GREEN, are frozen.
fn frozen(red: &[(&str, ChangeKind, &str)], tests: &[(&str, &str)]) -> Vec<String> {
    let red: Vec<RedFile> = red
        .iter()
        .map(|(path, kind, text)| RedFile {
            path: (*path).to_owned(),
            kind: *kind,
            text: Some((*text).to_owned()),
        })
        .collect();
    let tests: Vec<(String, String)> = tests
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let changed: Vec<Change> = red
        .iter()
        .map(|file| Change {
            path: file.path.clone(),
            kind: ChangeKind::Modified,
        })
        .collect();
    brought_by_red(&red, &tests, &changed)
        .into_iter()
        .map(|(path, _)| path)
        .collect()
}

#[test]
fn what_red_brought_is_frozen_and_what_it_left_unfinished_is_not() {
    use ChangeKind::{Added, Modified};
    for (path, kind, text, is_frozen) in [
        ("data/expected.json", Added, "{}", true),
        ("support.py", Added, "def expected():\n    return 3\n", true),
        ("tests/helper.py", Added, "raise NotImplementedError", true),
        (
            "src/parse.py",
            Added,
            "def parse(text):\n    raise NotImplementedError\n",
            false,
        ),
        ("src/parse.rs", Added, "pub fn parse() { todo!() }", false),
        (
            "src/parse.rs",
            Added,
            "pub fn parse() { 1 }\n#[cfg(test)]\nmod tests { }",
            false,
        ),
        ("pkg/__init__.py", Added, "", false),
        (
            "pkg/__init__.py",
            Added,
            "# The package.\nfrom .parse import parse\n",
            false,
        ),
        ("src/lib.rs", Modified, "pub fn one() -> u8 { 1 }", false),
        ("package.json", Added, "{}", false),
        ("Cargo.lock", Added, "", false),
        ("NOTES.md", Added, "notes", false),
        ("words.md", Added, "words", true),
        ("config.yaml", Modified, "a: 1", true),
        ("other.yaml", Modified, "a: 1", false),
    ] {
        let tests = [("tests/test_a.py", "open('words.md'), open(\"config.yaml\")")];
        assert_eq!(
            !frozen(&[(path, kind, text)], &tests).is_empty(),
            is_frozen,
            "{path} {text}"
        );
    }
}

#[test]
fn a_test_names_files_from_the_top_from_its_folder_or_by_name() {
    let names = |text: &str, path: &str| names_path("tests/unit/test_a.py", text, path);
    assert!(names("open('data/a.json')", "data/a.json"));
    assert!(names("open('parts/a.json')", "tests/unit/parts/a.json"));
    assert!(names("join(folder, \"a.json\")", "data/a.json"));
    assert!(!names("open('extra.json')", "data/a.json"));
    assert!(!names("open('a.json5')", "data/a.json"));
    assert!(!names("", "data/a.json"));
    assert!(is_fixture("golden/page.html") && is_fixture("data/expected.json"));
    assert!(!is_fixture("templates/page.html") && !is_fixture("src/expected.py"));
}

#[test]
fn files_of_code_are_told_from_data_documents_and_settings() {
    for path in [
        "src/lib.rs",
        "a.py",
        "bin/tool",
        "web/App.VUE",
        "scripts/go.sh",
        "t/a.t",
    ] {
        assert!(is_source(path), "{path}");
    }
    for path in [
        "a.json",
        "README.md",
        "Makefile",
        "conftest.py",
        "jest.config.js",
        ".npmrc",
        "x/.env.js",
        "a.html",
    ] {
        assert!(!is_source(path), "{path}");
    }
}

#[test]
fn a_mistake_of_the_test_itself_is_refused_in_red_and_named_in_green() {
    let mistake = TestMistake {
        file: "t/n.t".into(),
        line: 7,
        text: "NameError: name 'pytest' is not defined".into(),
    };
    let base = report("+a");
    let after = TestReport {
        mistakes: vec![mistake.clone()],
        ..report("+a -n")
    };
    let red = |base: &TestReport, files: &[String]| {
        let work = RedWork {
            base,
            after: &after,
            rerun: None,
            without_tests: None,
            test_files: files,
        };
        judge_red(&work, Strictness::Relaxed)
    };
    let refused = red(&base, &["t/n.t".into()]);
    assert_eq!(
        (refused.failure, refused.reason),
        (Some(Failure::RedCannotRun), Some(Reason::TestMistake))
    );
    assert!(
        refused.evidence.contains("t/n.t, line 7: NameError"),
        "{}",
        refused.evidence
    );
    assert_eq!(
        red(&base, &["t/other.t".into()]).reason,
        None,
        "a mistake elsewhere is not the new test's"
    );
    let was_there = TestReport {
        mistakes: vec![mistake],
        ..report("+a")
    };
    assert_eq!(red(&was_there, &["t/n.t".into()]).reason, None);

    let facts = RedFacts {
        new_tests: vec!["n".into()],
        unloaded: Vec::new(),
        files: vec!["t/n.t".into()],
    };
    let green = |after: &TestReport| {
        let (tampered, runner) = (&[][..], &[][..]);
        let work = GreenWork {
            base: &base,
            without_red: &base,
            after,
            rerun: None,
            red: &facts,
            tampered,
            runner,
        };
        judge_green(&work, Rules::default())
    };
    let proof = green(&after);
    assert_eq!(
        (proof.failure, proof.reason),
        (Some(Failure::GreenFailing), Some(Reason::TestMistake))
    );
    assert_eq!(green(&report("+a -n")).reason, Some(Reason::RedTestsFail));
}

#[test]
fn files_as_before_decide_whether_changed_tests_were_needed() {
    let (base, after) = (report("-n +a"), report("+n +a"));
    let red = RedFacts {
        new_tests: vec!["n".into()],
        ..RedFacts::default()
    };
    let work = GreenWork {
        base: &base,
        without_red: &base,
        after: &after,
        rerun: None,
        red: &red,
        tampered: &[],
        runner: &[],
    };
    let bad = GreenWork {
        after: &base,
        ..work
    };
    let tests = AsBefore {
        tests: vec!["t/help.sh".into()],
        frozen: Vec::new(),
    };
    let frozen = AsBefore {
        frozen: vec![("data.json".into(), "added by RED".into())],
        ..tests.clone()
    };
    let judge = |work: &GreenWork<'_>, files: &AsBefore| {
        with_files_as_before(Proof::default(), work, files, Rules::default())
    };
    assert!(judge(&work, &frozen).holds());
    assert_eq!(judge(&bad, &tests).reason, Some(Reason::TestRunnerChanged));
    let proof = judge(&bad, &frozen);
    assert_eq!(
        (proof.failure, proof.reason),
        (
            Some(Failure::TestsTampered),
            Some(Reason::FrozenFileChanged)
        )
    );
    assert!(
        proof.evidence.contains("data.json (added by RED)"),
        "{}",
        proof.evidence
    );
    let rules = Rules {
        strictness: Strictness::Relaxed,
        ..Rules::default()
    };
    assert_eq!(
        with_files_as_before(Proof::default(), &bad, &frozen, rules).waived,
        [Reason::FrozenFileChanged]
    );

    let plain = |strictness| {
        judge_plain_as_before(
            Proof::default(),
            &report("+a"),
            &report("-a"),
            &tests,
            strictness,
        )
    };
    assert_eq!(
        plain(Strictness::Strict).reason,
        Some(Reason::TestRunnerChanged)
    );
    let noted = plain(Strictness::Normal);
    assert_eq!(
        (noted.reason, noted.waived),
        (None, vec![Reason::TestRunnerChanged])
    );
}

#[test]
fn a_known_failing_tree_is_no_better_than_one_just_measured() {
    for (name, integration, branch, merged, expected) in [
        (
            "it fails on the branch alone, too",
            "+a",
            "+a -f",
            "+a -f",
            Some(Reason::NewTestFailed),
        ),
        (
            "it was mended meanwhile",
            "+a",
            "-a",
            "-a",
            Some(Reason::OldTestFailed),
        ),
        ("it fails where it lands already", "-i", "+a", "-i +a", None),
    ] {
        let proof = judge_landing(&report(integration), &report(branch), &report(merged), None);
        assert_eq!(proof.reason, expected, "{name}");
    }
    assert!(!judge_landing(&exit(0), &exit(1), &exit(1), None).holds());
    assert!(judge_landing(&exit(1), &exit(1), &exit(1), None).holds());
}

#[test]
fn red_is_refused_where_nothing_could_be_run_before() {
    let judge = |base: &TestReport, after: &TestReport| {
        let work = RedWork {
            base,
            after,
            rerun: None,
            without_tests: None,
            test_files: &[],
        };
        judge_red(&work, Strictness::Normal)
    };
    let missing = TestReport {
        output_tail: "sh: 1: jest: not found\n".into(),
        ..exit(1)
    };
    let proof = judge(&missing, &exit(1));
    assert_eq!(
        (proof.failure, proof.reason),
        (Some(Failure::RedCannotRun), Some(Reason::CannotRun))
    );
    assert!(
        proof.evidence.contains("jest: not found"),
        "{}",
        proof.evidence
    );
    assert_eq!(
        judge(&exit(127), &report("-n")).reason,
        Some(Reason::CannotRun)
    );
    assert_eq!(
        judge(&missing, &report("-n")).reason,
        None,
        "a runner without tests may fail"
    );
    assert_eq!(
        judge(&exit(1), &exit(1)).reason,
        Some(Reason::ExitStatusOnly)
    );
}

#[test]
fn a_proof_says_what_it_rests_on() {
    let red = |base: &TestReport, after: &TestReport| {
        let work = RedWork {
            base,
            after,
            rerun: None,
            without_tests: None,
            test_files: &[],
        };
        let proof = judge_red(&work, Strictness::Normal);
        (proof.strength, proof.seen_failing)
    };
    assert_eq!(
        red(&report("+a"), &report("+a -n")),
        (crate::Strength::PerTest, true)
    );
    assert_eq!(
        red(&exit(0), &exit(1)),
        (crate::Strength::ExitStatusOnly, false)
    );
    let old: Proof = serde_json::from_str(
        r#"{"baseline_failed":0,"new":[],"passed":0,"failed":0,"regressions":[],"flaky":[],"failure":null,"evidence":"","notes":[]}"#,
    )
    .expect("a proof of before");
    assert_eq!(old.strength, crate::Strength::Nothing);
}
