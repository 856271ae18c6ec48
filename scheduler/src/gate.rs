//! Gates: checks of a project's own that stand beside its tests, and what follows from what they say.
//!
//! Decides alone: runs nothing, reads nothing. A finding that was there before the work does not count.

use crate::{Tokens, without_numbers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many findings are kept, each with so many bytes.
const MOST_FINDINGS: usize = 100;
const MOST_BYTES: usize = 500;

/// What one gate said of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// Its name.
    pub name: String,
    /// What follows.
    pub outcome: GateOutcome,
    /// What it found that was not there before, or the reasons of a reviewer; bounded.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Tokens of a reviewer.
    pub tokens: Option<Tokens>,
    /// The cost of a reviewer in US dollars.
    pub cost_usd: Option<f64>,
}

words! {
    /// What follows from what a gate said.
    pub enum GateOutcome {
        /// It has nothing to say against the work.
        Passed = "passed",
        /// It fails, and failed with the same findings before.
        NothingNew = "nothing-new",
        /// It fails for something that was not there before.
        Failed = "failed",
        /// A reviewer rejects the work.
        Rejected = "rejected",
        /// A reviewer said nothing that can be read, as often as it was asked; it decides nothing.
        NoVerdict = "no-verdict",
    }
}

impl GateResult {
    /// Returns what a gate said for which nothing was spent.
    pub fn new(name: impl Into<String>, outcome: GateOutcome, findings: Vec<String>) -> Self {
        Self {
            name: name.into(),
            outcome,
            findings,
            tokens: None,
            cost_usd: None,
        }
    }
}

impl GateOutcome {
    /// Tells whether the work may go on.
    pub const fn holds(self) -> bool {
        match self {
            Self::Passed | Self::NothingNew => true,
            Self::Failed | Self::Rejected | Self::NoVerdict => false,
        }
    }
}

/// One run of a gate's command.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GateRun {
    /// Whether it ended with 0.
    pub succeeded: bool,
    /// What it found, one line each, in its order.
    pub findings: Vec<String>,
}

/// Judges a run of a gate against those without the work; without any, all that it found counts.
pub fn judge_gate(name: &str, before: &[GateRun], after: &GateRun) -> GateResult {
    if after.succeeded {
        return GateResult::new(name, GateOutcome::Passed, Vec::new());
    }
    let new = new_findings(before, &after.findings);
    // A gate that passed before and says nothing fails all the same.
    if new.is_empty() && before.iter().any(|run| !run.succeeded) {
        return GateResult::new(name, GateOutcome::NothingNew, Vec::new());
    }
    let shown = if new.is_empty() {
        after.findings.clone()
    } else {
        new
    };
    GateResult::new(
        name,
        GateOutcome::Failed,
        shown.into_iter().take(MOST_FINDINGS).map(cut).collect(),
    )
}

fn cut(mut finding: String) -> String {
    finding.truncate(finding.floor_char_boundary(MOST_BYTES));
    finding
}

/// The findings that are there more often than in any run before. Numbers are left out of the comparison, since a line
/// that is put in moves all that follow.
fn new_findings(before: &[GateRun], after: &[String]) -> Vec<String> {
    let shape = |finding: &String| without_numbers(finding.trim());
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for run in before {
        let mut of_run: BTreeMap<String, usize> = BTreeMap::new();
        for finding in &run.findings {
            *of_run.entry(shape(finding)).or_default() += 1;
        }
        for (finding, count) in of_run {
            let most = known.entry(finding).or_default();
            *most = (*most).max(count);
        }
    }
    let mut is_new = |finding: &&String| {
        let left = known.entry(shape(finding)).or_default();
        let is_new = *left == 0;
        *left = left.saturating_sub(1);
        is_new
    };
    after
        .iter()
        .filter(|finding| is_new(finding))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(succeeded: bool, findings: &[&str]) -> GateRun {
        GateRun {
            succeeded,
            findings: findings.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn only_what_was_not_there_before_counts() {
        let before = [run(
            false,
            &["a.js:3:1 no-var", "b.js:9 no-var", "2 problems"],
        )];
        let judge = |before: &[GateRun], after: GateRun| {
            let result = judge_gate("lint", before, &after);
            (result.outcome, result.findings)
        };
        for (what, before, after, outcome, findings) in [
            (
                "it passes",
                &before[..],
                run(true, &["a.js:3:1 no-var"]),
                GateOutcome::Passed,
                &[][..],
            ),
            (
                "moved lines",
                &before,
                run(false, &["a.js:14:1 no-var", "b.js:10 no-var", "2 problems"]),
                GateOutcome::NothingNew,
                &[],
            ),
            (
                "one is gone",
                &before,
                run(false, &["b.js:10 no-var", "1 problems"]),
                GateOutcome::NothingNew,
                &[],
            ),
            (
                "a second one of a kind",
                &before,
                run(false, &["a.js:3:1 no-var", "a.js:4:1 no-var", "3 problems"]),
                GateOutcome::Failed,
                &["a.js:4:1 no-var"],
            ),
            (
                "nothing was asked before",
                &[],
                run(false, &["x"]),
                GateOutcome::Failed,
                &["x"],
            ),
            (
                "it passed before",
                &[run(true, &["x"])],
                run(false, &["x"]),
                GateOutcome::Failed,
                &["x"],
            ),
            (
                "it says nothing",
                &[run(true, &[])],
                run(false, &[]),
                GateOutcome::Failed,
                &[],
            ),
        ] {
            let expected = (outcome, findings.iter().map(ToString::to_string).collect());
            assert_eq!(judge(before, after), expected, "{what}");
        }
    }

    #[test]
    fn findings_of_both_sides_of_a_merge_are_known() {
        let sides = [run(false, &["a 1"]), run(false, &["b 1"])];
        assert_eq!(
            judge_gate("lint", &sides, &run(false, &["a 1", "b 2"])).outcome,
            GateOutcome::NothingNew
        );
        assert_eq!(
            judge_gate("lint", &sides, &run(false, &["a 1", "a 2"])).findings,
            ["a 2"]
        );
    }
}
