//! What pytest prints with `-v` or `-rA`; without either, passing tests have no names.

use crate::patterns::part;
use crate::testing::Parsed;
use regex::Regex;
use std::collections::BTreeSet;
use tm_scheduler::TestOutcome;

patterns! {
    VERBOSE = r"^(\S+\.py(?:::.+?)?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.*\))?(?:\s+\[ *\d+%\])?$";
    SHORT = r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S+\.py(?:::.+?)?)(?: - .*)?$";
    END = r"^=* ?(?:no tests ran|(?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+) in [\d.]+s(?: \(.*\))? ?=*$";
    PASSED = r"(\d+) passed";
    FAILED = r"(\d+) failed";
    ERRORS = r"(\d+) error";
}

/// Tells whether the output is in this format, with names of all passing tests in it.
pub(super) fn looks_like(output: &str) -> bool {
    let Some(end) = output.lines().rev().find(|line| END.is_match(line)) else {
        return false;
    };
    let passed = count(&PASSED, end);
    named(output, "PASSED") == passed
        && (passed > 0 || output.lines().any(|line| result(line).is_some()))
}

/// The number before a word in the last line.
fn count(word: &Regex, end: &str) -> usize {
    word.captures(end)
        .and_then(|count| count[1].parse().ok())
        .unwrap_or(0)
}

/// How many tests have a line with this word.
fn named(output: &str, word: &str) -> usize {
    output
        .lines()
        .filter_map(result)
        .filter(|(_, of_line)| *of_line == word)
        .map(|(name, _)| name)
        .collect::<BTreeSet<&str>>()
        .len()
}

/// Reads a line of either style as a name and a word.
fn result(line: &str) -> Option<(&str, &str)> {
    if let Some(found) = VERBOSE.captures(line) {
        return Some((part(&found, 1), part(&found, 2)));
    }
    let found = SHORT.captures(line)?;
    Some((part(&found, 2), part(&found, 1)))
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut end = None;
    for line in output.lines() {
        if let Some((name, word)) = result(line) {
            let outcome = match word {
                "PASSED" | "XPASS" => TestOutcome::Passed,
                "SKIPPED" | "XFAIL" => TestOutcome::Skipped,
                _ => TestOutcome::Failed,
            };
            // An error after a test has passed, in its teardown, counts.
            parsed.tell(&[name], outcome, outcome == TestOutcome::Failed);
        }
        if END.is_match(line) {
            end = Some(line);
        }
        if line.contains("!!! Interrupted: ") {
            parsed.breaks(line.trim_matches(['!', ' ']));
        }
    }
    match end {
        None => parsed.breaks("pytest ended before its summary"),
        Some(end)
            if named(output, "FAILED") < count(&FAILED, end)
                || named(output, "ERROR") < count(&ERRORS, end) =>
        {
            parsed.breaks("not every test that failed is named");
        }
        Some(end) if named(output, "PASSED") > count(&PASSED, end) => {
            parsed.breaks("more tests are named than passed");
        }
        Some(_) => {}
    }
    parsed
}
