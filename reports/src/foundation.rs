//! What the work of a run rests on, in words: the base, the set-ups, and how much its proofs tell.

use crate::{AttemptSummary, Summary, TaskSummary, human_duration};
use serde::{Deserialize, Serialize};
use tm_scheduler::{GateResult, Strength};

/// The set-ups of a run's checkouts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct SetupSummary {
    /// How many there were.
    pub count: u64,
    /// How long they took together, in milliseconds.
    pub total_ms: u64,
    /// How long the longest took, in milliseconds.
    pub longest_ms: u64,
}

impl SetupSummary {
    /// Adds one that took so many milliseconds.
    #[must_use]
    pub fn and(self, took_ms: u64) -> Self {
        Self {
            count: self.count + 1,
            total_ms: self.total_ms.saturating_add(took_ms),
            longest_ms: self.longest_ms.max(took_ms),
        }
    }

    /// Returns them in words; `None` where there were none.
    pub(crate) fn describe(self) -> Option<String> {
        (self.count > 0).then(|| {
            let (total, longest) = (
                human_duration(self.total_ms),
                human_duration(self.longest_ms),
            );
            format!(
                "set-ups {}, {total} together, the longest {longest}",
                self.count
            )
        })
    }
}

impl TaskSummary {
    /// Returns how much the work that holds rests on; `None` where there is no such work.
    pub(crate) fn strength(&self) -> Option<Strength> {
        let last = self
            .attempts
            .last()
            .filter(|last| last.failure.is_none() && self.commit.is_some())?;
        Some(last.proof.as_ref().map_or(Strength::Nothing, |proof| {
            proof.strength.of(proof.passed, proof.failed)
        }))
    }
}

impl AttemptSummary {
    /// Returns what the gates said of its work, reviews without a verdict first.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &GateResult> {
        self.unreviewed
            .iter()
            .chain(self.proof.iter().flat_map(|proof| &proof.gates))
    }
}

/// Says of how much of the work what is known; `None` where no work holds.
pub(crate) fn strengths(summary: &Summary) -> Option<String> {
    let count = |wanted: Strength| {
        summary
            .tasks
            .iter()
            .filter(|task| task.strength() == Some(wanted))
            .count()
    };
    let parts: Vec<String> = [
        Strength::PerTest,
        Strength::ExitStatusOnly,
        Strength::Nothing,
    ]
    .into_iter()
    .map(|strength| (strength, count(strength)))
    .filter(|(_, count)| *count > 0)
    .map(|(strength, count)| format!("{count} {}", strength.as_str()))
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns what was seen of the base, a line each.
pub(crate) fn base_lines(summary: &Summary) -> Vec<String> {
    summary
        .preflight
        .as_ref()
        .map(tm_scheduler::preflight::Preflight::lines)
        .unwrap_or_default()
}

/// Tells whether the tests could prove nothing.
pub(crate) fn nothing_is_proven(summary: &Summary) -> bool {
    summary
        .preflight
        .as_ref()
        .is_some_and(tm_scheduler::preflight::Preflight::nothing_is_proven)
}
