//! Shows again, from a history alone, what a run proved: trees and trailers, no journal, no folder of a run, no agent.
//!
//! What it says of a commit is what tests in a judge's checkout say of its tree, so it holds for whoever made the commit.
//! The tasks whose tests are run are chosen so that whoever asks twice is told the same.

use crate::{StepError, TestResultCache, briefly};
use itertools::Itertools as _;
use judge::Judge;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use structure::{PastMerge, Sorted, TaskWork, item, sorted};
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::Rules;
use tm_scheduler::{Audit, AuditItem, AuditKind, AuditOutcome, AuditSample, CommitId};
use tm_worktrees::{Error, ObjectCheck};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

mod journal;
mod judge;
mod statuses;
mod structure;

pub use journal::{Doubt, Landings, doubts, doubts_of_looks, landed_since, proven_tips};
pub use statuses::STATUSES_PHASE;

/// Which tests of a history are run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AuditTests {
    /// Those of every task.
    All,
    /// Those of so many tasks, which follow from the newest commit.
    Sample(usize),
    /// None: only where each commit stands is looked at.
    None,
}

/// What an audit is to look at, and how.
#[derive(Clone, Debug)]
pub struct AuditOrder {
    /// Where it begins; what this commit has is not looked at.
    pub from: CommitId,
    /// Where it ends.
    pub to: CommitId,
    /// All of the project's test commands.
    pub command: Option<TestCommand>,
    /// How strictly work is judged.
    pub rules: Rules,
    /// Which tests are run.
    pub tests: AuditTests,
    /// So many tasks are judged at the same time.
    pub parallel: usize,
    /// Where logs and results go.
    pub scratch: PathBuf,
}

/// Audits a history: every commit, and the whole.
///
/// # Errors
/// git or the disk refused; nothing is known then.
pub async fn audit(
    order: &AuditOrder,
    result_cache: &Arc<TestResultCache>,
) -> Result<Audit, StepError> {
    let judge = Judge::of(order, result_cache);
    if let Some(foreign) = briefly(|| judge.foreign_objects())? {
        return Ok(judge.audit(vec![foreign], None));
    }
    let (sorted, sample) = judge.looked_at(std::slice::from_ref(&order.to))?;
    let mut items = judge.judged_all(&sorted, &sample).await?;
    if !items.is_empty() && order.tests != AuditTests::None {
        items.push(judge.all_of_it().await?);
    }
    let sample = matches!(order.tests, AuditTests::Sample(_)).then_some(sample.size);
    Ok(judge.audit(items, sample))
}

impl Judge {
    fn of(order: &AuditOrder, result_cache: &Arc<TestResultCache>) -> Self {
        Self {
            order: order.clone(),
            result_cache: Arc::clone(result_cache),
        }
    }

    /// What is found where the history has objects that are not what their names say: git itself believes those here, and
    /// refuses them to whoever clones it, so that nothing that is seen here is shown by that.
    fn foreign_objects(&self) -> Result<Option<AuditItem>, StepError> {
        let AuditOrder { from, to, .. } = &self.order;
        let repository = self.result_cache.repository();
        match repository.check_new_objects(to, from, ObjectCheck::Names) {
            Ok(()) => Ok(None),
            Err(error @ Error::ObjectsNotAsNamed(_)) => Ok(Some(AuditItem {
                outcome: AuditOutcome::NotShown,
                what: format!("nobody can {error}"),
                ..self.whole_item()
            })),
            Err(error) => Err(error.into()),
        }
    }

    fn audit(&self, items: Vec<AuditItem>, sample: Option<AuditSample>) -> Audit {
        Audit {
            from: self.order.from.clone(),
            to: self.order.to.clone(),
            test_command: self.order.command.as_ref().map(ToString::to_string),
            sample,
            items,
        }
    }

    /// Sorts what the tips hold, and chooses whose tests are run.
    fn looked_at(&self, tips: &[CommitId]) -> Result<(Vec<Sorted>, Sample), StepError> {
        let order = &self.order;
        let sorted = briefly(|| sorted(self.result_cache.repository(), &order.from, tips))?;
        let sample = Sample::of(&sorted, order.tests, &order.to);
        Ok((sorted, sample))
    }

    /// Judges what was sorted: tasks at the same time, then merges, since many of their trees are known by then.
    async fn judged_all(
        &self,
        sorted: &[Sorted],
        sample: &Sample,
    ) -> Result<Vec<AuditItem>, StepError> {
        let mut items = BTreeMap::new();
        let (mut tasks, mut merges) = (Vec::new(), Vec::new());
        for (position, one) in sorted.iter().enumerate() {
            match one {
                Sorted::Finding(finding) => drop(items.insert(position, finding.as_ref().clone())),
                Sorted::Task(work) if sample.holds(&work.commit.id) => {
                    let (judge, work) = (self.clone(), work.clone());
                    tasks.push((position, async move { judge.task(&work).await }));
                }
                Sorted::Merge(merge) if sample.asks_of(merge) => {
                    let (judge, merge) = (self.clone(), merge.clone());
                    merges.push((position, async move { judge.merge(&merge).await }));
                }
                Sorted::Task(work) => {
                    items.insert(position, item(&work.commit, &work.claims, work.kind));
                }
                Sorted::Merge(merge) => {
                    items.insert(position, item(&merge.commit, &merge.claims, merge.kind()));
                }
            }
        }
        items.extend(self.side_by_side(tasks).await?);
        items.extend(self.side_by_side(merges).await?);
        Ok(items.into_values().collect())
    }

    /// Judges as many at the same time as was asked for.
    async fn side_by_side(
        &self,
        asked: Vec<(usize, impl Future<Output = AuditItem> + Send + 'static)>,
    ) -> Result<Vec<(usize, AuditItem)>, StepError> {
        let slots = Arc::new(Semaphore::new(self.order.parallel.max(1)));
        let mut under_way = JoinSet::new();
        for (position, judged) in asked {
            let slots = Arc::clone(&slots);
            under_way.spawn(async move {
                let _slot = slots.acquire_owned().await;
                (position, judged.await)
            });
        }
        let mut items = Vec::new();
        while let Some(done) = under_way.join_next().await {
            items.push(done.map_err(|error| StepError::of_task(error.to_string()))?);
        }
        Ok(items)
    }

    /// Where the history leads to, against where it left what it began with.
    async fn all_of_it(&self) -> Result<AuditItem, StepError> {
        let (order, repository) = (&self.order, self.result_cache.repository());
        let base = briefly(|| repository.merge_base(&order.from, &order.to))?;
        let whole = self.whole_item();
        match base {
            Some(base) => Ok(self.whole(&base, whole).await),
            None => Ok(AuditItem {
                outcome: AuditOutcome::NotShown,
                what: "it has no commit in common with where it is said to begin".to_owned(),
                ..whole
            }),
        }
    }

    fn whole_item(&self) -> AuditItem {
        AuditItem {
            kind: AuditKind::Whole,
            commit: self.order.to.clone(),
            task: None,
            run: None,
            subject: "all of it together".to_owned(),
            outcome: AuditOutcome::NotTested,
            what: String::new(),
            evidence: String::new(),
            test_command: None,
            proof: None,
        }
    }
}

/// The commits whose tests are run.
#[derive(Debug)]
pub(super) struct Sample {
    chosen: BTreeSet<CommitId>,
    size: AuditSample,
    tests: AuditTests,
}

impl Sample {
    /// Chooses by a digest of each task's commit and the newest one; a pair, and what improved it, is one task.
    fn of(sorted: &[Sorted], tests: AuditTests, newest: &CommitId) -> Self {
        let tasks = tasks(sorted);
        let of = tasks.len();
        let taken = match tests {
            AuditTests::All => of,
            AuditTests::Sample(most) => most.min(of),
            AuditTests::None => 0,
        };
        let digest = |first: &CommitId| Sha256::digest(format!("{newest} {first}")).to_vec();
        let order = tasks
            .into_iter()
            .sorted_by_cached_key(|(first, _)| digest(first));
        Self {
            chosen: order.take(taken).flat_map(|(_, commits)| commits).collect(),
            size: AuditSample { taken, of },
            tests,
        }
    }

    pub(super) fn holds(&self, commit: &CommitId) -> bool {
        self.chosen.contains(commit)
    }

    /// Whether the tests of a merge are run: where all are, or where one of those that it merges is chosen.
    fn asks_of(&self, merge: &PastMerge) -> bool {
        let mut parents = merge.commit.parents.iter();
        self.tests == AuditTests::All || parents.any(|parent| self.holds(parent))
    }
}

/// The commits of each task, under the first one that stands for itself.
fn tasks(sorted: &[Sorted]) -> BTreeMap<CommitId, Vec<CommitId>> {
    let works = || sorted.iter().filter_map(Sorted::task);
    let green_of: BTreeMap<&CommitId, &CommitId> = works()
        .filter_map(|work| Some((work.red.as_ref()?, &work.commit.id)))
        .collect();
    let stands_for = |work: &TaskWork| match work.kind {
        AuditKind::Red => {
            let green = green_of.get(&work.commit.id).copied();
            green.unwrap_or(&work.commit.id).clone()
        }
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
        let commits = tasks.entry(stands_for(work)).or_default();
        commits.push(work.commit.id.clone());
    }
    tasks
}
