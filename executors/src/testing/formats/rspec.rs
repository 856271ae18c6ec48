//! The JSON of rspec (`--format json`).

use super::json;
use crate::testing::{Parsed, outcome_of};
use serde::Deserialize;
use tm_scheduler::TestOutcome;

#[derive(Deserialize)]
struct Document {
    examples: Vec<Example>,
    summary: Summary,
}

#[derive(Deserialize)]
struct Example {
    full_description: String,
    file_path: String,
    status: String,
    exception: Option<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    class: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    backtrace: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Summary {
    example_count: usize,
    #[serde(default)]
    errors_outside_of_examples_count: usize,
}

/// So many lines of a backtrace are kept: the first one outside of rspec is nearly always among them.
const FRAMES: usize = 12;

/// The document is one line, behind whatever else is printed.
fn document(output: &str) -> Option<&str> {
    output.lines().find(|line| {
        line.starts_with('{') && line.contains("\"examples\":[") && line.contains("\"summary\":")
    })
}

/// Tells whether such a document is in the output.
pub(super) fn looks_like(output: &str) -> bool {
    document(output).is_some()
}

pub(super) fn parse(output: &str) -> Parsed {
    let words = [
        "the JSON of rspec can't be read",
        "there is no JSON of rspec",
    ];
    json(document(output), words, read)
}

/// Where a file can't be loaded, rspec runs no example of any file.
fn read(document: Document, parsed: &mut Parsed) {
    let (told, ran) = (document.examples.len(), document.summary.example_count);
    if told < ran {
        parsed.breaks(format!("{ran} examples ran and {told} were told of"));
    }
    match document.summary.errors_outside_of_examples_count {
        0 => {}
        1 => parsed.breaks("an error occurred outside of examples"),
        count => parsed.breaks(format!("{count} errors occurred outside of examples")),
    }
    for example in document.examples {
        let outcome = outcome_of(&example.status);
        let file = example.file_path.trim_start_matches("./");
        let name = parsed.add(&format!("{file} > {}", example.full_description), outcome);
        for exception in example
            .exception
            .iter()
            .filter(|_| outcome == TestOutcome::Failed)
        {
            parsed.say(&name, &format!("{}:", exception.class));
            let frames = exception
                .backtrace
                .iter()
                .flatten()
                .take(FRAMES)
                .map(String::as_str);
            parsed.say_all(&name, exception.message.lines().chain(frames));
        }
    }
}
