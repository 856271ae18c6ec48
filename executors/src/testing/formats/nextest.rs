//! What `cargo nextest run` prints.

use super::pattern;
use crate::testing::Parsed;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tm_scheduler::TestOutcome;

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+(?:FLAKY \d+/\d+|TRY \d+ )?(PASS|FLAKY|FAIL|SKIP|ABORT|SIG[A-Z]+|TIMEOUT|LEAK)? *\[[^\]]+\] +(?:\([^)]*\) +)?(\S+) (\S.*)$",
    )
});
static RUNNING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*Starting (\d+) tests? across "));
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*Summary \[[^\]]+\] +(?:(\d+)/)?(\d+) tests? run"));

/// Tells whether the output is in this format.
pub(super) fn looks_like(output: &str) -> bool {
    output.lines().any(|line| RUNNING.is_match(line)) || output.contains("Nextest run ID ")
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut tests: BTreeMap<String, TestOutcome> = BTreeMap::new();
    let mut ran: Option<usize> = None;
    for line in output.lines() {
        if let Some(summary) = SUMMARY.captures(line) {
            // Of `2/3 tests run`, the first number is that of tests that were.
            ran = summary.get(1).or_else(|| summary.get(2)).and_then(|count| count.as_str().parse().ok());
            // Failures are listed once more behind the summary.
            break;
        }
        if let Some(result) = RESULT.captures(line) {
            let outcome = match result.get(1).map_or("FLAKY", |word| word.as_str()) {
                "PASS" | "LEAK" | "FLAKY" => TestOutcome::Passed,
                "SKIP" => TestOutcome::Skipped,
                _ => TestOutcome::Failed,
            };
            // The last try of a test decides.
            tests.insert(format!("{} {}", &result[2], &result[3]), outcome);
        } else if line.trim_start().starts_with("error: could not compile") || line.starts_with("error[") {
            parsed.breaks(line.trim());
        }
    }
    for (name, outcome) in &tests {
        parsed.add(name, *outcome);
    }
    let told = tests.values().filter(|outcome| **outcome != TestOutcome::Skipped).count();
    match ran {
        Some(ran) if ran > told => parsed.breaks(format!("{ran} tests ran and {told} were told of")),
        Some(_) => {}
        None => parsed.breaks("nextest ended before its summary"),
    }
    parsed
}
