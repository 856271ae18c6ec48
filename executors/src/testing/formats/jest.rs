//! The JSON of jest (`--json`), which vitest (`--reporter=json`) writes too.

use super::json;
use crate::testing::{Parsed, outcome_of};
use serde::Deserialize;
use tm_scheduler::TestOutcome;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    num_total_tests: usize,
    test_results: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    #[serde(default)]
    status: String,
    message: Option<String>,
    #[serde(default)]
    assertion_results: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default)]
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    failure_messages: Option<Vec<String>>,
}

/// The document may stand behind other output, on a line of its own.
fn document(output: &str) -> Option<&str> {
    let starts_here = |line: &&str| line.starts_with('{') && line.contains("\"testResults\"");
    match output.lines().find(starts_here) {
        Some(line) => Some(line),
        None => Some(output.trim())
            .filter(|text| text.starts_with('{') && text.contains("\"testResults\"")),
    }
}

/// Tells whether such a document is in the output.
pub(super) fn looks_like(output: &str) -> bool {
    document(output).is_some()
}

pub(super) fn parse(output: &str) -> Parsed {
    let words = [
        "the JSON results can't be read",
        "there are no JSON results",
    ];
    json(document(output), words, |document: Document, parsed| {
        let files = document.test_results;
        let told = files.iter().map(|file| file.assertion_results.len());
        parsed.check_count(document.num_total_tests, told.sum());
        for file in files {
            read(file, parsed);
        }
    })
}

fn read(file: File, parsed: &mut Parsed) {
    let has_failed_test = file
        .assertion_results
        .iter()
        .any(|test| test.status == "failed");
    if file.status == "failed" && !has_failed_test {
        let name = parsed.add(&file.name, TestOutcome::Failed);
        parsed.say_all(
            &name,
            file.message.iter().flat_map(|message| message.lines()),
        );
    }
    for test in file.assertion_results {
        let outcome = outcome_of(&test.status);
        let titles = [
            std::slice::from_ref(&file.name),
            test.ancestor_titles.as_slice(),
            &[test.title],
        ]
        .concat();
        let name = parsed.add(&titles.join(" > "), outcome);
        parsed.say_all(
            &name,
            test.failure_messages
                .iter()
                .flatten()
                .flat_map(|message| message.lines()),
        );
    }
}
