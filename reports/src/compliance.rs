//! Which pairs kept the cycle: RED seen failing, GREEN seen passing with the same tests, both landed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tm_scheduler::{
    AttemptRecord, CoverageChange, Phase, Proof, State, Strength, TaskId, TaskView,
};

/// The pairs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TddSummary {
    /// Pairs in the plan.
    pub pairs: usize,
    /// Pairs that kept the cycle.
    pub compliant: usize,
    /// Pairs that kept the cycle among those that came to an end, in percent; `null` before any did.
    pub rate: Option<f64>,
    /// Every pair, in the order of its GREEN's id.
    pub table: Vec<PairSummary>,
}

/// One pair.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column of the table"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairSummary {
    /// The id of its RED.
    pub red: String,
    /// The id of its GREEN.
    pub green: String,
    /// One line.
    pub title: String,
    /// Whether RED's tests were seen failing because the behaviour is missing.
    pub red_seen_failing: bool,
    /// How many tests RED added, as far as they have names.
    pub red_tests: usize,
    /// Whether GREEN was seen passing them, unchanged, and nothing that passed before got worse.
    pub green_seen_passing: bool,
    /// How much the proofs of both rest on, the weaker one; `null` where none holds.
    pub strength: Option<Strength>,
    /// Tests that passed before and did not in GREEN's last attempt.
    pub regressions: usize,
    /// Covered lines in percent, where they were measured.
    pub coverage: Option<CoverageChange>,
    /// Whether a further commit that tidies up was kept, or why it was dropped; `null` where none was asked for.
    #[serde(default)]
    pub refactored: Option<String>,
    /// Whether both are on the integration branch.
    pub landed: bool,
    /// Whether the pair kept the cycle.
    pub compliant: bool,
    /// Why it did not, in a few words; empty when it did.
    pub why_not: String,
}

impl PairSummary {
    /// Notes that what is said of its landing can't be shown.
    pub(crate) fn put_in_doubt(&mut self) {
        (self.landed, self.compliant) = (false, false);
        "its landing is in doubt".clone_into(&mut self.why_not);
    }
}

impl TddSummary {
    /// Counts again after rows of the table were changed; how many came to an end stays as it is.
    pub(crate) fn recount(&mut self) {
        let before = self.compliant;
        self.compliant = compliant(&self.table);
        if let Some(part) = percent(self.compliant, before) {
            self.rate = self.rate.map(|rate| rate * part / 100.0);
        }
    }
}

pub(crate) fn tdd_summary(views: &[TaskView<'_>]) -> TddSummary {
    let by_id: BTreeMap<&TaskId, &TaskView<'_>> = views
        .iter()
        .map(|view| (&view.placed.task.id, view))
        .collect();
    let pairs = views.iter().filter_map(|green| {
        let task = &green.placed.task;
        let red = task.pair.as_ref().filter(|_| task.phase == Phase::Green)?;
        let pair = pair_summary(by_id.get(red)?, green);
        Some((pair, green.state.is_settled()))
    });
    let (table, settled): (Vec<PairSummary>, Vec<bool>) = pairs.unzip();
    let settled = settled.into_iter().filter(|settled| *settled).count();
    let compliant = compliant(&table);
    TddSummary {
        pairs: table.len(),
        compliant,
        rate: percent(compliant, settled),
        table,
    }
}

fn compliant(table: &[PairSummary]) -> usize {
    table.iter().filter(|pair| pair.compliant).count()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are far fewer than 2^52 pairs"
)]
fn percent(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

fn pair_summary(red: &TaskView<'_>, green: &TaskView<'_>) -> PairSummary {
    let is_landed = |view: &TaskView<'_>| matches!(view.state, State::Landed { .. });
    let (red_proof, green_proof) = (last_proof(red), last_proof(green));
    // An exit status can't tell a test that fails for what is missing, nor one that passed from one that was skipped.
    let keeps_all = |proof: &&Proof| {
        proof.holds() && proof.waived.is_empty() && proof.strength != Strength::ExitStatusOnly
    };
    let red_seen_failing = red_proof
        .filter(keeps_all)
        .is_some_and(|proof| proof.seen_failing);
    let green_seen_passing = green_proof.as_ref().is_some_and(keeps_all);
    let landed = is_landed(red) && is_landed(green);
    let why_not = if !red_seen_failing {
        why("RED", red, red_proof)
    } else if !green_seen_passing {
        why("GREEN", green, green_proof)
    } else if !landed {
        "proven, but not landed".to_owned()
    } else {
        String::new()
    };
    PairSummary {
        red: red.placed.task.id.to_string(),
        green: green.placed.task.id.to_string(),
        title: green.placed.task.title.to_string(),
        red_seen_failing,
        red_tests: red_proof.map_or(0, |proof| proof.new.len()),
        green_seen_passing,
        strength: weaker(red_proof, green_proof),
        regressions: green_proof.map_or(0, |proof| proof.regressions.len()),
        coverage: green_proof.and_then(|proof| proof.coverage),
        refactored: green.attempts.last().and_then(refactored),
        landed,
        compliant: why_not.is_empty(),
        why_not,
    }
}

/// The weaker of the proofs that hold.
fn weaker(red: Option<&Proof>, green: Option<&Proof>) -> Option<Strength> {
    let proofs = red.into_iter().chain(green);
    let holding = proofs.filter(|proof| proof.holds());
    holding.map(Proof::rests_on).min()
}

/// What came of the further attempt that may improve the code, in a word or why it was dropped.
pub(crate) fn refactored(record: &AttemptRecord) -> Option<String> {
    let refactored = record.refactored()?;
    Some(refactored.dropped.as_deref().unwrap_or("kept").to_owned())
}

fn last_proof<'a>(view: &TaskView<'a>) -> Option<&'a Proof> {
    view.attempts.last()?.proof()
}

/// The reason of the proof, or where the task stands when nothing was proven.
fn why(phase: &str, view: &TaskView<'_>, proof: Option<&Proof>) -> String {
    let reason = proof.and_then(|proof| proof.reason.or_else(|| proof.waived.first().copied()));
    match (reason, view.state, proof) {
        (Some(reason), _, _) => format!("{phase}: {reason}"),
        (None, _, Some(proof)) if proof.holds() && proof.strength == Strength::ExitStatusOnly => {
            format!("{phase}: judged by exit status only")
        }
        (None, State::Failed { failure }, _) => format!("{phase}: {failure}"),
        (None, _, Some(proof)) if proof.holds() => {
            format!("{phase}: its tests were not seen failing")
        }
        (None, state, _) => format!("{phase}: {}", state.as_str()),
    }
}
