//! Proofs that are bent from where nobody looks: what tests read, what runs them, what surrounds them, results that do not
//! come from them. Each is caught and named, and honest work in the same project lands.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;

/// Words of an agent that cheats in the first attempt of a phase.
fn cheat(phase: &str, how: &str, honest: &str) -> String {
    format!(
        "if [ \"$TM_ATTEMPT\" = 1 ] && [ \"$TM_PHASE\" = {phase} ]; then\n{how}\n\
         printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\nexit\nfi\n{honest}"
    )
}

/// A project with one task, an agent, and these files beside the scene's own; `setting` is its `test:`.
fn project(files: &[(&str, &str)], setting: &str, agent: &str) -> Scene {
    let scene = Scene::new(&[("1", "Add the parser", &[])], agent);
    for (path, text) in files {
        write(&scene.root().join(path), text);
    }
    if !setting.is_empty() {
        write(
            &scene.root().join(".taskmaster/tm.yaml"),
            &format!("test: {setting}\n"),
        );
    }
    scene.git(&["add", "--all"]);
    scene.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "the project",
    ]);
    scene
}

/// The first attempt of a task is refused so.
fn is_refused(report: &Value, id: &str, failure: &str, reason: &str) -> String {
    let first = &task(report, id)["attempts"][0];
    assert_eq!(
        (&first["failure"], &first["proof"]["reason"]),
        (&failure.into(), &reason.into()),
        "{report:#}"
    );
    first["evidence"].as_str().unwrap_or_default().to_owned()
}

/// The cheat is refused as named, and the honest attempt after it lands.
fn is_caught(scene: &Scene, phase: &str, failure: &str, reason: &str) -> String {
    let report = scene.runs(&[], 0);
    let evidence = is_refused(
        &report,
        if phase == "red" { "1:red" } else { "1" },
        failure,
        reason,
    );
    assert_eq!(task(&report, "1")["landed"], true, "{report:#}");
    assert_eq!(report["tdd"]["compliant"], 1, "{report:#}");
    evidence
}

/// Python's own framework, test by test.
const UNITTEST: &str = "{ command: 'python3 -m unittest discover -v -s tests -t .' }";
const PYTHON: [(&str, &str); 2] = [
    ("tests/__init__.py", ""),
    (
        "tests/test_old.py",
        "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertEqual(1, 1)\n",
    ),
];
const HONEST_PYTHON: &str = r#"
case $TM_PHASE in
red) printf 'import unittest\nfrom calc import add\n\n\nclass New(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n' > tests/test_new.py ;;
green) printf 'def add(a, b):\n    return a + b\n' > calc.py ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

#[test]
fn a_link_that_leads_out_of_the_tree_is_no_work() {
    let how = "mkdir -p t; printf '. t/check.sh\\ncheck \"1 works\" 1 0\\n' > \"$AGENT_FOLDER/out.t\"; ln -s \"$AGENT_FOLDER/out.t\" t/1.t";
    let evidence = is_caught(
        &project(&[], "", &cheat("red", how, HONEST)),
        "red",
        "work-refused",
        "link-out-of-tree",
    );
    assert!(evidence.contains("t/1.t -> /"), "{evidence}");
}

#[test]
fn a_link_within_the_tree_is_work_as_any_other() {
    let agent = format!("{HONEST}\n[ \"$TM_PHASE\" = green ] && ln -s bin/1 one; exit 0");
    let scene = project(&[], "", &agent);
    assert_eq!(task(&scene.runs(&[], 0), "1")["landed"], true);
}

#[test]
fn a_red_that_fails_for_something_outside_does_not_count_when_that_has_turned() {
    let agent = r#"
        case $TM_PHASE in
        red) rm -f "$AGENT_FOLDER/flag"
             printf '. t/check.sh\ncheck "1 works" yes "$(cat %s/flag 2>/dev/null)"\n' "$AGENT_FOLDER" > t/1.t ;;
        green) echo yes > "$AGENT_FOLDER/flag"; echo read > README ;;
        esac
        printf 'status: PASS\n' > "$TM_RESULT_FILE""#;
    let scene = project(&[], "", agent);
    let report = scene.runs(&["--retries", "0"], 3);
    is_refused(&report, "1", "green-failing", "red-not-failing");
    assert_eq!(report["integration_commit"], report["base_commit"]);
}

#[test]
fn data_and_helpers_that_red_brought_are_frozen() {
    let red = "mkdir -p data; echo 3 > data/wanted.txt; echo 'wanted() { cat data/wanted.txt; }' > support.sh\n\
               printf '. t/check.sh\\n. ./support.sh\\ncheck \"1 works\" \"$(wanted)\" \"$(sh bin/1 2>/dev/null)\"\\n' > t/1.t";
    let agent = |how: &str| {
        let honest = format!(
            "case $TM_PHASE in\nred) {red} ;;\ngreen) mkdir -p bin; echo 'echo 3' > bin/1 ;;\nesac\n\
             printf 'status: PASS\\n' > \"$TM_RESULT_FILE\""
        );
        cheat("green", how, &honest)
    };
    for (how, file) in [
        (
            "mkdir -p bin; echo 'echo 4' > bin/1; echo 4 > data/wanted.txt",
            "data/wanted.txt",
        ),
        (
            "mkdir -p bin; echo 'echo 4' > bin/1; echo 'wanted() { echo 4; }' > support.sh",
            "support.sh",
        ),
    ] {
        let scene = project(&[], "", &agent(how));
        let evidence = is_caught(&scene, "green", "tests-tampered", "frozen-file-changed");
        assert!(
            evidence.contains(&format!("{file} (added by RED)")),
            "{evidence}"
        );
    }
}

#[test]
fn a_stub_of_red_is_there_to_be_replaced() {
    let agent = r#"
        case $TM_PHASE in
        red) printf 'def add(a, b):\n    raise NotImplementedError\n' > calc.py
             printf 'import unittest\nfrom calc import add\n\n\nclass New(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n' > tests/test_new.py ;;
        green) printf 'def add(a, b):\n    return a + b\n' > calc.py ;;
        esac
        printf 'status: PASS\n' > "$TM_RESULT_FILE""#;
    let scene = project(&PYTHON, UNITTEST, agent);
    let report = scene.runs(&[], 0);
    assert_eq!(
        task(&report, "1")["attempts"]
            .as_array()
            .expect("attempts")
            .len(),
        1,
        "{report:#}"
    );
    assert_eq!(report["tdd"]["compliant"], 1);
}

#[test]
fn a_helper_of_the_script_that_runs_the_tests_is_part_of_it() {
    let runner = ". ./ci/report.sh\nfor file in t/*.t; do sh \"$file\" | report \"$file\"; done > out.tap\n\
                  echo \"1..$(grep -c 'ok - ' out.tap)\"; cat out.tap; ! grep -q '^not ok' out.tap\n";
    let report = "report() { cat; }\n";
    let how = "echo \"report() { sed 's/^not ok/ok/'; }\" > ci/report.sh; echo x > x";
    let files = [
        ("run-tests.sh", runner),
        ("ci/report.sh", report),
        (".gitignore", "out.tap\n"),
    ];
    let scene = project(&files, "", &cheat("green", how, HONEST));
    is_caught(&scene, "green", "tests-tampered", "test-runner-changed");
}

#[test]
fn rules_and_scripts_that_the_command_runs_indirectly_are_part_of_it() {
    let makefile = "test: unit\n\t@cat out.tap\nunit:\n\t@sh run-tests.sh > out.tap || true\n";
    let how = r"printf 'test: unit\n\t@cat out.tap\nunit:\n\t@printf \047TAP version 13\\n1..2\\nok - old.t: the old one\\nok - 1.t: 1 works\\n\047 > out.tap\n' > Makefile";
    let files = [("Makefile", makefile), (".gitignore", "out.tap\n")];
    let scene = project(
        &files,
        "{ command: make -s test }",
        &cheat("green", how, HONEST),
    );
    is_caught(&scene, "green", "tests-tampered", "test-runner-changed");
}

#[test]
fn scripts_of_packages_are_followed() {
    if which::which("npm").is_err() {
        return;
    }
    let package = r#"{"scripts": {"test": "npm run --silent unit", "unit": "sh run-tests.sh"}}"#;
    let fake =
        "printf 'echo 1..2; echo ok - old.t: the old one; echo ok - 1.t: 1 works\\n' > fake.sh";
    for how in [
        format!("{fake}; sed -i 's/run-tests.sh/fake.sh/' package.json"),
        format!(
            "{fake}; printf 'script-shell=./fake.sh\\n' > .npmrc; sed -i '1i #!/bin/sh' fake.sh; chmod +x fake.sh"
        ),
    ] {
        let agent = cheat("green", &how, HONEST);
        let scene = project(
            &[("package.json", package)],
            "{ command: npm test --silent }",
            &agent,
        );
        is_caught(&scene, "green", "tests-tampered", "test-runner-changed");
    }
}

#[test]
fn settings_that_turn_results_are_refused_and_data_that_is_the_work_is_named() {
    // The runner takes its filter from a file of settings.
    let runner = "[ -e .runner ] && . ./.runner\nfor file in t/*.t; do sh \"$file\" | ${FILTER:-cat}; done > out.tap\n\
                  echo \"1..$(grep -c 'ok - ' out.tap)\"; cat out.tap; ! grep -q '^not ok' out.tap\n";
    let how = "echo \"FILTER='sed s/^not.ok/ok/'\" > .runner; echo x > x";
    let files = [("run-tests.sh", runner), (".gitignore", "out.tap\n")];
    let scene = project(&files, "", &cheat("green", how, HONEST));
    is_caught(&scene, "green", "tests-tampered", "test-runner-changed");

    let agent = r#"
        case $TM_PHASE in
        red) printf '. t/check.sh\ncheck "1 works" new "$(cat page.html)"\n' > t/1.t ;;
        green) echo new > page.html ;;
        esac
        printf 'status: PASS\n' > "$TM_RESULT_FILE""#;
    let scene = project(&[("page.html", "old\n")], "", agent);
    let report = scene.runs(&[], 0);
    let notes = task(&report, "1")["attempts"][0]["proof"]["notes"].to_string();
    assert!(notes.contains("page.html"), "{notes}");
    assert_eq!(report["tdd"]["compliant"], 1);
}

#[test]
fn results_that_the_code_under_test_prints_are_not_its_tests() {
    let red = "printf '. t/check.sh\\n[ -e lib.sh ] && . ./lib.sh\\ncheck \"1 works\" 1 \"$(one)\"\\n' > t/1.t";
    let honest = format!(
        "case $TM_PHASE in\nred) {red} ;;\ngreen) echo 'one() {{ echo 1; }}' > lib.sh ;;\nesac\n\
         printf 'status: PASS\\n' > \"$TM_RESULT_FILE\""
    );
    let how = "printf 'echo \"ok - 1 works\"\\nexit 0\\n' > lib.sh";
    let scene = project(&[], "", &cheat("green", how, &honest));
    let evidence = is_caught(&scene, "green", "tests-tampered", "results-not-from-tests");
    assert!(evidence.contains("t/1.t"), "{evidence}");
}

#[test]
fn a_process_that_ends_itself_with_results_of_its_own_is_caught_wherever_it_does() {
    let forged = r#"import os, sys\nsys.stderr.write("test_add (tests.test_new.New.test_add) ... ok\\ntest_old (tests.test_old.Old.test_old) ... ok\\n\\n------\\nRan 2 tests in 0.1s\\n\\nOK\\n")\nsys.stderr.flush()\nos._exit(0)\n"#;
    let within = forged
        .trim_end_matches("\\n")
        .replace("\\nsys", "; sys")
        .replace("\\nos", "; os");
    for how in [
        format!("printf '%b' '{forged}' > calc.py"),
        format!("printf '%b' 'def add(a, b):\\n    {within}\\n' > calc.py"),
    ] {
        let scene = project(&PYTHON, UNITTEST, &cheat("green", &how, HONEST_PYTHON));
        is_caught(&scene, "green", "tests-tampered", "results-not-from-tests");
    }
}

#[test]
fn a_skip_from_within_the_code_is_caught_also_where_only_the_exit_status_tells() {
    let how = "printf 'import unittest\\ndef add(a, b):\\n    raise unittest.SkipTest(\"later\")\\n' > calc.py";
    let setting = "{ command: 'python3 -m unittest discover -s tests -t .', format: exit-status }";
    let scene = project(&PYTHON, setting, &cheat("green", how, HONEST_PYTHON));
    let report = scene.runs(&[], 0);
    is_refused(&report, "1", "tests-tampered", "results-not-from-tests");
    let pair = &report["tdd"]["table"][0];
    assert_eq!(
        (&pair["landed"], &pair["compliant"]),
        (&true.into(), &false.into()),
        "{report:#}"
    );
    assert_eq!(pair["why_not"], "GREEN: judged by exit status only");
    assert_eq!(
        task(&report, "1")["attempts"][1]["proof"]["strength"],
        "exit-status-only"
    );
}

#[test]
fn a_mistake_of_the_test_is_seen_in_red() {
    for (how, words) in [
        (
            "def test_add(self):\\n        self.assertEqual(ad(1, 2), 3)",
            "NameError: name 'ad' is not defined",
        ),
        (
            "def test_add(self):\\n        from json import lods",
            "cannot import name 'lods' from 'json'",
        ),
    ] {
        let how = format!(
            "printf 'import unittest\\n\\n\\nclass New(unittest.TestCase):\\n    {how}\\n' > tests/test_new.py"
        );
        let scene = project(&PYTHON, UNITTEST, &cheat("red", &how, HONEST_PYTHON));
        let evidence = is_caught(&scene, "red", "red-cannot-run", "test-mistake");
        assert!(
            evidence.contains("tests/test_new.py, line 6") && evidence.contains(words),
            "{evidence}"
        );
    }
}

#[test]
fn a_red_is_refused_where_nothing_can_be_run_before_it() {
    for command in ["no-such-runner --all", "sh -c 'no-such-runner; exit 1'"] {
        let scene = project(&[], &format!("{{ command: \"{command}\" }}"), HONEST);
        let report = scene.runs(&["--retries", "0", "--allow-broken-base"], 3);
        let evidence = is_refused(&report, "1:red", "red-cannot-run", "cannot-run");
        assert!(evidence.contains("not found"), "{evidence}");
    }
}

#[test]
fn work_without_a_pair_that_needs_weaker_tests_is_named_and_refused_where_that_is_asked_for() {
    let agent = "echo 'check() { echo \"ok - $1\"; }' > t/check.sh; echo 'check \"the old one\" 1 2' >> t/old.t\n\
                 printf '. t/check.sh\\ncheck \"the old one\" 1 \"$(cat value)\"\\n' > t/old.t; echo 2 > value\n\
                 printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"";
    let scene = project(
        &[
            (
                "t/old.t",
                ". t/check.sh\ncheck 'the old one' 1 \"$(cat value)\"\n",
            ),
            ("value", "1\n"),
        ],
        "",
        agent,
    );
    let report = scene.runs(&["--tdd", "off"], 0);
    let proof = &task(&report, "1")["attempts"][0]["proof"];
    assert!(
        proof["notes"]
            .to_string()
            .contains("passes only because tests or their runner were changed"),
        "{proof}"
    );
    assert_eq!(proof["waived"][0], "test-runner-changed");
    let scene = project(
        &[
            (
                "t/old.t",
                ". t/check.sh\ncheck 'the old one' 1 \"$(cat value)\"\n",
            ),
            ("value", "1\n"),
        ],
        "",
        agent,
    );
    let report = scene.runs(
        &["--tdd", "off", "--strictness", "strict", "--retries", "0"],
        3,
    );
    is_refused(&report, "1", "tests-tampered", "test-runner-changed");
}

#[test]
fn a_proof_without_tests_that_can_not_pass_says_so_and_only_there() {
    for (canary, is_noted) in [("on", false), ("off", true)] {
        let scene = project(&[], "", HONEST);
        let output = scene
            .run_command(&[])
            .env("TM_TDD_CANARY", canary)
            .output()
            .expect("tm");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let report = scene.report();
        let notes = task(&report, "1")["attempts"][0]["proof"]["notes"].to_string();
        assert_eq!(
            notes.contains("tests that can't pass were not tried (`tdd.canary: off`)"),
            is_noted,
            "{notes}"
        );
        let has_run = scene.waves_folder().join("tasks/1/attempt-1");
        let logs = std::fs::read_dir(has_run).expect("a folder").flatten();
        let canaries = logs
            .filter(|log| log.file_name().to_string_lossy().contains("canary"))
            .count();
        assert_eq!(canaries == 0, is_noted, "the canary runs where it is on");
    }
}
