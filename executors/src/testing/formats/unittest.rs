//! What `python3 -m unittest -v` prints.

use crate::testing::Parsed;
use tm_scheduler::TestOutcome;

patterns! {
    HEADER = r"^(\w+) \(([\w.]+)\)(.*)$";
    ENDING = r"(?:\.\.\. (?:.*\s)?|^)(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$";
    RAN = r"(?m)^Ran (\d+) tests? in ";
}

/// What the last line begins with.
const VERDICTS: [&str; 3] = ["OK", "FAILED", "NO TESTS RAN"];

/// Tells whether the output is in this format, with a line a test.
pub(super) fn looks_like(output: &str) -> bool {
    let ran = RAN.captures(output);
    let ran = ran.and_then(|ran| ran[1].parse::<usize>().ok());
    ran.is_some_and(|ran| parse(output).tests.len() >= ran)
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut header: Option<String> = None;
    let (mut ran, mut has_verdict) = (None, false);
    for line in output.lines() {
        if let Some(found) = HEADER.captures(line) {
            // Since Python 3.11 the name is part of the path in brackets.
            let (name, within) = (&found[1], &found[2]);
            let full = if within.ends_with(&format!(".{name}")) {
                within.to_owned()
            } else {
                format!("{within}.{name}")
            };
            header = Some(full);
        }
        if let Some(count) = RAN.captures(line) {
            ran = count[1].parse::<usize>().ok();
        }
        has_verdict |= ran.is_some() && VERDICTS.iter().any(|verdict| line.starts_with(verdict));
        if ran.is_some() {
            continue;
        }
        if let (Some(ending), Some(name)) = (ENDING.captures(line), &header) {
            let outcome = match &ending[1] {
                "ok" => TestOutcome::Passed,
                "FAIL" | "ERROR" | "unexpected success" => TestOutcome::Failed,
                _ => TestOutcome::Skipped,
            };
            parsed.add(&[name], outcome);
            header = None;
        }
    }
    match ran {
        Some(ran) => parsed.check_count(ran, parsed.tests.len()),
        None => parsed.breaks("unittest ended before its summary"),
    }
    if !has_verdict {
        parsed.breaks("unittest ended before its verdict");
    }
    parsed
}
