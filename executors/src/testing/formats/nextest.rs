//! What `cargo nextest run` prints.

use crate::testing::Parsed;
use tm_scheduler::TestOutcome;

patterns! {
    RESULT = r"^\s+(?:TRY \d+ )?([A-Z][A-Z-]*) *\[[^\[\]]+\] +(?:\([^)]*\) +)?(\S+) (\S.*)$";
    RUNNING = r"(?m)^\s*Starting (\d+) tests? across |Nextest run ID ";
    SUMMARY = r"^\s*Summary \[[^\]]+\] +(\d+)(?:/\d+)? tests? run: (\d+) passed";
}

/// Tells whether the output is in this format.
pub(super) fn looks_like(output: &str) -> bool {
    RUNNING.is_match(output)
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut summary = None;
    for line in output.lines() {
        summary = SUMMARY.captures(line);
        if summary.is_some() {
            // Failures are listed once more behind the summary.
            break;
        }
        if let Some(result) = RESULT.captures(line) {
            let outcome = match &result[1] {
                "PASS" | "LEAK" => TestOutcome::Passed,
                "SKIP" => TestOutcome::Skipped,
                "SLOW" | "TERMINATING" => continue,
                // `FAIL`, `TIMEOUT`, and each signal by its name.
                _ => TestOutcome::Failed,
            };
            // The last try of a test decides.
            parsed.tell(&[&result[2], " ", &result[3]], outcome, true);
        } else if line.trim_start().starts_with("error: could not compile")
            || line.starts_with("error[")
        {
            parsed.breaks(line.trim());
        }
    }
    let Some(summary) = summary else {
        parsed.breaks("nextest ended before its summary");
        return parsed;
    };
    let told = |is_counted: fn(TestOutcome) -> bool| {
        (parsed.tests.values())
            .filter(|outcome| is_counted(**outcome))
            .count()
    };
    let (ran, passed) = (
        told(|outcome| outcome != TestOutcome::Skipped),
        told(|outcome| outcome == TestOutcome::Passed),
    );
    // Of `2/3 tests run`, the first number is that of tests that were.
    if summary[1].parse().is_ok_and(|counted: usize| counted > ran)
        || summary[2].parse() != Ok(passed)
    {
        parsed.breaks(format!(
            "`{}`, and {ran} were told of, {passed} as passed",
            summary[0].trim()
        ));
    }
    parsed
}
