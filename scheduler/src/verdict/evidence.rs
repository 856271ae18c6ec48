//! Puts a refusal into words: for the next attempt's prompt and for people, bounded.

use crate::{LoadError, TestMistake, TestReport};
use std::fmt::Write as _;

/// So many tests are told of, each with so many lines; the whole has so many bytes.
const MOST_TESTS: usize = 12;
const MOST_LINES: usize = 8;
const MOST_BYTES: usize = 4 * 1024;

/// The reason, and the end of what the command printed.
pub(super) fn evidence(why: &str, report: &TestReport) -> String {
    let tail: Vec<&str> = report
        .output_tail
        .trim_end()
        .lines()
        .rev()
        .take(30)
        .collect();
    let mut text = why.to_owned();
    if !tail.is_empty() {
        text.push_str("\n\nThe end of the output:\n");
        for line in tail.into_iter().rev() {
            let _ = writeln!(text, "    {line}");
        }
    }
    cut(text)
}

/// The reason, and the tests with what they printed.
pub(super) fn named(why: &str, report: &TestReport, tests: &[String]) -> String {
    let mut text = format!("{why}:\n");
    for name in tests.iter().take(MOST_TESTS) {
        let state = match report.tests.get(name) {
            None => " (gone)",
            Some(crate::TestOutcome::Skipped) => " (skipped)",
            Some(crate::TestOutcome::Passed | crate::TestOutcome::Failed) => "",
        };
        let _ = writeln!(text, "- {name}{state}");
        for line in report
            .messages
            .get(name)
            .iter()
            .flat_map(|message| message.lines())
            .take(MOST_LINES)
        {
            let _ = writeln!(text, "    {line}");
        }
    }
    if tests.len() > MOST_TESTS {
        let _ = writeln!(text, "- and {} more", tests.len() - MOST_TESTS);
    }
    cut(text)
}

/// The reason, and the errors that keep files from loading.
pub(super) fn load_evidence(why: &str, errors: &[&LoadError]) -> String {
    let mut text = format!("{why}:\n");
    for error in errors.iter().take(MOST_TESTS) {
        let _ = writeln!(
            text,
            "- {}",
            error.file.as_deref().unwrap_or("(no file named)")
        );
        for line in error.text.lines().take(MOST_LINES) {
            let _ = writeln!(text, "    {line}");
        }
    }
    cut(text)
}

/// The reason, and the mistakes of tests, each with its line.
pub(super) fn mistakes_evidence(why: &str, mistakes: &[&TestMistake]) -> String {
    let mut text = format!("{why}:\n");
    for TestMistake {
        file,
        line,
        text: words,
    } in mistakes.iter().take(MOST_TESTS)
    {
        let _ = writeln!(text, "- {file}, line {line}: {words}");
    }
    cut(text)
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        text.truncate(text.floor_char_boundary(MOST_BYTES));
        text.push_str("\n[…]");
    }
    text
}
