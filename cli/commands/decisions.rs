//! What was decided about the work of a run, in words: of a pair it is said once where both halves have the same.

use super::landing::doubted;
use crate::display::{Output, print_json};
use crate::failure::Result;
use itertools::Itertools as _;
use tm_app::{DoubtedWork, TaskBranch};
use tm_scheduler::Phase;
use tm_store::run::{Decision, Review};

/// Tells what was decided, and what that means for work that was built on it.
pub(super) fn tell(output: Output, decided: &[TaskBranch], rejected: &[DoubtedWork]) -> Result {
    let reviews = decided
        .iter()
        .filter_map(|branch| branch.review.as_ref())
        .collect_vec();
    if output == Output::Json {
        return print_json(&reviews);
    }
    for review in &reviews {
        if !is_told_with_its_pair(review, decided) {
            tell_decision(review, decided);
        }
    }
    if reviews
        .iter()
        .any(|review| review.decision != Decision::Approved)
    {
        say!("`tm waves run` takes it back, does it again and tells the agent why");
        for work in rejected {
            say!("{}", doubted(work));
        }
    }
    if decided.is_empty() {
        say!("there is nothing to approve");
    }
    Ok(0)
}

fn tell_decision(Review { task, decision, .. }: &Review, decided: &[TaskBranch]) {
    match decision {
        Decision::Approved => say!("{task} is approved"),
        Decision::Rejected { .. } if keeps_tests(decided, task.as_str()) => {
            say!("{task} is rejected and pending again; its tests are kept");
        }
        Decision::Rejected { .. } => say!("{task} is rejected and pending again"),
    }
}

/// Whether it is the tests of a pair of which the same was decided: to people a pair is one task.
fn is_told_with_its_pair(review: &Review, decided: &[TaskBranch]) -> bool {
    let of = |id: &str| decided.iter().find(|branch| branch.task.id == id);
    let Some(red) = of(review.task.as_str()).filter(|branch| branch.task.phase == Phase::Red)
    else {
        return false;
    };
    let whole = red.task.pair.as_deref().and_then(of);
    let is_same = |other: &Review| {
        (other.decision == Decision::Approved) == (review.decision == Decision::Approved)
    };
    whole.is_some_and(|whole| whole.review.as_ref().is_some_and(is_same))
}

/// Whether the tests of a pair stay, of which only what makes them pass was decided on.
fn keeps_tests(decided: &[TaskBranch], task: &str) -> bool {
    let is_decided = |id: &String| decided.iter().any(|branch| branch.task.id == *id);
    let branch = decided.iter().find(|branch| branch.task.id == task);
    branch.is_some_and(|branch| {
        branch.task.phase == Phase::Green && !branch.task.pair.iter().all(is_decided)
    })
}
