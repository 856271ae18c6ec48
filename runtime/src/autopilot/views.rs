//! How far a run is, as answers show it.

use super::answers::{ProgressView, TestResultsView};
use super::state::{LastResults, Phase, RunState};
use tm_scheduler::autopilot::Progress;

/// Returns how far a run is.
pub(super) fn progress(state: &RunState) -> ProgressView {
    let (completed, remaining) = (state.completed(), state.pending());
    let total = state.machine.items().len();
    let percentage = (completed.len() * 100).checked_div(total).unwrap_or(100);
    ProgressView {
        completed,
        current: state.current(),
        remaining,
        total,
        percentage,
    }
}

/// Returns the ids of all subtasks in their order.
pub(super) fn all_subtasks(state: &RunState) -> Vec<String> {
    state
        .machine
        .items()
        .iter()
        .map(|item| item.id.to_string())
        .collect()
}

/// Returns the first digits of the commit of a subtask.
pub(super) fn commit_of(progress: &Progress) -> Option<String> {
    match progress {
        Progress::Committed(commit) => Some(commit.to_string()),
        Progress::Open | Progress::Skipped => None,
    }
}

pub(super) fn last_results(state: &RunState) -> Option<TestResultsView> {
    state.last_test_results.map(results_view)
}

pub(super) fn results_view(results: LastResults) -> TestResultsView {
    let LastResults {
        counts,
        coverage,
        phase,
    } = results;
    TestResultsView {
        total: counts.total,
        passed: counts.passed,
        failed: counts.failed,
        skipped: counts.skipped,
        coverage,
        phase: match phase {
            Phase::Red => "RED",
            Phase::Green => "GREEN",
            Phase::Finalize => "FINALIZE",
        }
        .to_owned(),
    }
}
