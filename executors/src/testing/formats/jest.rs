//! The JSON of jest (`--json`), which vitest (`--reporter=json`) writes too.

use super::json::{List, Told, joined, json, lines};
use crate::testing::{Parsed, outcome_of};
use serde::{Deserialize, Deserializer};
use tm_scheduler::TestOutcome;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    num_total_tests: usize,
    test_results: List<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    #[serde(default)]
    status: String,
    message: Option<String>,
    #[serde(default)]
    assertion_results: List<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default, deserialize_with = "titles")]
    ancestor_titles: String,
    title: String,
    status: String,
    #[serde(default, deserialize_with = "lines")]
    failure_messages: String,
}

/// Stands between two titles.
const WITHIN: &str = " > ";

fn titles<'de, From: Deserializer<'de>>(from: From) -> Result<String, From::Error> {
    joined(from, WITHIN)
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
        let List {
            parsed: told,
            told: count,
            ..
        } = document.test_results;
        *parsed = told;
        parsed.check_count(document.num_total_tests, count);
    })
}

impl Told for File {
    fn tell(self, parsed: &mut Parsed) -> usize {
        let tests = self.assertion_results;
        let mut outcomes = tests.parsed.tests.values();
        if self.status == "failed" && !outcomes.any(|outcome| *outcome == TestOutcome::Failed) {
            let name = parsed.add(&[&self.name], TestOutcome::Failed);
            parsed.say_all(
                &name,
                self.message.iter().flat_map(|message| message.lines()),
            );
        }
        parsed.merge_within(&self.name, tests.parsed);
        tests.told
    }
}

impl Told for Test {
    /// Adds it by its titles within its file, whose name may come behind its tests.
    fn tell(self, parsed: &mut Parsed) -> usize {
        let name = [&self.ancestor_titles, WITHIN, &self.title];
        let name = parsed.add(&name, outcome_of(&self.status));
        parsed.say_all(&name, self.failure_messages.lines().skip(1));
        1
    }
}
