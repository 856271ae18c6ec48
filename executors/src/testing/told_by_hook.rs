//! Tells from what a commit hook printed whether it ran tests that have to fail for now.
//!
//! A linter may name the same tests and files: only what a runner or a compiler says of a failure counts.

use super::load_errors::load_errors;
use super::read_output;
use std::path::Path;
use tm_scheduler::{LoadCause, ResultFormat, TestOutcome};

patterns! {
    /// How runners begin or end a line about a failed test: in words, with a sign, or with its number in a list of failures.
    FAILS = r"\bFAIL(?:ED|URE)?\b|\bfailed\b|\bnot ok\b|[✖✕×✗●]|^\s*\d+\) |^rspec |<<< (?:FAILURE|ERROR)|^\[ERROR\] .*:\d+";
}

/// Tells whether a hook that printed this in `worktree` refused since one of these tests fails, or since one of these
/// files of tests can't be loaded.
pub fn tells_of_failing_tests(
    output: &str,
    worktree: &Path,
    tests: &[String],
    files: &[String],
) -> bool {
    let is_missing = |error: &tm_scheduler::LoadError| error.cause == LoadCause::MissingItem;
    let errors = load_errors(output, &[worktree.to_owned()]);
    if errors.iter().any(|error| {
        is_missing(error) && error.file.as_ref().is_some_and(|file| files.contains(file))
    }) {
        return true;
    }
    let failed: Vec<String> = read_output(ResultFormat::Auto, output)
        .into_iter()
        .flatten()
        .filter(|(_, outcome)| *outcome == TestOutcome::Failed)
        .map(|(name, _)| name)
        .collect();
    failed.iter().any(|name| tests.contains(name))
        || tests
            .iter()
            .any(|test| is_said_to_fail(own_name(test), output))
}

/// What a test is called within its file, its class, or its program: cargo's stands before the name, with a space.
fn own_name(test: &str) -> &str {
    if let Some((program, name)) = test.split_once(' ')
        && program.contains("::")
        && !name.contains(' ')
    {
        return name.rsplit("::").next().unwrap_or(name);
    }
    let last = test.rsplit(" > ").next().unwrap_or(test);
    last.rsplit("::").next().unwrap_or(last).trim()
}

/// A name of a letter or two stands in any line.
fn is_said_to_fail(name: &str, output: &str) -> bool {
    name.len() > 2
        && output
            .lines()
            .any(|line| line.contains(name) && FAILS.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::tells_of_failing_tests;
    use std::path::Path;

    fn tells(output: &str, tests: &[&str], files: &[&str]) -> bool {
        let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        tells_of_failing_tests(output, Path::new("/nowhere"), &owned(tests), &owned(files))
    }

    #[test]
    fn runners_tell_of_the_tests_of_a_red() {
        for (output, test) in [
            (
                "FAILED tests/test_a.py::test_part - assert 1 == 2\n1 failed, 3 passed in 0.02s\n",
                "tests.test_a::test_part",
            ),
            (
                "TAP version 13\n1..1\nnot ok 1 - part works\n",
                "t/a.t > part works",
            ),
            (
                "test part1 ... FAILED\n\nfailures:\n    part1\n",
                "demo::a part1",
            ),
            (
                "--- FAIL: TestPart1 (0.00s)\nFAIL\n",
                "example.org/demo::TestPart1",
            ),
            (
                " ❯ test/a.test.js (1 test)\n   × part 1 3ms\n",
                "test/a.test.js > part 1",
            ),
            (
                "  1) Part1 gives part 1\n     Failure/Error: expect(1).to eq 2\n",
                "spec/a_spec.rb > Part1 gives part 1",
            ),
            (
                "There was 1 error:\n\n1) Part1Test::testPart\nError: Class not found\n",
                "Part1Test::testPart",
            ),
        ] {
            assert!(tells(output, &[test], &[]), "{output}");
            assert!(
                !tells(output, &["tests.test_b::test_other"], &[]),
                "{output}"
            );
        }
    }

    #[test]
    fn compilers_tell_of_files_that_need_what_is_not_there() {
        let go = "# example.org/demo [example.org/demo.test]\n./part_test.go:5:9: undefined: Part\nFAIL\texample.org/demo [build failed]\n";
        assert!(tells(go, &[], &["part_test.go"]));
        assert!(!tells(go, &[], &["other_test.go"]));
    }

    #[test]
    fn linters_name_tests_and_files_too() {
        let ruff = "tests/test_a.py:4:5: D103 Missing docstring in public function `test_part`\nFound 1 error.\n";
        assert!(!tells(
            ruff,
            &["tests.test_a::test_part"],
            &["tests/test_a.py"]
        ));
        let words = "commit message: failed to match the pattern\ntest_part is a bad name\n";
        assert!(!tells(
            words,
            &["tests.test_a::test_part"],
            &["tests/test_a.py"]
        ));
    }
}
