//! The text of `cargo test`: several test programs one after another, each with its own results.

use crate::testing::Parsed;
use tm_scheduler::TestOutcome;

/// Tells whether the output is in this format.
pub(super) fn looks_like_cargo(output: &str) -> bool {
    output
        .lines()
        .any(|line| line.starts_with("test result: ") || line.starts_with("running ") && line.contains(" test"))
        || output.lines().any(|line| line.trim_start().starts_with("error: could not compile"))
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut program = String::new();
    let mut announced: Option<usize> = None;
    let mut printing: Option<String> = None;
    for line in output.lines() {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("Running ").filter(|_| line.starts_with(' ')) {
            program = program_name(rest);
        } else if let Some(rest) = trimmed.strip_prefix("Doc-tests ") {
            program = format!("doc {rest}");
        } else if let Some(count) = running(line) {
            unfinished(announced, &mut parsed);
            announced = Some(count);
        } else if line.starts_with("test result: ") {
            announced = None;
            printing = None;
        } else if let Some((name, outcome)) = result(line) {
            parsed.add(&format!("{program}::{name}"), outcome);
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            printing = Some(format!("{program}::{name}"));
        } else if line == "failures:" {
            printing = None;
        } else if let Some(name) = printing.as_ref().filter(|_| !trimmed.is_empty()) {
            parsed.say(name, line);
        } else if trimmed.starts_with("error: could not compile") || line.starts_with("error[") {
            parsed.breaks(trimmed);
        }
    }
    unfinished(announced, &mut parsed);
    parsed
}

/// A program that announced tests and never summed them up died on the way.
fn unfinished(announced: Option<usize>, parsed: &mut Parsed) {
    if announced.is_some() {
        parsed.breaks("a test program ended before its results did");
    }
}

/// Reads `unittests src/lib.rs (target/debug/deps/name-0123456789abcdef)` as `name src/lib.rs`.
fn program_name(rest: &str) -> String {
    let (what, path) = rest.split_once(" (").unwrap_or((rest, ""));
    let file = path.trim_end_matches(')').rsplit('/').next().unwrap_or_default();
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    format!("{name} {}", what.trim_start_matches("unittests ")).trim().to_owned()
}

fn running(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("running ")?;
    let (count, word) = rest.split_once(' ')?;
    matches!(word, "test" | "tests").then(|| count.parse().ok()).flatten()
}

fn result(line: &str) -> Option<(&str, TestOutcome)> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let outcome = match outcome.split([',', ' ', '<']).next()? {
        "ok" => TestOutcome::Passed,
        "FAILED" => TestOutcome::Failed,
        "ignored" => TestOutcome::Skipped,
        _ => return None,
    };
    Some((name.trim_end_matches(" - should panic"), outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OUTPUT: &str = "     Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)\n\n\
        running 3 tests\ntest tests::adds ... ok\ntest tests::slow ... ignored, takes long\n\
        test tests::subtracts ... FAILED\n\nfailures:\n\n---- tests::subtracts stdout ----\n\n\
        thread 'tests::subtracts' panicked at src/lib.rs:9:9:\nassertion failed\n\n\nfailures:\n    tests::subtracts\n\n\
        test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n\n\
        \x20  Doc-tests demo\n\nrunning 1 test\ntest src/lib.rs - add (line 3) ... ok\n\n\
        test result: ok. 1 passed; 0 failed\n";

    #[test]
    fn programs_are_told_apart_and_failures_keep_what_they_printed() {
        let parsed = parse(OUTPUT);
        let lines: Vec<String> = parsed.tests.iter().map(|(name, outcome)| format!("{name} {outcome:?}")).collect();
        assert_eq!(
            lines,
            [
                "demo src/lib.rs::tests::adds Passed",
                "demo src/lib.rs::tests::slow Skipped",
                "demo src/lib.rs::tests::subtracts Failed",
                "doc demo::src/lib.rs - add (line 3) Passed"
            ]
        );
        assert!(parsed.messages["demo src/lib.rs::tests::subtracts"].contains("assertion failed"));
        assert_eq!(parsed.broken, None);
    }

    #[test]
    fn a_build_that_fails_and_a_program_that_dies_are_broken() {
        let build = parse("error[E0425]: cannot find function `f` in this scope\nerror: could not compile `demo`\n");
        assert_eq!(build.broken.as_deref(), Some("error[E0425]: cannot find function `f` in this scope"));
        let died = parse("running 2 tests\ntest a ... ok\n");
        assert_eq!(died.broken.as_deref(), Some("a test program ended before its results did"));
    }

    proptest! {
        #[test]
        fn anything_can_be_read(output in "(?s).{0,200}") {
            let parsed = parse(&output);
            prop_assert!(output.contains(" ... ok") || !parsed.tests.values().any(|outcome| *outcome == TestOutcome::Passed));
        }
    }
}
