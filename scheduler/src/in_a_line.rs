//! Says in one line why something failed: the heading of its evidence, and the first detail that tells more.
//!
//! Knows texts as verdicts, git and runners write them; what follows from a failure is decided elsewhere.

use std::error::Error;
use std::iter::successors;

/// So many characters are shown.
const MOST_CHARACTERS: usize = 240;
/// So many lines below the heading are looked at.
const MOST_DETAILS: usize = 4;
/// What verdicts put before the end of what a command printed.
const OUTPUT: &str = "The end of the output:";

/// Returns the evidence of a failure in one line.
pub fn in_a_line(evidence: &str) -> String {
    let lines: Vec<&str> = evidence
        .lines()
        .map(plain)
        .filter(|line| !line.is_empty())
        .collect();
    let Some((&first, rest)) = lines.split_first() else {
        return String::new();
    };
    let line = match (is_preamble(first), printed(rest)) {
        (true, _) => telling(&lines).unwrap_or(first).to_owned(),
        (false, Some(printed)) => joined(first, telling(printed)),
        (false, None) => with_details(first, rest),
    };
    shortened(&line)
}

/// A heading, with what stands below it.
fn with_details(first: &str, rest: &[&str]) -> String {
    let (mut line, mut is_open, mut is_named) = (joined(first, None), first.ends_with(':'), false);
    for next in rest
        .iter()
        .filter(|line| !is_preamble(line))
        .take(MOST_DETAILS)
    {
        let name = next.strip_prefix("- ");
        // What stands behind a test or a file is what it said; another one says nothing of it.
        if !is_open || is_named && name.is_some() {
            break;
        }
        (is_open, is_named) = (name.is_some() || next.ends_with(':'), name.is_some());
        line = joined(&line, Some(name.unwrap_or(next).trim_end_matches(':')));
    }
    line
}

fn joined(line: &str, detail: Option<&str>) -> String {
    let line = line.trim_end_matches(':');
    match detail {
        Some(detail) => format!("{line}: {detail}"),
        None => line.to_owned(),
    }
}

/// The end of what a command printed, where the evidence has it.
fn printed<'a, 'b>(rest: &'a [&'b str]) -> Option<&'a [&'b str]> {
    let at = rest.iter().position(|line| *line == OUTPUT)?;
    Some(&rest[at + 1..])
}

/// Words by which lines speak of an error.
const OF_ERRORS: [&str; 14] = [
    "error",
    "not ok",
    "not found",
    "no such",
    "no module",
    "cannot",
    "can't",
    "could not",
    "fatal",
    "failed",
    "exception",
    "refused",
    "denied",
    "missing",
];

/// The line of an output that says most: the first that speaks of an error, else the last.
fn telling<'a>(output: &[&'a str]) -> Option<&'a str> {
    let speaks = |line: &&&str| {
        let lower = line.to_lowercase();
        OF_ERRORS.iter().any(|word| lower.contains(word))
            && !lower.ends_with("errors:")
            && !lower.contains("0 failed")
    };
    output
        .iter()
        .find(speaks)
        .or_else(|| output.iter().rev().find(|line| !is_preamble(line)))
        .copied()
}

/// How lines begin that programs print before they come to the point.
const PREAMBLES: [&str; 9] = [
    "TAP version ",
    "1..",
    "ok ",
    "> ",
    "$ ",
    "yarn run v",
    "husky - ",
    "[STARTED]",
    "running ",
];

/// Whether programs say so before they come to the point.
fn is_preamble(line: &str) -> bool {
    let is_rule = |line: &str| line.chars().all(|letter| "=-_~*.#".contains(letter));
    PREAMBLES
        .iter()
        .any(|beginning| line.starts_with(beginning))
        || is_rule(line)
        || line.starts_with("====")
}

/// A line without what frames it.
fn plain(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("# ").unwrap_or(line).trim()
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MOST_CHARACTERS) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// Returns a text with one sign for each number, so that lines can be compared that differ in them alone.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            other => shape.push(other),
        }
    }
    shape
}

/// Returns the words of an error and of what caused it.
pub fn with_causes(error: &dyn Error) -> String {
    successors(error.source(), |&cause| cause.source())
        .map(ToString::to_string)
        .fold(error.to_string(), |words, cause| {
            if words.contains(&cause) {
                words
            } else {
                format!("{words}: {cause}")
            }
        })
}

/// Returns a text with single spaces between its words, and nothing else.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::in_a_line;

    #[test]
    fn a_heading_is_said_with_its_first_detail() {
        for (evidence, expected) in [
            ("", ""),
            ("nothing differs", "nothing differs"),
            (
                "1 of RED's 2 tests fail:\n- test_x\n    AssertionError: 1 != 2\n    more\n- test_y\n    other\n",
                "1 of RED's 2 tests fail: test_x: AssertionError: 1 != 2",
            ),
            (
                "2 of RED's 2 tests fail:\n- test_x\n- test_y\n",
                "2 of RED's 2 tests fail: test_x",
            ),
            (
                "merged with `3`:\ntests that passed before do not now:\n- old (gone)\n",
                "merged with `3`: tests that passed before do not now: old (gone)",
            ),
            (
                "the new tests can't be loaded, and not for a missing implementation:\n- test/a.js\n    Error: Cannot find \
                 package 'ms'\n",
                "the new tests can't be loaded, and not for a missing implementation: test/a.js: Error: Cannot find package 'ms'",
            ),
            (
                "a mistake:\n- t/a.py, line 3: name 'pytest' is not defined\n",
                "a mistake: t/a.py, line 3: name 'pytest' is not defined",
            ),
            (
                "error: gpg failed to sign the data:\ngpg: no secret key\n",
                "error: gpg failed to sign the data: gpg: no secret key",
            ),
        ] {
            assert_eq!(in_a_line(evidence), expected);
        }
    }

    #[test]
    fn of_an_output_the_line_is_said_that_tells_most() {
        let tail = |lines: &str| {
            format!("the tests can't be run: no suite\n\nThe end of the output:\n{lines}")
        };
        for (evidence, expected) in [
            (
                tail("    > npm test\n    python3: No module named pytest\n    bye\n"),
                "python3: No module named pytest",
            ),
            (tail("    one\n    two\n"), "two"),
        ] {
            assert_eq!(
                in_a_line(&evidence),
                format!("the tests can't be run: no suite: {expected}")
            );
        }
        assert_eq!(
            in_a_line("TAP version 13\nok 1 - a\nnot ok 2 - b\n# expected 1\n1..2\n"),
            "not ok 2 - b"
        );
        assert_eq!(
            in_a_line("> x@1 test\n> node --test\n\nsh: node: not found"),
            "sh: node: not found"
        );
    }

    #[test]
    fn a_line_is_never_long() {
        let long = in_a_line(&format!("why:\n- {}\n    words\n", "é".repeat(500)));
        assert_eq!(long.chars().count(), 241);
    }
}
