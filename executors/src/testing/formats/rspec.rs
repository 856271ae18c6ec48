//! The JSON of rspec (`--format json`), and what it prints of a file of examples that can't be loaded.

use super::json::{List, Told, json, lines};
use crate::patterns::part;
use crate::testing::load_errors::{Found, cause};
use crate::testing::{Parsed, outcome_of};
use serde::Deserialize;
use tm_scheduler::TestOutcome;

patterns! {
    LOADING = r"^An error occurred while loading (\S+\.rb)\.(?: - Did you mean\?)?$";
    RAISED = r"^((?:\w+::)*[A-Z]\w*):$";
    NO_FILE = r"^cannot load such file -- (\S+)$";
    NO_METHOD = r"^undefined method [`'][^']+' for ";
}

#[derive(Deserialize)]
struct Document {
    examples: List<Example>,
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
    #[serde(default, deserialize_with = "lines")]
    backtrace: String,
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
    let List {
        parsed: told_of,
        told,
        ..
    } = document.examples;
    let ran = document.summary.example_count;
    *parsed = told_of;
    if told < ran {
        parsed.breaks(format!("{ran} examples ran and {told} were told of"));
    }
    match document.summary.errors_outside_of_examples_count {
        0 => {}
        1 => parsed.breaks("an error occurred outside of examples"),
        count => parsed.breaks(format!("{count} errors occurred outside of examples")),
    }
}

impl Told for Example {
    fn tell(self, parsed: &mut Parsed) -> usize {
        let outcome = outcome_of(&self.status);
        let file = self.file_path.trim_start_matches("./");
        let name = parsed.add(&[file, " > ", &self.full_description], outcome);
        let exception = self.exception.filter(|_| outcome == TestOutcome::Failed);
        if let Some(exception) = exception {
            parsed.say(&name, &format!("{}:", exception.class));
            let frames = exception.backtrace.lines().skip(1).take(FRAMES);
            parsed.say_all(&name, exception.message.lines().chain(frames));
        }
        1
    }
}

/// Finds why files of examples can't be loaded, one error a file: the exception that its loading ended with, whose name stands on a line of its own.
pub(in crate::testing) fn find_load_errors(output: &str, found: &mut Found<'_>) {
    let mut file: Option<&str> = None;
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if let Some(loading) = LOADING.captures(line) {
            file = Some(part(&loading, 1));
        } else if let Some(exception) = RAISED.captures(line)
            && let Some(file) = file.take()
        {
            let words = lines.next().unwrap_or_default().trim();
            let is_missing = is_missing_item(&exception[1], words, found);
            found.add(
                cause(is_missing),
                Some(file),
                &format!("{}: {words}", &exception[1]),
            );
        }
    }
}

fn is_missing_item(exception: &str, words: &str, found: &Found<'_>) -> bool {
    match exception {
        "LoadError" => NO_FILE
            .captures(words)
            .is_some_and(|file| is_own(&file[1], found)),
        "NameError" => words.starts_with("uninitialized constant "),
        "NoMethodError" => NO_METHOD.is_match(words),
        _ => false,
    }
}

/// A path is one of the project's own files; of a bare name the gems that it needs tell: `a-b` is loaded as `a/b`.
fn is_own(name: &str, found: &Found<'_>) -> bool {
    let top = name.split('/').next().unwrap_or(name);
    name.starts_with(['/', '.'])
        || !found.depends_on(top) && !found.depends_on(&name.replace('/', "-"))
}
