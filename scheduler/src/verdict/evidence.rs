//! Puts a refusal into words: for the next attempt's prompt and for people, bounded.

use crate::{LoadError, TestMistake, TestReport};
use std::fmt::Write as _;

/// So many tests are told of, each with so many lines; the whole has so many bytes.
const MOST_TESTS: usize = 12;
const MOST_LINES: usize = 8;
const MOST_BYTES: usize = 4 * 1024;
/// Of an output so many lines are quoted.
const MOST_OF_OUTPUT: usize = 30;

/// The reason, and the end of what the command printed.
pub(super) fn evidence(why: &str, report: &TestReport) -> String {
    let lines: Vec<&str> = report.output_tail.trim_end().lines().collect();
    let mut text = why.to_owned();
    if !lines.is_empty() {
        text.push_str("\n\nThe end of the output:\n");
        push_lines(
            &mut text,
            &lines[lines.len().saturating_sub(MOST_OF_OUTPUT)..],
        );
    }
    cut(text)
}

fn push_lines<'l>(text: &mut String, lines: impl IntoIterator<Item = &'l &'l str>) {
    for line in lines {
        let _ = writeln!(text, "    {line}");
    }
}

/// The reason, and the tests with what they printed; where there are none, the end of what the command printed.
pub(super) fn named(why: &str, report: &TestReport, tests: &[String]) -> String {
    if tests.is_empty() {
        return evidence(why, report);
    }
    let mut text = format!("{why}:\n");
    for name in tests.iter().take(MOST_TESTS) {
        let state = match report.tests.get(name) {
            None => " (gone)",
            Some(crate::TestOutcome::Skipped) => " (skipped)",
            Some(crate::TestOutcome::Passed | crate::TestOutcome::Failed) => "",
        };
        let _ = writeln!(text, "- {name}{state}");
        let said = report
            .messages
            .get(name)
            .into_iter()
            .flat_map(|said| said.lines());
        push_lines(&mut text, &said.take(MOST_LINES).collect::<Vec<_>>());
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
        let file = error.file.as_deref().unwrap_or("(no file named)");
        let _ = writeln!(text, "- {file}");
        push_lines(
            &mut text,
            &error.text.lines().take(MOST_LINES).collect::<Vec<_>>(),
        );
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
