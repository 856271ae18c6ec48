//! The work of a run branch after branch, and what a person decides about it.

mod branch;
mod decide;
mod doubted;

pub use branch::{ReviewedRun, TaskBranch};
pub use decide::Tests;
pub(crate) use doubted::Doubted;
pub use doubted::DoubtedWork;

use crate::error::Error;
use std::collections::BTreeSet;

impl ReviewedRun {
    /// Returns the branches of these tasks, all before anything is decided about one.
    ///
    /// # Errors
    /// There is no such task, or none of its work is proven.
    pub fn named(&self, tasks: &[String]) -> Result<Vec<TaskBranch>, Error> {
        tasks.iter().map(|task| self.branch_of(task)).collect()
    }

    /// Approves work; returns what this decides.
    ///
    /// # Errors
    /// The decision can't be kept.
    pub fn approve(&self, branches: &[TaskBranch]) -> Result<Vec<TaskBranch>, Error> {
        without_twins(
            branches
                .iter()
                .map(|branch| decide::approve(self, branch))
                .collect(),
        )
    }

    /// Rejects work: with a pair both halves, since both are to be done again, unless its tests are kept. Returns what
    /// this decides.
    ///
    /// # Errors
    /// There is no reason, a run is live, or the decision can't be kept.
    pub fn reject(
        &self,
        branches: &[TaskBranch],
        reason: &str,
        tests: Tests,
    ) -> Result<Vec<TaskBranch>, Error> {
        without_twins(
            branches
                .iter()
                .map(|branch| decide::reject(self, branch, reason, tests))
                .collect(),
        )
    }
}

/// Both halves of a pair may have been named.
fn without_twins(decided: Result<Vec<Vec<TaskBranch>>, Error>) -> Result<Vec<TaskBranch>, Error> {
    let mut branches = decided?.concat();
    let mut seen = BTreeSet::new();
    branches.retain(|branch| seen.insert(branch.task.id.clone()));
    Ok(branches)
}
