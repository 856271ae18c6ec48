//! What real frameworks printed, and what is to be made of it.

use super::{Parsed, READERS};
use proptest::prelude::*;
use tm_scheduler::{ResultFormat, TestOutcome};

const PYTEST_XML: &str = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="2" tests="6" time="0.071"><testcase classname="tests.test_c.TestIt" name="test_ok" time="0.000" /><testcase classname="tests.test_c.TestIt" name="test_many[x]" time="0.000" /><testcase classname="tests.test_c.TestIt" name="test_many[y z]" time="0.001"><failure message="AssertionError: assert 'y z' == 'x'&#10;  - x">&gt;   def test_many(self, a): assert a == "x"
tests/test_c.py:5: AssertionError</failure></testcase><testcase classname="tests.test_c" name="test_skip"><skipped type="pytest.skip" message="later">test_c.py:6: later</skipped></testcase><testcase classname="tests.test_c" name="test_xfail"><skipped type="pytest.xfail" message="" /></testcase><testcase classname="tests.test_c" name="test_teardown"><error message="failed on teardown with &quot;ValueError: teardown &lt;&amp;&gt;&quot;"><![CDATA[ValueError]]></error></testcase></testsuite></testsuites>"#;

const PYTEST_VERBOSE: &str = "tests/test_c.py::TestIt::test_ok PASSED                          [ 16%]\n\
    tests/test_c.py::TestIt::test_many[x] PASSED                     [ 33%]\n\
    tests/test_c.py::TestIt::test_many[y z] FAILED                   [ 50%]\n\
    tests/test_c.py::test_skip SKIPPED (later)                       [ 66%]\n\
    tests/test_c.py::test_xfail XFAIL                                [ 83%]\n\
    tests/test_c.py::test_teardown PASSED                            [100%]\n\
    tests/test_c.py::test_teardown ERROR                             [100%]\n\
    ========== 1 failed, 3 passed, 1 skipped, 1 xfailed, 1 error in 0.03s ==========\n";

const NEXTEST: &str = "    Starting 3 tests across 2 binaries (1 test skipped)\n\
    \x20       PASS [   0.005s] (1/3) demo tests::it_works\n\
    \x20 TRY 1 FAIL [   0.005s] (2/3) demo::a good\n\
    \x20 TRY 2 PASS [   0.005s] (2/3) demo::a good\n\
    \x20       SLOW [>  0.100s] (───) demo::a bad\n\
    \x20       FAIL [   0.123s] (3/3) demo::a bad\n    thread 'bad' panicked\n\
    \x20    Summary [   0.124s] 3 tests run: 2 passed, 1 failed, 1 skipped\n\
    \x20       FAIL [   0.123s] (3/3) demo::a bad\nerror: test run failed\n";

const NODE: &str = "✖ new (1.91597ms)\n  Error: missing\n\n✔ old (1.370389ms)\n▶ suite\n  ✔ a (0.93124ms)\n  ✖ b (0.342ms)\n\
    \x20   Error: no\n  ﹣ c (0.15111ms) # SKIP\n  ▶ inner\n    ✔ d (0.24173ms)\n  ✔ inner (0.410909ms)\n✖ suite (3.49902ms)\n\
    ✖ todo (0.15676ms) # TODO\nℹ tests 7\nℹ suites 2\n\n✖ failing tests:\n\n✖ new (1.91597ms)\n";

const JEST: &str = r#"{"numTotalTests":3,"testResults":[{"assertionResults":[{"ancestorTitles":["suite"],"fullName":"suite a","status":"passed","title":"a","failureMessages":[]},{"ancestorTitles":["suite"],"fullName":"suite b","status":"failed","title":"b","failureMessages":["Error: no\n    at x"]},{"ancestorTitles":["suite"],"fullName":"suite c","status":"pending","title":"c"}],"status":"failed","message":"","name":"t/a.test.js"},{"assertionResults":[],"status":"failed","message":"Cannot find module '../src/x.js' from 't/b.test.js'","name":"t/b.test.js"}]}"#;

const GO_JSON: &str = concat!(
    r#"{"Action":"start","Package":"example.org/demo"}"#,
    "\n",
    r#"{"Action":"run","Package":"example.org/demo","Test":"TestA"}"#,
    "\n",
    r#"{"Action":"run","Package":"example.org/demo","Test":"TestA/sub"}"#,
    "\n",
    r#"{"Action":"output","Package":"example.org/demo","Test":"TestA/sub","Output":"    a_test.go:4: no\n"}"#,
    "\n",
    r#"{"Action":"fail","Package":"example.org/demo","Test":"TestA/sub","Elapsed":0}"#,
    "\n",
    r#"{"Action":"fail","Package":"example.org/demo","Test":"TestA","Elapsed":0}"#,
    "\n",
    r#"{"Action":"run","Package":"example.org/demo","Test":"TestB"}"#,
    "\n",
    r#"{"Action":"skip","Package":"example.org/demo","Test":"TestB","Elapsed":0}"#,
    "\n",
    r#"{"Action":"run","Package":"example.org/demo","Test":"TestC"}"#,
    "\n",
    r#"{"Action":"pass","Package":"example.org/demo","Test":"TestC","Elapsed":0}"#,
    "\n",
    r#"{"Action":"fail","Package":"example.org/demo","Elapsed":0.1}"#,
    "\n",
);

const GO_TEXT: &str = "=== RUN   TestA\n=== RUN   TestA/sub\n    a_test.go:4: no\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n\
    --- SKIP: TestB (0.00s)\n--- PASS: TestC (0.00s)\nFAIL\nFAIL\texample.org/demo\t0.003s\n";

const UNITTEST: &str = "test_a (tests.test_x.T.test_a) ... ok\ntest_b (tests.test_x.T.test_b)\nWhat it is for. ... FAIL\n\
    test_c (tests.test_x.T) ... skipped 'later'\ntest_d (tests.test_x.T.test_d) ... some words\nok\n\
    test_e (tests.test_x.T.test_e) ... ERROR\n\n======\nFAIL: test_b (tests.test_x.T.test_b)\n------\n\nRan 5 tests in 0.001s\n\nFAILED (failures=1)\n";

const RSPEC: &str = r#"{"version":"3.12.0","examples":[{"id":"./spec/old_spec.rb[1:1]","description":"is one","full_description":"Old is one","status":"passed","file_path":"./spec/old_spec.rb","line_number":4,"run_time":0.0007,"pending_message":null},{"id":"./spec/p_spec.rb[1:1]","description":"fails","full_description":"Part fails","status":"failed","file_path":"./spec/p_spec.rb","line_number":5,"run_time":0.03,"pending_message":null,"exception":{"class":"RSpec::Expectations::ExpectationNotMetError","message":"\nexpected: 2\n     got: 1\n","backtrace":["ROOT/spec/p_spec.rb:6:in `block'"]}},{"id":"./spec/p_spec.rb[1:2]","description":"later","full_description":"Part later","status":"pending","file_path":"./spec/p_spec.rb","line_number":8,"run_time":0.0,"pending_message":"Not yet implemented"}],"summary":{"duration":0.04,"example_count":3,"failure_count":1,"pending_count":1,"errors_outside_of_examples_count":0},"summary_line":"3 examples, 1 failure, 1 pending"}"#;

const BUN_XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" assertions="2" failures="1" skipped="1" time="0.03">
  <testsuite name="test/old.test.js" file="test/old.test.js" tests="1"><testcase name="old" classname="" file="test/old.test.js" line="3" assertions="1" /></testsuite>
  <testsuite name="test/part.test.js" file="test/part.test.js" tests="3">
    <testsuite name="d" file="test/part.test.js" line="2" tests="3">
      <testcase name="old" classname="d" file="test/part.test.js" line="2"><failure type="AssertionError" message="expect(received).toBe(expected)&#10;">at test/part.test.js:2:33&#10;</failure></testcase>
      <testcase name="s" classname="d" file="test/part.test.js" line="2"><skipped /></testcase>
      <testsuite name="e" file="test/part.test.js" line="2" tests="1"><testcase name="deep" classname="e &gt; d" file="test/part.test.js" line="2" /></testsuite>
    </testsuite>
  </testsuite>
</testsuites>"#;

fn parse(format: ResultFormat, output: &str) -> Option<Parsed> {
    super::parse(&[format], output)
}

fn lines(parsed: &Parsed) -> Vec<String> {
    let word = |outcome: &TestOutcome| match outcome {
        TestOutcome::Passed => '+',
        TestOutcome::Failed => '-',
        TestOutcome::Skipped => '~',
    };
    parsed
        .tests
        .iter()
        .map(|(name, outcome)| format!("{}{name}", word(outcome)))
        .collect()
}

/// Reads a sample as what it looks like and as what it is said to be.
fn check(sample: &str, format: ResultFormat, expected: &[&str]) -> Parsed {
    let parsed = parse(format, sample).expect("results");
    assert_eq!(lines(&parsed), expected);
    assert_eq!(parsed.broken, None);
    assert_eq!(
        parse(ResultFormat::Auto, sample),
        Some(parsed.clone()),
        "told by looking"
    );
    parsed
}

#[test]
fn rspec_is_read() {
    let lines = [
        "+spec/old_spec.rb > Old is one",
        "-spec/p_spec.rb > Part fails",
        "~spec/p_spec.rb > Part later",
    ];
    let parsed = check(RSPEC, ResultFormat::Rspec, &lines);
    let message = &parsed.messages["spec/p_spec.rb > Part fails"];
    assert!(
        message.contains("     got: 1") && message.contains("spec/p_spec.rb:6"),
        "{message}"
    );
    for (change, to) in [
        ("\"example_count\":3", "\"example_count\":4"),
        ("of_examples_count\":0", "of_examples_count\":1"),
        ("\"pending\"", "1"),
    ] {
        let parsed = parse(ResultFormat::Rspec, &RSPEC.replace(change, to)).expect("results");
        assert!(parsed.broken.is_some(), "{change}");
    }
}

#[test]
fn tests_of_two_files_of_bun_are_told_apart() {
    let lines = [
        "+test/old.test.js::old",
        "+test/part.test.js::e > d::deep",
        "-test/part.test.js::d::old",
        "~test/part.test.js::d::s",
    ];
    let parsed = parse(ResultFormat::Junit, BUN_XML).expect("results");
    let mut found = super::tests::lines(&parsed);
    found.sort_unstable();
    let mut lines = lines.map(ToOwned::to_owned);
    lines.sort_unstable();
    assert_eq!(found, lines);
}

#[test]
fn junit_is_read() {
    let parsed = check(
        PYTEST_XML,
        ResultFormat::Junit,
        &[
            "+tests.test_c.TestIt::test_many[x]",
            "-tests.test_c.TestIt::test_many[y z]",
            "+tests.test_c.TestIt::test_ok",
            "~tests.test_c::test_skip",
            "-tests.test_c::test_teardown",
            "~tests.test_c::test_xfail",
        ],
    );
    let message = &parsed.messages["tests.test_c.TestIt::test_many[y z]"];
    assert!(
        message.starts_with("AssertionError: assert 'y z' == 'x'\n  - x\n>   def test_many"),
        "{message}"
    );
    assert!(parsed.messages["tests.test_c::test_teardown"].contains("ValueError: teardown <&>"));
}

#[test]
fn pytest_text_is_read_when_it_names_what_passes() {
    let expected = [
        "+tests/test_c.py::TestIt::test_many[x]",
        "-tests/test_c.py::TestIt::test_many[y z]",
        "+tests/test_c.py::TestIt::test_ok",
        "~tests/test_c.py::test_skip",
        "-tests/test_c.py::test_teardown",
        "~tests/test_c.py::test_xfail",
    ];
    check(PYTEST_VERBOSE, ResultFormat::Pytest, &expected);
    let quiet = "..F\nFAILED tests/test_c.py::test_a - assert\n1 failed, 2 passed in 0.03s\n";
    assert_eq!(
        parse(ResultFormat::Auto, quiet),
        None,
        "who passed is not known"
    );
    let interrupted = "ERROR tests/test_a.py\n!!!!! Interrupted: 1 error during collection !!!!!\n==== 1 error in 0.1s ====\n";
    assert!(parse(ResultFormat::Auto, interrupted).is_some_and(|parsed| parsed.broken.is_some()));
}

#[test]
fn nextest_node_and_jest_are_read() {
    check(
        NEXTEST,
        ResultFormat::Nextest,
        &["+demo tests::it_works", "-demo::a bad", "+demo::a good"],
    );
    let ended_by_a_signal = NEXTEST.replace("FAIL [   0.123s]", "ABRT [   0.123s]");
    check(
        &ended_by_a_signal,
        ResultFormat::Nextest,
        &["+demo tests::it_works", "-demo::a bad", "+demo::a good"],
    );
    check(
        NODE,
        ResultFormat::Node,
        &[
            "-new",
            "+old",
            "-suite",
            "+suite > a",
            "-suite > b",
            "~suite > c",
            "+suite > inner",
            "+suite > inner > d",
            "~todo",
        ],
    );
    let parsed = check(
        JEST,
        ResultFormat::Jest,
        &[
            "+t/a.test.js > suite > a",
            "-t/a.test.js > suite > b",
            "~t/a.test.js > suite > c",
            "-t/b.test.js",
        ],
    );
    assert!(parsed.messages["t/b.test.js"].contains("Cannot find module"));
}

#[test]
fn go_and_unittest_are_read() {
    let names = [
        "-example.org/demo.TestA",
        "-example.org/demo.TestA/sub",
        "~example.org/demo.TestB",
        "+example.org/demo.TestC",
    ];
    let parsed = check(GO_JSON, ResultFormat::Go, &names);
    assert!(parsed.messages["example.org/demo.TestA/sub"].contains("a_test.go:4: no"));
    check(GO_TEXT, ResultFormat::Go, &names);
    let unbuilt = "FAIL\texample.org/demo [build failed]\nok  \texample.org/demo/b\t0.1s\n";
    assert!(parse(ResultFormat::Auto, unbuilt).is_some_and(|parsed| parsed.broken.is_some()));
    check(
        UNITTEST,
        ResultFormat::Unittest,
        &[
            "+tests.test_x.T.test_a",
            "-tests.test_x.T.test_b",
            "~tests.test_x.T.test_c",
            "+tests.test_x.T.test_d",
            "-tests.test_x.T.test_e",
        ],
    );
}

/// A test of vitest's own that uses `node:test`: the document in the midst is nobody's results.
const VITEST_WITH_FOREIGN_TAP: &str = " RUN  v3.2.4 /project\n\n \u{2713} test/a.test.ts (22 tests) 8ms\nTAP version 13\n\
    # Subtest: isPlainObject\nok 1 - isPlainObject\n  ---\n  duration_ms: 0.5\n  ...\n \u{2713} test/utils.test.ts (1 test) 2ms\n\n\
    Test Files  2 passed (2)\n     Tests  23 passed (23)\n";

#[test]
fn a_foreign_tap_document_in_vitest_output_is_not_read_as_the_results() {
    assert_eq!(parse(ResultFormat::Auto, VITEST_WITH_FOREIGN_TAP), None);
    let json = format!("{VITEST_WITH_FOREIGN_TAP}{JEST}");
    assert_eq!(
        parse(ResultFormat::Auto, &json).map(|parsed| parsed.tests.len()),
        Some(4)
    );
    for (other, tests) in [(GO_TEXT, 4), (UNITTEST, 5), (NODE, 9)] {
        let output = format!("1..1\nok 1 - foreign\n{other}");
        assert_eq!(
            parse(ResultFormat::Auto, &output).map(|parsed| parsed.tests.len()),
            Some(tests),
            "{other}"
        );
    }
}

#[test]
fn an_exception_behind_a_name_is_no_part_of_it_whether_the_test_passes_or_fails() {
    let red = "1..3\nnot ok 1 - test_1: ModuleNotFoundError: No module named 'lib'\nnot ok 2 - b: AssertionError\nok 3 - c: d\n";
    let parsed = check(red, ResultFormat::Tap, &["-b", "+c: d", "-test_1"]);
    assert_eq!(
        parsed.messages["test_1"],
        "ModuleNotFoundError: No module named 'lib'\n"
    );
    let green = "1..2\nok 1 - test_1\nok 2 - raises: ValueError: bad # SKIP later\n";
    check(green, ResultFormat::Tap, &["~raises", "+test_1"]);
}

#[test]
fn tap_is_known_by_its_beginning_even_when_it_is_broken() {
    let broken = |output: &str| parse(ResultFormat::Auto, output).and_then(|parsed| parsed.broken);
    assert!(broken("\n> demo@1.0.0 test\n> tap\n\nTAP version 13\n1..2\nok 1 - a\n").is_some());
    assert!(
        parse(ResultFormat::Auto, "building\n1..1\nok 1 - a\n")
            .is_some_and(|parsed| parsed.broken.is_none())
    );
    assert_eq!(
        parse(ResultFormat::Auto, "building\n1..2\nok 1 - a\n"),
        None
    );
}

#[test]
fn reports_that_tell_of_fewer_tests_than_ran_are_broken() {
    let broken = |format, output: &str| {
        parse(format, output)
            .and_then(|parsed| parsed.broken)
            .is_some()
    };
    assert!(broken(
        ResultFormat::Jest,
        &JEST.replace("numTotalTests\":3", "numTotalTests\":4")
    ));
    assert!(broken(
        ResultFormat::Nextest,
        &NEXTEST.replace("3 tests run", "4 tests run")
    ));
    assert!(broken(
        ResultFormat::Nextest,
        &NEXTEST.replace("2 passed, 1 failed", "1 passed, 2 failed")
    ));
    assert!(broken(
        ResultFormat::Unittest,
        &UNITTEST.replace("\nFAILED (failures=1)\n", "")
    ));
    assert!(broken(
        ResultFormat::Pytest,
        &PYTEST_VERBOSE.replace("3 passed", "2 passed")
    ));
}

#[test]
fn colours_are_left_out() {
    let coloured = NODE
        .replace("✔", "\u{1b}[32m✔")
        .replace("ms)", "ms)\u{1b}[39m")
        .replace("ℹ tests 7", "\u{1b}[34mℹ tests 7\u{1b}[39m");
    assert_eq!(
        parse(ResultFormat::Auto, &coloured).map(|parsed| lines(&parsed)),
        parse(ResultFormat::Auto, NODE).map(|parsed| lines(&parsed))
    );
}

#[test]
fn other_output_is_in_no_format() {
    for output in [
        "",
        "all good\n",
        "<html></html>",
        "{}",
        "[1, 2]",
        "1 passed\n",
        "error: no such file\n",
    ] {
        assert_eq!(parse(ResultFormat::Auto, output), None, "{output}");
    }
}

#[test]
fn entities_that_refer_to_each_other_do_not_grow() {
    let bomb = r#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><testsuite><testcase name="t"><failure>&b;</failure></testcase></testsuite>"#;
    let parsed = parse(ResultFormat::Junit, bomb).expect("results");
    assert!(
        parsed
            .messages
            .get("t")
            .is_none_or(|message| message.len() < 100)
    );
}

#[test]
fn every_format_of_results_is_a_row() {
    let schema = schemars::schema_for!(ResultFormat).to_value();
    for name in schema["oneOf"]
        .as_array()
        .expect("formats")
        .iter()
        .map(|format| format["const"].clone())
    {
        let format: ResultFormat = serde_json::from_value(name).expect("a format");
        let is_read = !matches!(format, ResultFormat::Auto | ResultFormat::ExitStatus);
        assert_eq!(
            READERS.iter().any(|row| row.0 == format),
            is_read,
            "{format:?}"
        );
    }
}

const SAMPLES: [(&str, ResultFormat); 8] = [
    (PYTEST_XML, ResultFormat::Junit),
    (PYTEST_VERBOSE, ResultFormat::Pytest),
    (NEXTEST, ResultFormat::Nextest),
    (NODE, ResultFormat::Node),
    (JEST, ResultFormat::Jest),
    (GO_JSON, ResultFormat::Go),
    (GO_TEXT, ResultFormat::Go),
    (UNITTEST, ResultFormat::Unittest),
];

proptest! {
    #[test]
    fn anything_can_be_read_as_anything(output in "(?s).{0,300}", row in 0..READERS.len()) {
        let _parsed = parse(READERS[row].0, &output);
    }

    /// What is cut off can only take tests away, or leave the results broken; it never makes one pass.
    #[test]
    fn a_cut_sample_passes_nothing_that_the_whole_does_not(sample in 0..SAMPLES.len(), keep in 0_usize..2_000) {
        let (text, format) = SAMPLES[sample];
        let whole = parse(format, text).expect("results");
        let cut = &text[..text.floor_char_boundary(keep.min(text.len()))];
        let parsed = parse(format, cut).expect("results");
        let is_whole = lines(&parsed) == lines(&whole);
        prop_assert!(parsed.broken.is_some() || is_whole, "{:?}", lines(&parsed));
    }

    /// A byte that is hit by something never turns results with failures into results that all pass: something still
    /// fails, or the results are broken, or what failed is gone.
    #[test]
    fn a_changed_byte_makes_no_failed_test_pass(sample in 0..SAMPLES.len(), position in 0_usize..2_000, byte in 32_u8..127) {
        let (text, format) = SAMPLES[sample];
        let mut bytes = text.as_bytes().to_vec();
        let position = position % bytes.len();
        bytes[position] = byte;
        let failed: Vec<String> = parse(format, text).expect("results").tests.into_iter()
            .filter(|(_, outcome)| *outcome == TestOutcome::Failed).map(|(name, _)| name).collect();
        let parsed = parse(format, &String::from_utf8_lossy(&bytes)).expect("results");
        let passes = |name: &String| parsed.tests.get(name) == Some(&TestOutcome::Passed);
        let still_fails = parsed.tests.values().any(|outcome| *outcome == TestOutcome::Failed);
        prop_assert!(parsed.broken.is_some() || still_fails || !failed.iter().any(passes), "{:?}", lines(&parsed));
    }
}
