//! What is seen before any agent is started: the tests at the base, and what else would make work of agents worth nothing.
//!
//! Judges what was measured and finds words for it; measures nothing. No proof rests on any of it.

mod base;
#[cfg(test)]
mod tests;

pub use base::{BaseMeasured, has_failing_tests, judge_base};

use crate::Strength;
use serde::{Deserialize, Serialize};

/// Everything that was seen before a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Preflight {
    /// The tests at the base, by test command.
    pub bases: Vec<Base>,
    /// What would make work of agents worth nothing.
    pub problems: Vec<Problem>,
    /// How agents, set-ups and tests are held to their checkout, in words, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// How long making the checkout ready took in milliseconds, where that was needed.
    pub setup_ms: Option<u64>,
    /// Whether the run goes on although there are problems, because somebody said so.
    #[serde(default)]
    pub is_overridden: bool,
}

/// The tests at the base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// The test command.
    pub command: String,
    /// What came of it.
    pub state: BaseState,
    /// Tests that pass.
    pub passed: u64,
    /// Tests that fail, flaky ones not counted.
    pub failed: u64,
    /// Tests that were skipped.
    pub skipped: u64,
    /// Tests that failed and passed when run again.
    pub flaky: u64,
    /// How much the results tell.
    pub strength: Strength,
    /// How results can be read test by test, where they are not; what speaks against it, where there seem to be none;
    /// what may be why some fail.
    pub advice: Option<String>,
    /// How long it took in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
}

words! {
    /// What came of the tests at the base.
    pub enum BaseState {
        /// They run; some may fail, which never counts.
        Runs = "runs",
        /// There are none yet: the work is to bring the first.
        NoTestsYet = "no-tests-yet",
        /// They can't be run, or nothing can be told by them.
        Broken = "broken",
    }
}

/// One thing that would make work of agents worth nothing.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The check that found it, in a word: `set-up`, `tests`, `submodules`.
    pub check: String,
    /// What was found, in one line.
    pub what: String,
    /// The last lines of what was printed; empty where nothing was.
    pub last_lines: Vec<String>,
    /// The setting to change, or what else to do.
    pub hint: String,
}

impl Preflight {
    /// Tells whether a run may begin.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }

    /// Tells whether tests can prove nothing, although the run goes on.
    pub fn nothing_is_proven(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| matches!(problem.check.as_str(), "tests" | "set-up"))
    }

    /// Returns what was seen, a line for each test command and each problem.
    pub fn lines(&self) -> Vec<String> {
        let of_base = |base: &Base| match self.bases.len() {
            1 => format!("base: {}", base.describe()),
            _ => format!("base (`{}`): {}", base.command, base.describe()),
        };
        let good = self
            .bases
            .iter()
            .filter(|base| base.state != BaseState::Broken);
        let on = if self.is_overridden {
            "; going on all the same (`--allow-broken-base`)"
        } else {
            ""
        };
        let of_problem =
            |problem: &Problem| format!("base: {}: {}{on}", problem.check, problem.what);
        self.problems
            .iter()
            .map(of_problem)
            .chain(good.map(of_base))
            .chain(self.sandbox.iter().map(|held| format!("sandbox: {held}")))
            .collect()
    }
}

impl Base {
    fn describe(&self) -> String {
        match (self.state, self.strength) {
            (BaseState::NoTestsYet, _) => format!("no tests yet{}", self.advised()),
            (BaseState::Broken, _) => "the tests can't be run".to_owned(),
            (BaseState::Runs, Strength::PerTest) => self.counts(),
            (BaseState::Runs, Strength::ExitStatusOnly | Strength::Nothing) => {
                format!(
                    "the test command passes, exit status only{}",
                    self.advised()
                )
            }
        }
    }

    fn advised(&self) -> String {
        self.advice
            .as_ref()
            .map(|advice| format!("; {advice}"))
            .unwrap_or_default()
    }

    fn counts(&self) -> String {
        let mut counts = vec![
            format!("{} pass", self.passed),
            format!("{} fail", self.failed),
        ];
        counts.extend((self.flaky > 0).then(|| format!("{} flaky", self.flaky)));
        counts.extend((self.skipped > 0).then(|| format!("{} skipped", self.skipped)));
        counts.join(", ")
    }
}
