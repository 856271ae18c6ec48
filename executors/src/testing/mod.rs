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
mod parsed;
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

use parsed::Parsed;
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
    tm_untrusted::json_value(text).unwrap_or_default()
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

/// Returns the outcome that the JSON of jest and of rspec means by a word.
fn outcome_of(status: &str) -> TestOutcome {
    match status {
        "passed" => TestOutcome::Passed,
        "failed" => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    }
}
