//! Chooses the tasks whose tests are run, so that whoever asks twice is told the same.

use super::AuditTests;
use super::structure::{Sorted, TaskWork};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{AuditKind, AuditSample, CommitId};

/// The commits whose tests are run.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    chosen: BTreeSet<CommitId>,
    size: AuditSample,
    tests: AuditTests,
}

impl Sample {
    /// Chooses by a digest of each task's commit and the newest one; a pair, and what improved it, is one task.
    pub(super) fn of(sorted: &[Sorted], tests: AuditTests, newest: &CommitId) -> Self {
        let tasks = tasks(sorted);
        let mut order: Vec<(Vec<u8>, &Vec<CommitId>)> = tasks
            .iter()
            .map(|(first, commits)| {
                (
                    Sha256::digest(format!("{newest} {first}")).to_vec(),
                    commits,
                )
            })
            .collect();
        order.sort();
        let most = match tests {
            AuditTests::All => order.len(),
            AuditTests::Sample(most) => most.min(order.len()),
            AuditTests::None => 0,
        };
        let chosen = order
            .iter()
            .take(most)
            .flat_map(|(_, commits)| commits.iter().cloned())
            .collect();
        Self {
            chosen,
            size: AuditSample {
                taken: most,
                of: order.len(),
            },
            tests,
        }
    }

    pub(super) fn holds(&self, commit: &CommitId) -> bool {
        self.chosen.contains(commit)
    }

    pub(super) fn is_all(&self) -> bool {
        self.tests == AuditTests::All
    }

    pub(super) fn is_none(&self) -> bool {
        self.tests == AuditTests::None
    }

    pub(super) const fn size(&self) -> AuditSample {
        self.size
    }
}

/// The commits of each task, under the first one that stands for itself.
fn tasks(sorted: &[Sorted]) -> BTreeMap<CommitId, Vec<CommitId>> {
    let works = || {
        sorted.iter().filter_map(|one| match one {
            Sorted::Task(work) => Some(work),
            Sorted::Merge(_) | Sorted::Finding(_) => None,
        })
    };
    let green_of: BTreeMap<&CommitId, &CommitId> = works()
        .filter_map(|work| Some((work.red.as_ref()?, &work.commit.id)))
        .collect();
    let stands_for = |work: &TaskWork| match work.kind {
        AuditKind::Red => green_of
            .get(&work.commit.id)
            .map_or_else(|| work.commit.id.clone(), |&green| green.clone()),
        AuditKind::Refactor => work.base.clone(),
        AuditKind::Green
        | AuditKind::Work
        | AuditKind::History
        | AuditKind::Landing
        | AuditKind::Merge
        | AuditKind::TakenBack
        | AuditKind::Statuses
        | AuditKind::Uncovered
        | AuditKind::Whole => work.commit.id.clone(),
    };
    let mut tasks: BTreeMap<CommitId, Vec<CommitId>> = BTreeMap::new();
    for work in works() {
        tasks
            .entry(stands_for(work))
            .or_default()
            .push(work.commit.id.clone());
    }
    tasks
}
