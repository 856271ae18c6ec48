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
pub(super) fn looks_like_nextest(output: &str) -> bool {
    output.lines().any(|line| RUNNING.is_match(line)) || output.contains("Nextest run ID ")
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut tests: BTreeMap<String, TestOutcome> = BTreeMap::new();
    let mut has_summary = false;
    for line in output.lines() {
        if SUMMARY.is_match(line) {
            has_summary = true;
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
    if !has_summary {
        parsed.breaks("nextest ended before its summary");
    }
    parsed
}
