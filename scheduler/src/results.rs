//! What a test command said, test by test, in one shape for every framework.
//!
//! Does not know how any framework writes its results, nor what follows from them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How one test ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    /// It ran and passed.
    Passed,
    /// It ran and failed.
    Failed,
    /// It was not run on purpose: skipped, ignored, a TODO that fails.
    Skipped,
}

/// How the test command itself ended.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandEnd {
    /// By itself, with this exit code; `None` when a signal ended it.
    Exited(Option<i32>),
    /// Stopped after the limit.
    TimedOut,
    /// It could not be started; holds why.
    NotStarted(String),
}

impl CommandEnd {
    /// Tells whether the command exited with 0.
    pub fn succeeded(&self) -> bool {
        *self == Self::Exited(Some(0))
    }
}

/// How much the results can tell.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// One outcome per test.
    PerTest,
    /// The exit status alone: weaker, because a new failure can't be told from an old one.
    ExitStatusOnly,
}

/// The results of one run of a test command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestReport {
    /// How the command ended.
    pub end: CommandEnd,
    /// How much it tells.
    pub detail: Detail,
    /// Outcome by test name; names are unique within a report.
    pub tests: BTreeMap<String, TestOutcome>,
    /// What is wrong with the results themselves (a plan that was not met, a suite that bailed out, a collection
    /// error), in one line; `None` when they are complete.
    pub broken: Option<String>,
    /// What each failed test printed, bounded, by test name.
    pub messages: BTreeMap<String, String>,
    /// The end of the command's output, bounded.
    pub output_tail: String,
}

impl TestReport {
    /// Counts the tests that ended so.
    pub fn count(&self, outcome: TestOutcome) -> usize {
        self.tests.values().filter(|&&other| other == outcome).count()
    }

    /// Returns the names of the tests that ended so, in order.
    pub fn names(&self, outcome: TestOutcome) -> impl Iterator<Item = &str> {
        self.tests.iter().filter(move |&(_, &other)| other == outcome).map(|(name, _)| name.as_str())
    }
}
