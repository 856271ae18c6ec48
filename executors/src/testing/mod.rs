//! Finds, runs and reads test commands.
//!
//! Knows formats of results; what they mean for a task is decided in the scheduler.

mod advice;
mod asking;
mod canary;
mod closure;
mod command;
mod detect;
mod formats;
mod frameworks;
mod load_errors;
mod matching;
mod reached;
mod reading;
mod references;
mod results;
mod run;
mod runner;
mod together;
mod told_by_hook;

pub use advice::{Reading, expected_reading, how_to_report};
pub use canary::{Canary, canary};
pub use command::TestCommand;
pub use detect::{DetectedTestCommand, detect_test_command};
pub use frameworks::{Framework, framework_of};
pub(crate) use matching::matching;
pub use reached::{Closure, TreeFiles};
pub use run::{TestPlace, run_tests};
pub use runner::{RunnerFile, is_tool_settings, runner_file, runner_settings};
pub use together::{labelled, put_together, told_by_exit_status};
pub use told_by_hook::tells_of_failing_tests;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tm_scheduler::{ResultFormat, TestOutcome};

/// Returns the outcome of every test in an output; `None` when only an exit status could tell anything, or when the
/// results are broken.
pub fn read_output(format: ResultFormat, output: &str) -> Option<BTreeMap<String, TestOutcome>> {
    formats::parse(&[format], output)
        .filter(|parsed| parsed.broken.is_none())
        .map(|parsed| parsed.tests)
}

/// A manifest or a script is no longer.
const MANIFEST_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the text of a file of a project; `None` when there is none, or nothing that may be read.
pub(crate) fn text_of(root: &Path, name: &str) -> Option<String> {
    String::from_utf8(tm_untrusted::read_within(root, name.as_ref(), MANIFEST_BYTES).ok()?).ok()
}

/// Returns the `package.json` of a project; nothing when there is none that can be read.
pub(crate) fn package_of(root: &Path) -> Value {
    let text = text_of(root, "package.json").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Tells whether a list of words names one.
fn names(words: &str, one: &str) -> bool {
    words.split_whitespace().any(|word| word == one)
}

/// Returns the last part of a path, or of a program.
fn name_in(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Tells whether a project has a file of that name.
pub(crate) fn has(root: &Path, name: &str) -> bool {
    root.join(name).exists()
}

/// What a parser made of an output.
#[derive(Clone, Debug, Default, PartialEq)]
struct Parsed {
    /// Outcome by test name.
    tests: BTreeMap<String, TestOutcome>,
    /// What failed tests printed.
    messages: BTreeMap<String, String>,
    /// What is wrong with the results themselves.
    broken: Option<String>,
    /// How often each name was given, where it was more than once.
    repeated: BTreeMap<String, u32>,
}

/// Returns the outcome that the JSON of jest and of rspec means by a word.
fn outcome_of(status: &str) -> TestOutcome {
    match status {
        "passed" => TestOutcome::Passed,
        "failed" => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    }
}

/// So much of what one test printed is kept.
const MESSAGE_BYTES: usize = 2 * 1024;

impl Parsed {
    /// Adds a test under a name that no other test has, and returns that name.
    fn add(&mut self, name: &str, outcome: TestOutcome) -> String {
        let name = if name.is_empty() { "unnamed" } else { name };
        let mut unique = name.to_owned();
        while self.tests.contains_key(&unique) {
            let number = self.repeated.entry(name.to_owned()).or_insert(1);
            *number += 1;
            unique = format!("{name} #{number}");
        }
        self.tests.insert(unique.clone(), outcome);
        unique
    }

    /// Adds a line to what a test printed, within bounds.
    fn say(&mut self, name: &str, line: &str) {
        let message = self.messages.entry(name.to_owned()).or_default();
        if message.len() + line.len() < MESSAGE_BYTES {
            message.push_str(line);
            message.push('\n');
        }
    }

    /// Adds lines to what a test printed, within bounds.
    fn say_all<'a>(&mut self, name: &str, lines: impl IntoIterator<Item = &'a str>) {
        lines.into_iter().for_each(|line| self.say(name, line));
    }

    /// Holds how many tests ran against how many were told of.
    fn check_count(&mut self, ran: usize, told: usize) {
        if ran > told {
            self.breaks(format!("{ran} tests ran and {told} were told of"));
        }
    }

    /// Adds what another file of the same run holds.
    fn merge(&mut self, other: Self) {
        for (name, outcome) in other.tests {
            let unique = self.add(&name, outcome);
            self.say_all(
                &unique,
                other.messages.get(&name).map_or("", String::as_str).lines(),
            );
        }
        if let Some(why) = other.broken {
            self.breaks(why);
        }
    }

    /// Remembers the first thing that is wrong.
    fn breaks(&mut self, why: impl Into<String>) {
        self.broken.get_or_insert_with(|| why.into());
    }
}
