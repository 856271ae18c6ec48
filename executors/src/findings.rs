//! Reads what linters found: SARIF, checkstyle, or lines that they print.
//!
//! Knows nothing of what follows from a finding, nor of what was found before.

use crate::xml::{attribute, elements};
use regex::Regex;
use serde_json::Value;
use std::path::Path;
use tm_scheduler::one_line;

/// So many findings are read at the most.
const MOST: usize = 10_000;
/// So long is a finding, without the place of its checkout; the rest is cut off.
const FINDING_BYTES: usize = 1024;
/// So long is each part of it before, with that place.
const PART_BYTES: usize = 2 * FINDING_BYTES;
/// So long are the findings of one run together; of more no more are read.
const FINDINGS_BYTES: usize = 2 * 1024 * 1024;
/// Lists of results are no longer than this.
const RESULTS_BYTES: u64 = 64 * 1024 * 1024;
/// So much of what a command prints is read.
const OUTPUT_BYTES: u64 = 4 * 1024 * 1024;

/// Why a list of findings can't be read.
#[derive(Debug, thiserror::Error)]
#[error("read the findings in `{file}`: {why}")]
pub struct Unreadable {
    file: String,
    why: String,
}

/// Returns what a file in a worktree lists, one line each.
///
/// # Errors
/// It is not there, or in no format that is known.
pub fn listed_findings(worktree: &Path, file: &str) -> Result<Vec<String>, Unreadable> {
    let failed = |why: String| Unreadable {
        file: file.to_owned(),
        why,
    };
    let bytes = tm_untrusted::read_within(worktree, file.as_ref(), RESULTS_BYTES)
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let found = if start.starts_with('{') {
        sarif(start)
    } else if start.starts_with('<') {
        checkstyle(start)
    } else {
        Err("it is neither SARIF nor checkstyle".to_owned())
    };
    let found = found.map_err(failed)?;
    let found = found
        .into_iter()
        .map(|finding| without_place(&finding, worktree));
    Ok(within_bounds(found))
}

/// The first findings, as many as are read: each is kept for as long as the run is, however often a list names a file.
fn within_bounds(findings: impl Iterator<Item = String>) -> Vec<String> {
    let mut room = FINDINGS_BYTES;
    let has_room = |finding: &String| {
        let left = room.checked_sub(finding.len());
        room = left.unwrap_or_default();
        left.is_some()
    };
    let cut_off = |mut finding: String| {
        finding.truncate(finding.floor_char_boundary(FINDING_BYTES));
        finding
    };
    let findings = findings.take(MOST).map(cut_off);
    findings.take_while(has_room).collect()
}

fn cut(part: &str) -> &str {
    &part[..part.floor_char_boundary(PART_BYTES)]
}

/// Returns the lines of a log that are findings: those that match, or all that are not empty.
pub fn printed_findings(log: &Path, worktree: &Path, pattern: Option<&str>) -> Vec<String> {
    let wanted = pattern.and_then(|pattern| Regex::new(pattern).ok());
    let bytes = tm_untrusted::read_beginning(log, OUTPUT_BYTES).unwrap_or_default();
    let text = tm_untrusted::clean(&String::from_utf8_lossy(&bytes));
    let is_wanted = |line: &&str| {
        !line.trim().is_empty() && wanted.as_ref().is_none_or(|wanted| wanted.is_match(line))
    };
    let lines = text.lines().filter(is_wanted);
    within_bounds(lines.map(|line| without_place(cut(line.trim_end()), worktree)))
}

/// Refuses a pattern of lines that is no regular expression.
///
/// # Errors
/// It is none; holds why.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    Regex::new(pattern)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// The same finding is made in many checkouts.
fn without_place(line: &str, worktree: &Path) -> String {
    let place = worktree.display().to_string();
    line.replace(&format!("file://{place}/"), "")
        .replace(&format!("{place}/"), "")
        .replace(&place, ".")
}

fn sarif(text: &str) -> Result<Vec<String>, String> {
    let document = tm_untrusted::json_value(text).map_err(|error| error.to_string())?;
    let results = document["runs"]
        .as_array()
        .ok_or("it has no `runs`")?
        .iter()
        .filter_map(|run| run["results"].as_array())
        .flatten();
    // A finding that somebody has suppressed, or that is told as good news, is none.
    let counts = |result: &&Value| {
        result["suppressions"].as_array().is_none_or(Vec::is_empty)
            && !matches!(result["kind"].as_str(), Some("pass"))
    };
    let words = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        let line = place["region"]["startLine"]
            .as_u64()
            .map_or_else(String::new, |line| format!(":{line}"));
        let file = place["artifactLocation"]["uri"]
            .as_str()
            .unwrap_or_default();
        let rule = result["ruleId"].as_str().unwrap_or_default();
        let message = result["message"]["text"].as_str().unwrap_or_default();
        let (file, rule, message) = (cut(file), cut(rule), one_line(cut(message)));
        format!("{file}{line} {rule} {message}")
    };
    Ok(results.filter(counts).take(MOST).map(words).collect())
}

fn checkstyle(text: &str) -> Result<Vec<String>, String> {
    let (mut file, mut found, mut is_checkstyle) = (String::new(), Vec::new(), false);
    elements(text, |tag| match tag.name().as_ref() {
        "checkstyle" => is_checkstyle = true,
        "file" => cut(&attribute(tag, "name")).clone_into(&mut file),
        "error" if found.len() < MOST => {
            let [line, rule, message] =
                ["line", "source", "message"].map(|name| attribute(tag, name));
            let (line, rule, message) = (cut(&line), cut(&rule), one_line(cut(&message)));
            found.push(format!("{file}:{line} {rule} {message}"));
        }
        _ => {}
    })?;
    if is_checkstyle {
        Ok(found)
    } else {
        Err("it is no checkstyle document".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    fn read(text: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        std::fs::write(folder.path().join("found"), text.replace("ROOT", &place)).unwrap();
        listed_findings(folder.path(), "found").map_err(|error| error.to_string())
    }

    #[test]
    fn sarif_and_checkstyle_name_their_findings_without_the_place_of_the_checkout() {
        let sarif = r#"{"runs":[{"results":[
            {"ruleId":"no-var","message":{"text":"no\nvar"},"locations":[{"physicalLocation":{
             "artifactLocation":{"uri":"file://ROOT/a.js"},"region":{"startLine":3}}}]},
            {"ruleId":"x","message":{"text":"y"},"suppressions":[{"kind":"inSource"}]}]}]}"#;
        assert_eq!(read(sarif).unwrap(), ["a.js:3 no-var no var"]);
        let checkstyle = r#"<?xml version="1.0"?><checkstyle version="8"><file name="ROOT/b.py">
            <error line="7" severity="error" message="too &lt;long&gt;" source="E501"/></file></checkstyle>"#;
        assert_eq!(read(checkstyle).unwrap(), ["b.py:7 E501 too <long>"]);
    }

    #[test]
    fn a_list_that_names_a_long_file_often_is_cut_off() {
        let error = r#"<error line="1" source="x" message="y"/>"#.repeat(5_000);
        let name = "a".repeat(1024 * 1024);
        let text = format!(r#"<checkstyle><file name="{name}">{error}</file></checkstyle>"#);
        let found = read(&text).unwrap();
        assert_eq!(found[0].len(), FINDING_BYTES);
        let bytes: usize = found.iter().map(String::len).sum();
        assert_eq!(bytes, FINDINGS_BYTES);
    }

    #[test]
    fn what_is_neither_is_an_error_and_no_list_without_findings() {
        for text in ["", "fine", "{}", "<x/>", "{", "[1]"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(listed_findings(Path::new("/"), "../etc/passwd").is_err());
    }
}
