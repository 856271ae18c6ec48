//! The result file: read tolerantly, written strictly.

use super::AgentCommand;
use crate::{Error, OrFailedTo as _};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;
use tm_scheduler::{AgentReport, Claim, ClaimStatus, Ended, ResultFile, one_line};

/// A longer file is no result.
const MOST_RESULT_BYTES: u64 = 1024 * 1024;
/// A result file that can't be read is read again after these pauses, about two seconds in all.
const REREAD_AFTER: [u64; 7] = [10, 20, 40, 80, 160, 320, 1_280];
/// So much has to go onto the disk for a result.
const PROBE_BYTES: usize = 64 * 1024;
/// The status stands within so many lines.
const STATUS_LINES: usize = 12;

/// Takes no agent for one that left no result when nobody could have written one.
///
/// # Errors
/// There is no room for one.
pub(super) fn check_room(command: &AgentCommand, report: &AgentReport) -> Result<(), Error> {
    // Of one that somebody ended nobody expects a result.
    if matches!(report.result, ResultFile::Claimed(_)) || report.ended == Ended::Killed {
        return Ok(());
    }
    let folder = command.result_file.parent().unwrap_or(Path::new("."));
    let written = tempfile::tempfile_in(folder).and_then(|mut file| {
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    });
    let written = written.or_failed_to("write", &command.result_file);
    written.or_else(|error| {
        if error.is_of_surroundings() {
            Err(error)
        } else {
            Ok(())
        }
    })
}

/// Reads a result file. What it says has no orders to a terminal and no secrets in it any more.
///
/// # Errors
/// Says in a few words what is wrong with the text.
pub fn parse_result(text: &str) -> Result<Claim, String> {
    if text.len() as u64 > MOST_RESULT_BYTES {
        return Err("it is longer than 1 MiB".to_owned());
    }
    let text = &tm_untrusted::clean(text);
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let status = text
        .lines()
        .take(STATUS_LINES)
        .find_map(|line| field(line, "status"))
        .ok_or("it has no line `status: PASS|PARTIAL|FAIL` at its beginning")?;
    let status = parse_status(status)?;
    let (tests_passed, tests_failed) = text.lines().find_map(tests).unwrap_or_default();
    Ok(Claim {
        status,
        tests_passed,
        tests_failed,
        files: section(text, "files modified", path),
        issues: issues(text),
    })
}

/// Reads the result file; one that is empty or can't be read is read again, since it may be on its way over a network.
pub(super) async fn read_result(path: &Path) -> ResultFile {
    let mut pauses = REREAD_AFTER.into_iter();
    loop {
        let found = result_now(path);
        match (&found, pauses.next()) {
            (ResultFile::Malformed(_), Some(pause)) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            _ => return found,
        }
    }
}

/// What is in the place of the result file now. An agent can put anything there; nothing of it is waited for.
pub(super) fn result_now(path: &Path) -> ResultFile {
    match tm_untrusted::read(path, MOST_RESULT_BYTES) {
        Ok(bytes) => parse_result(&String::from_utf8_lossy(&bytes))
            .map_or_else(ResultFile::Malformed, ResultFile::Claimed),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ResultFile::Missing,
        Err(error) => ResultFile::Malformed(error.to_string()),
    }
}

fn parse_status(text: &str) -> Result<ClaimStatus, String> {
    let word = text.trim_matches(|letter: char| !letter.is_ascii_alphabetic());
    let beginning = || text.chars().take(40).collect::<String>();
    ClaimStatus::of(&word.to_ascii_lowercase())
        .ok_or_else(|| format!("its status is `{}`", beginning()))
}

/// Reads `name: value`, whatever the case and however it is listed or emphasised.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (key, value) = line.split_once(':')?;
    key.trim_matches(|letter: char| !letter.is_ascii_alphanumeric())
        .eq_ignore_ascii_case(name)
        .then_some(value.trim())
}

/// Reads `Tests: 3/4 (1 failures)`.
fn tests(line: &str) -> Option<(Option<u64>, Option<u64>)> {
    let value = field(line, "tests")?;
    let (passed, rest) = value.split_once('/')?;
    let passed: u64 = passed.trim().parse().ok()?;
    let number = |text: &str| -> Option<u64> {
        let digits: String = text
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().ok()
    };
    let total = number(rest);
    let failed = rest.split_once('(').and_then(|(_, failed)| number(failed));
    Some((
        Some(passed),
        failed.or_else(|| total.map(|total| total.saturating_sub(passed))),
    ))
}

/// Returns the list entries below a heading.
fn section(text: &str, heading: &str, entry: fn(&str) -> Option<String>) -> Vec<String> {
    let is_heading = |line: &&str| line.starts_with('#');
    text.lines()
        .skip_while(|line| {
            !(is_heading(line) && line.trim_matches(['#', ' ']).eq_ignore_ascii_case(heading))
        })
        .skip(1)
        .take_while(|line| !is_heading(line))
        .filter_map(entry)
        .collect()
}

/// Reads `- path: what`, with `--` or a dash as separator too.
fn path(line: &str) -> Option<String> {
    let entry = line.trim().strip_prefix(['-', '*'])?.trim();
    let end = [entry.find(": "), entry.find(" -- "), entry.find(" — ")]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(entry.len());
    let path = entry[..end].trim_matches(['`', ' ', ':']);
    (!path.is_empty() && !path.eq_ignore_ascii_case("none")).then(|| path.to_owned())
}

fn issues(text: &str) -> Vec<String> {
    section(text, "issues", |line| {
        let issue = line.trim().trim_start_matches(['-', '*']).trim();
        (!issue.is_empty() && !issue.trim_end_matches('.').eq_ignore_ascii_case("none"))
            .then(|| issue.to_owned())
    })
}

/// A result that is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultDraft {
    /// The task.
    pub task: String,
    /// The attempt.
    pub attempt: u32,
    /// `red`, `green`, or nothing for work outside a pair.
    pub phase: Option<String>,
    /// What is claimed.
    pub claim: Claim,
}

impl ResultDraft {
    /// Returns the text of the file.
    pub fn render(&self) -> String {
        let mut text = format!(
            "# Task Result: [{}]\nstatus: {}\nattempt: {}\n",
            one_line(&self.task),
            self.claim.status.as_str().to_uppercase(),
            self.attempt
        );
        if let Some(phase) = &self.phase {
            let _ = writeln!(text, "tdd_phase: {}", one_line(phase).to_uppercase());
        }
        let Claim {
            tests_passed,
            tests_failed,
            files,
            issues,
            ..
        } = &self.claim;
        if tests_passed.is_some() || tests_failed.is_some() {
            let [passed, failed] = [tests_passed, tests_failed].map(|count| count.unwrap_or(0));
            let ran = passed.saturating_add(failed);
            let _ = write!(
                text,
                "\n## Verification\n- Tests: {passed}/{ran} ({failed} failures)\n"
            );
        }
        text.push_str("\n## Files Modified\n");
        let entry = |what: &String| format!("- {}\n", one_line(what));
        text.extend(files.iter().map(entry));
        text.push_str("\n## Issues\n");
        if issues.is_empty() {
            text.push_str("None\n");
        }
        text.extend(issues.iter().map(entry));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_in_use_are_read() {
        let claim = parse_result(
            "# Task Result: [5] Build\r\nstatus: PASS\r\nattempt: 1/3\r\n\r\n## Verification\r\n\
             - Functional: 3/3\r\n- Tests: 3/4 (1 failures)\r\n\r\n## Files Modified\r\n- src/a.rs: new\r\n- `b c.md` -- text\r\n\
             \r\n## Issues\r\nNone\r\n",
        )
        .expect("a claim");
        assert_eq!(
            (claim.status, claim.tests_passed, claim.tests_failed),
            (ClaimStatus::Pass, Some(3), Some(1))
        );
        assert_eq!(
            (claim.files, claim.issues),
            (vec!["src/a.rs".to_owned(), "b c.md".to_owned()], Vec::new())
        );
        let other =
            parse_result("**Status:** partial\ntask_id: 5\n\n## Issues\n- slow\nnot pretty\n")
                .expect("a claim");
        assert_eq!(
            (other.status, other.issues.len()),
            (ClaimStatus::Partial, 2)
        );
    }

    #[test]
    fn what_is_no_result_is_said() {
        for (text, why) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            (
                "stat",
                "it has no line `status: PASS|PARTIAL|FAIL` at its beginning",
            ),
            ("status: maybe", "its status is `maybe`"),
            ("status:", "its status is ``"),
        ] {
            assert_eq!(parse_result(text).expect_err("no result"), why);
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_read(text in "(?s).{0,300}") {
            drop(parse_result(&text));
        }

        #[test]
        fn what_is_written_is_read_back(
            passed in proptest::option::of(0_u64..1000), failed in 0_u64..1000,
            files in proptest::collection::vec("[a-z/._]{1,12}[a-z]", 0..4),
            issues in proptest::collection::vec("[a-z]{5,9}( [a-z]{1,9}){0,3}", 0..4),
        ) {
            let claim = Claim {
                status: ClaimStatus::Partial, tests_passed: passed, tests_failed: passed.map(|_| failed), files, issues,
            };
            let draft = ResultDraft { task: "1".into(), attempt: 1, phase: Some("red".into()), claim: claim.clone() };
            prop_assert_eq!(parse_result(&draft.render()), Ok(claim));
        }
    }
}
