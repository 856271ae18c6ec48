//! Shows again, from a history alone, what a run proved: trees and trailers, no journal, no folder of a run, no agent.
//!
//! What it says of a commit is what tests in a judge's checkout say of its tree, so it holds for whoever made the commit.

mod journal;
mod judge;
mod sample;
mod statuses;
mod structure;
mod trailers;
mod words;

pub use journal::{Doubt, doubts, doubts_of_looks, landed_since, proven_tips};
pub use statuses::{STATUSES_PHASE, is_same_but_for_statuses};
pub(crate) use trailers::{MADE_IN, TEST_COMMAND, as_value};

use crate::proving::TestResultCache;
use crate::step_error::{StepError, blocking};
use judge::Judge;
use sample::Sample;
use std::path::PathBuf;
use std::sync::Arc;
use structure::{Sorted, item, sorted};
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::Rules;
use tm_scheduler::{Audit, AuditItem, AuditKind, AuditOutcome, CommitId};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

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
    let tips = [order.to.clone()];
    let (sorted, sample) = looked_at(order, &tips, result_cache).await?;
    let mut items = judged(order, &sorted, &sample, result_cache).await?;
    if !items.is_empty() && order.tests != AuditTests::None {
        items.push(whole(order, result_cache).await?);
    }
    let sample = matches!(order.tests, AuditTests::Sample(_)).then_some(sample.size());
    let test_command = order.command.as_ref().map(ToString::to_string);
    Ok(Audit {
        from: order.from.clone(),
        to: order.to.clone(),
        test_command,
        sample,
        items,
    })
}

async fn looked_at(
    order: &AuditOrder,
    tips: &[CommitId],
    result_cache: &TestResultCache,
) -> Result<(Vec<Sorted>, Sample), StepError> {
    let (repository, from, tips) = (
        result_cache.repository().clone(),
        order.from.clone(),
        tips.to_vec(),
    );
    let sorted = blocking(move || sorted(&repository, &from, &tips)).await?;
    let sample = Sample::of(&sorted, order.tests, &order.to);
    Ok((sorted, sample))
}

/// Judges what was sorted: tasks at the same time, then merges one after the other, since most trees are known by then.
async fn judged(
    order: &AuditOrder,
    sorted: &[Sorted],
    sample: &Sample,
    result_cache: &Arc<TestResultCache>,
) -> Result<Vec<AuditItem>, StepError> {
    let judge = judge(order, result_cache);
    let mut items: Vec<Option<AuditItem>> = sorted.iter().map(|_| None).collect();
    let (slots, mut under_way) = (
        Arc::new(Semaphore::new(order.parallel.max(1))),
        JoinSet::new(),
    );
    for (position, one) in sorted.iter().enumerate() {
        match one {
            Sorted::Finding(finding) => items[position] = Some(finding.as_ref().clone()),
            Sorted::Task(work) if sample.holds(&work.commit.id) => {
                let (judge, work, slots) = (judge.clone(), work.clone(), Arc::clone(&slots));
                under_way.spawn(async move {
                    let _slot = slots.acquire_owned().await;
                    (position, judge.task(&work).await)
                });
            }
            Sorted::Task(work) => {
                items[position] = Some(item(&work.commit, &work.claims, work.kind));
            }
            Sorted::Merge(_) => {}
        }
    }
    while let Some(done) = under_way.join_next().await {
        let (position, item) = done.map_err(|error| StepError::of_task(error.to_string()))?;
        items[position] = Some(item);
    }
    for (position, one) in sorted.iter().enumerate() {
        if let Sorted::Merge(merge) = one {
            let is_asked = merge
                .commit
                .parents
                .iter()
                .any(|parent| sample.holds(parent))
                || sample.is_all();
            items[position] = Some(if is_asked && !sample.is_none() {
                judge.merge(merge).await
            } else {
                let kind = if merge.claims.task.is_some() {
                    AuditKind::Landing
                } else {
                    AuditKind::Merge
                };
                item(&merge.commit, &merge.claims, kind)
            });
        }
    }
    Ok(items.into_iter().flatten().collect())
}

fn judge(order: &AuditOrder, result_cache: &Arc<TestResultCache>) -> Judge {
    Judge {
        result_cache: Arc::clone(result_cache),
        command: order.command.clone(),
        rules: order.rules,
        scratch: order.scratch.clone(),
    }
}

/// Where the history leads to, against where it left what it began with.
async fn whole(
    order: &AuditOrder,
    result_cache: &Arc<TestResultCache>,
) -> Result<AuditItem, StepError> {
    let (repository, from, to) = (
        result_cache.repository().clone(),
        order.from.clone(),
        order.to.clone(),
    );
    let base = blocking(move || repository.merge_base(&from, &to)).await?;
    let whole = AuditItem {
        kind: AuditKind::Whole,
        commit: order.to.clone(),
        task: None,
        run: None,
        subject: "all of it together".to_owned(),
        outcome: AuditOutcome::NotTested,
        what: String::new(),
        evidence: String::new(),
        test_command: None,
        proof: None,
    };
    match base {
        Some(base) => Ok(judge(order, result_cache).whole(&base, whole).await),
        None => Ok(AuditItem {
            outcome: AuditOutcome::NotShown,
            what: "it has no commit in common with where it is said to begin".to_owned(),
            ..whole
        }),
    }
}
