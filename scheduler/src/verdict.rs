//! Judges measured test results: RED, GREEN, plain work, and a merged tree before it lands.
//!
//! Pure: knows results, not how they were measured. A test that failed before never counts, whoever broke it.

mod blame;
mod compared;
mod first_failing;
mod frozen;
mod green;
mod links;
mod manifests;
mod paths;
mod plain;
mod red;
mod red_again;
#[cfg(test)]
mod tests;

pub use blame::{Blame, blame};
pub(crate) use compared::lacks_runner;
pub use first_failing::FirstFailing;
pub use frozen::{RedFile, brought_by_red, is_fixture, names_path};
pub use green::{GreenWork, judge_green};
pub use links::{lead_out, leads_to};
pub use manifests::{TestSettings, manifest};
pub use paths::{is_source, is_test_path, test_files_of_red, test_section};
pub use plain::{
    AsBefore, judge_landing, judge_plain, judge_plain_as_before, with_files_as_before,
};
pub use red::{RedWork, judge_red};
pub use red_again::{
    RedAgain, canary_was_missed, control_tells, only_settings_pass, red_again, red_does_not_fail,
    tells_of_canary, tests_were_rewritten,
};

use crate::{Detail, TestOutcome, TestReport};
use schemars::JsonSchema;

words! {
    /// How strictly RED and GREEN are judged.
    #[derive(Default, JsonSchema)]
    pub enum Strictness {
        /// Every new test of RED has to fail; GREEN may not touch RED's test files.
        Strict = "strict",
        /// One new test of RED has to fail; GREEN may not touch RED's test files.
        #[default]
        Normal = "normal",
        /// Both are noted only.
        Relaxed = "relaxed",
    }
}

/// What the settings ask of RED and GREEN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rules {
    /// How strictly they are judged.
    pub strictness: Strictness,
    /// The least share of covered lines after GREEN, in percent.
    pub coverage_threshold: Option<f64>,
    /// Whether tests that can't pass are tried, too.
    pub canary: Canary,
}

words! {
    /// Whether a GREEN that holds is measured once more with tests that can't pass, to see that results come from the tests.
    #[derive(Default, JsonSchema)]
    pub enum Canary {
        /// It is, wherever tm knows how.
        #[default]
        On = "on",
        /// It is not, and the proof says so.
        Off = "off",
    }
}

/// One changed file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// Its path, relative to the repository.
    pub path: String,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or mode is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// The proven RED that a GREEN has to satisfy.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RedFacts {
    /// Names of the tests that RED added.
    pub new_tests: Vec<String>,
    /// Files of tests that could not be loaded before GREEN, so that their tests have no names yet.
    pub unloaded: Vec<String>,
    /// Its test files.
    pub files: Vec<String>,
}

/// Tells whether a test that passed before fails, so that a second run has to tell whether it is flaky; new tests of a
/// RED are to fail.
pub fn old_tests_got_worse(base: &TestReport, after: &TestReport) -> bool {
    base.names(TestOutcome::Passed)
        .any(|name| after.fails(name))
}

/// Tells whether something is worse than before, so that a second run has to tell whether it is flaky.
pub fn needs_rerun(base: &TestReport, after: &TestReport) -> bool {
    match after.detail {
        Detail::PerTest => after.has_new_failure(base),
        Detail::ExitStatusOnly => base.end.succeeded() && !after.end.succeeded(),
    }
}
