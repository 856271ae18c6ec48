//! What every format makes of results that are long: those of a large suite, and those of nobody.

use super::*;
use tm_scheduler::TestOutcome;

/// How a format writes a number of tests, each of which passes, whose names begin with some text.
type Writer = fn(usize, &str) -> String;

const WRITERS: [(ResultFormat, Writer); 12] = [
    (ResultFormat::Tap, |count, name| {
        let one = |number| format!("ok {number} - {name}{number}\n");
        format!("1..{count}\n{}", all(count, one))
    }),
    (ResultFormat::Tap, |count, name| {
        let one = |number| format!("    ok {number} - {name}{number}\n");
        format!("1..1\n{}    1..{count}\nok 1 - suite\n", all(count, one))
    }),
    (ResultFormat::Junit, |count, name| {
        let one = |number| format!("<testcase name=\"{name}{number}\"/>");
        format!("<testsuite>{}</testsuite>", all(count, one))
    }),
    (ResultFormat::Jest, |count, name| {
        let one = |number| format!(r#"{{"title":"{name}{number}","status":"passed"}},"#);
        let tests = all(count, one);
        let tests = tests.trim_end_matches(',');
        format!(
            r#"{{"numTotalTests":{count},"testResults":[{{"assertionResults":[{tests}],"name":"a"}}]}}"#
        )
    }),
    (ResultFormat::Rspec, |count, name| {
        let one = |number| {
            format!(r#"{{"full_description":"{name}{number}","file_path":"a","status":"passed"}},"#)
        };
        let tests = all(count, one);
        let tests = tests.trim_end_matches(',');
        format!(r#"{{"examples":[{tests}],"summary":{{"example_count":{count}}}}}"#)
    }),
    (ResultFormat::Go, |count, name| {
        let one = |number| {
            let event = |word| {
                format!("{{\"Action\":\"{word}\",\"Package\":\"p\",\"Test\":\"{name}{number}\"}}\n")
            };
            event("run") + &event("output") + &event("pass")
        };
        all(count, one) + "{\"Action\":\"pass\",\"Package\":\"p\"}\n"
    }),
    (ResultFormat::Go, |count, name| {
        let one = |number| format!("--- PASS: {name}{number} (0.00s)\n");
        all(count, one) + "ok  \tp\t0.1s\n"
    }),
    (ResultFormat::Nextest, |count, name| {
        let one = |number| format!("  PASS [ 0.1s] p {name}{number}\n");
        let tests = all(count, one);
        format!(
            " Starting {count} tests across 1 binary\n{tests} Summary [ 0.1s] {count} tests run: {count} passed\n"
        )
    }),
    (ResultFormat::Node, |count, name| {
        let one = |number| format!("✔ {name}{number} (1.5ms)\n");
        format!("{}ℹ tests {count}\n", all(count, one))
    }),
    (ResultFormat::Cargo, |count, name| {
        let one = |number| format!("test {name}{number} ... ok\n");
        let tests = all(count, one);
        format!(
            "running {count} tests\n{tests}test result: ok. {count} passed; 0 failed; 0 ignored\n"
        )
    }),
    (ResultFormat::Pytest, |count, name| {
        let one = |number| format!("a.py::{name}{number} PASSED\n");
        format!("{}==== {count} passed in 0.1s ====\n", all(count, one))
    }),
    (ResultFormat::Unittest, |count, name| {
        let one = |number| format!("{name}{number} (a.T) ... ok\n");
        format!("{}Ran {count} tests in 0.1s\n\nOK\n", all(count, one))
    }),
];

fn all(count: usize, one: impl Fn(usize) -> String) -> String {
    (1..=count).map(one).collect()
}

fn read(format: ResultFormat, output: &str) -> Parsed {
    parse(&[format], output).expect("results")
}

/// A name of usual length.
const USUAL: &str = "module_of_the_project_somewhere_in_a_folder_that_does_what_it_is_there_for";

#[test]
fn every_format_reads_a_large_suite() {
    for (format, write) in WRITERS {
        let parsed = read(format, &write(20_000, USUAL));
        assert_eq!(parsed.broken, None, "{format:?}");
        let passed = |outcome: &&TestOutcome| **outcome == TestOutcome::Passed;
        assert!(
            parsed.tests.values().filter(passed).count() >= 20_000,
            "{format:?}"
        );
    }
}

#[test]
fn a_suite_of_two_hundred_thousand_tests_is_read() {
    let (format, write) = WRITERS[0];
    let parsed = read(format, &write(200_000, USUAL));
    assert_eq!((parsed.broken, parsed.tests.len()), (None, 200_000));
}

#[test]
fn no_format_keeps_anything_of_results_that_are_longer_than_anybodys() {
    let long = "a".repeat(20_000);
    for (format, write) in WRITERS {
        for (count, name, why) in [
            (200_001, "a", "there are more than 200000 tests"),
            (2, &*long, "the name of a test is longer than 4096 bytes"),
        ] {
            let parsed = read(format, &write(count, name));
            assert_eq!(parsed.broken.as_deref(), Some(why), "{format:?}");
            assert!(parsed.tests.is_empty() && parsed.messages.is_empty());
        }
    }
    let (format, write) = WRITERS[0];
    let parsed = read(format, &write(9_000, &long[..4_000]));
    let why = "the names of the tests take more than 24 MiB together";
    assert_eq!(
        (parsed.broken.as_deref(), parsed.tests.len()),
        (Some(why), 0)
    );
}

#[test]
fn tests_without_a_name_and_of_one_name_are_counted() {
    for output in ["ok\n", "ok 1 - a\n"] {
        let parsed = read(ResultFormat::Tap, &(output.repeat(200_001) + "1..200001\n"));
        assert_eq!(
            parsed.broken.as_deref(),
            Some("there are more than 200000 tests")
        );
        assert!(parsed.tests.is_empty());
    }
}

#[test]
fn what_failed_tests_print_is_kept_within_a_bound_of_all() {
    let said = format!("# {}\n", "x".repeat(100)).repeat(30);
    let one = |number| format!("not ok {number} - a{number}\n{said}");
    let parsed = read(ResultFormat::Tap, &format!("1..9000\n{}", all(9_000, one)));
    let kept: usize = parsed.messages.values().map(String::len).sum();
    assert_eq!((parsed.broken, parsed.tests.len()), (None, 9_000));
    assert!(kept > 15 << 20 && kept <= 16 << 20, "{kept}");
}

/// What is put together to names is longer than the output, and is not put together.
#[test]
fn a_long_name_that_stands_before_many_takes_no_time() {
    let (long, lines) = ("x".repeat(4 << 20), 50_000);
    let long = long.as_str();
    let repeated = |line: &str| line.repeat(lines);
    for (format, output) in [
        (
            ResultFormat::Node,
            format!("▶ {long}\n{}", repeated("  ✔ a (1ms)\n")),
        ),
        (
            ResultFormat::Tap,
            format!("# Subtest: {long}\n1..{lines}\n{}", repeated("ok 1 - a\n")),
        ),
        (
            ResultFormat::Tap,
            format!("1..1\n{}ok 1 - {long}\n", repeated("    ok 1 - a\n")),
        ),
        (
            ResultFormat::Go,
            format!("{}ok  \t{long}\t0.1s\n", repeated("--- PASS: a (0.00s)\n")),
        ),
    ] {
        let parsed = read(format, &output);
        let why = "the name of a test is longer than 4096 bytes";
        assert_eq!(parsed.broken.as_deref(), Some(why), "{format:?}");
    }
    let failures = repeated("---- a stdout ----\nfailures:\n");
    let output = format!("     Running {long} (a)\nrunning 1 test\n{failures}");
    assert!(read(ResultFormat::Cargo, &output).broken.is_some());
    let packages: String = all(lines, |number| {
        format!(
            "{{\"Action\":\"fail\",\"Package\":\"{number}\"}}\n{{\"Action\":\"pass\",\"Package\":\"a\",\"Test\":\"{number}\"}}\n"
        )
    });
    let why = "the package `1` fails although no test of it does";
    assert_eq!(
        read(ResultFormat::Go, &packages).broken.as_deref(),
        Some(why)
    );
}
