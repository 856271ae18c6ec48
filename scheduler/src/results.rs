//! What a test command said, test by test, in one shape for every framework.
//!
//! Does not know how any framework writes its results, nor what follows from them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

words! {
    /// How one test ended.
    pub enum TestOutcome {
        /// It ran and passed.
        Passed = "passed",
        /// It ran and failed.
        Failed = "failed",
        /// It was not run on purpose: skipped, ignored, a TODO that fails.
        Skipped = "skipped",
    }
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

words! {
    /// How much the results can tell.
    pub enum Detail {
        /// One outcome per test.
        PerTest = "per-test",
        /// The exit status alone: weaker, because a new failure can't be told from an old one.
        ExitStatusOnly = "exit-status-only",
    }
}

/// Why tests could not be built or loaded, as the compiler or the framework put it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LoadError {
    /// What kind of trouble.
    pub cause: LoadCause,
    /// The file that it was reported in, relative to the worktree where it lies within.
    pub file: Option<String>,
    /// The error in its own words, bounded, on a few lines.
    pub text: String,
}

words! {
    /// What kept tests from being built or loaded.
    pub enum LoadCause {
        /// An item of the project under test is not there: what a test that comes before its implementation is for.
        MissingItem = "missing-item",
        /// Anything else: a syntax error, a type error, a package that is not installed.
        Other = "other",
    }
}

/// A mistake of a test itself, which no implementation mends: a name that its file never binds, an import of something
/// that an installed package does not have.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct TestMistake {
    /// The file in which it was made, relative to the worktree.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The error in its own words, bounded, on one line.
    pub text: String,
}

/// Lines covered by tests, from a coverage report.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Lines that were run.
    pub covered: u64,
    /// Lines that could have been run.
    pub total: u64,
    /// The report's path, relative to the worktree.
    pub source: String,
}

impl Coverage {
    /// Returns the covered share in percent; 100 where there is nothing to cover.
    #[expect(
        clippy::cast_precision_loss,
        reason = "lines of code stay far below 2^52"
    )]
    pub fn percent(&self) -> f64 {
        if self.total == 0 {
            100.0
        } else {
            self.covered as f64 * 100.0 / self.total as f64
        }
    }
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
    /// Why tests could not be built or loaded; empty when all could.
    #[serde(default)]
    pub load_errors: Vec<LoadError>,
    /// Mistakes of tests themselves.
    #[serde(default)]
    pub mistakes: Vec<TestMistake>,
    /// Files of code that somebody wrote to while the command ran, although they were checked out for it.
    #[serde(default)]
    pub rewritten: Vec<String>,
    /// What the tests say that they were refused by what held them, each with the setting that opens it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// What each failed test printed, bounded, by test name.
    pub messages: BTreeMap<String, String>,
    /// What a coverage report that this run wrote says; `None` without one.
    pub coverage: Option<Coverage>,
    /// The end of the command's output, bounded.
    pub output_tail: String,
}

impl TestReport {
    /// Returns a report without any result.
    pub const fn without_results(end: CommandEnd) -> Self {
        Self {
            end,
            detail: Detail::ExitStatusOnly,
            tests: BTreeMap::new(),
            broken: None,
            load_errors: Vec::new(),
            mistakes: Vec::new(),
            rewritten: Vec::new(),
            refused: Vec::new(),
            messages: BTreeMap::new(),
            coverage: None,
            output_tail: String::new(),
        }
    }

    /// Counts the tests that ended so.
    pub fn count(&self, outcome: TestOutcome) -> usize {
        self.names(outcome).count()
    }

    /// Tells whether the test passes.
    pub fn passes(&self, name: &str) -> bool {
        self.tests.get(name) == Some(&TestOutcome::Passed)
    }

    /// Tells whether the test fails.
    pub fn fails(&self, name: &str) -> bool {
        self.tests.get(name) == Some(&TestOutcome::Failed)
    }

    /// Tells whether a test fails that did not fail before.
    pub(crate) fn has_new_failure(&self, before: &Self) -> bool {
        self.names(TestOutcome::Failed)
            .any(|name| !before.fails(name))
    }

    /// Returns the names of the tests that ended so, in order.
    pub fn names(&self, outcome: TestOutcome) -> impl Iterator<Item = &str> {
        self.tests
            .iter()
            .filter_map(move |(name, &of_test)| (of_test == outcome).then_some(name.as_str()))
    }

    /// Returns the names of the tests that were not there before, in order.
    pub(crate) fn new_since(&self, before: &Self) -> impl Iterator<Item = &String> + Clone {
        self.tests
            .keys()
            .filter(|name| !before.tests.contains_key(*name))
    }
}
