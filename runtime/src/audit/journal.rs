//! Compares what a journal says has landed, or was proven, with git, and shows it again.
//!
//! A journal lies in a folder that others can write while tm is gone. What it says is believed for where a run stands,
//! and never for what is on a branch.

use super::judge::Judge;
use super::statuses::other_than_statuses;
use super::structure::TaskWork;
use super::{AuditOrder, AuditTests};
use crate::trailers::Claims;
use crate::{StepError, TestResultCache, briefly};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tm_scheduler::{
    AttemptRecord, AuditItem, AuditKind, BranchName, CommitId, Phase, Place, Scheduler, State,
    TaskId, TaskView,
};
use tm_worktrees::{Author, Error, PastCommit, Repository, TreeId};

/// Something that a journal says and git does not.
#[derive(Debug)]
pub struct Doubt {
    /// The task; `None` for a commit that no task of the run landed by.
    pub task: Option<TaskId>,
    /// The commit.
    pub commit: CommitId,
    /// What is wrong.
    pub why: String,
}

/// By what work came onto the branch of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Landings {
    /// Merges of tm's.
    Merges,
    /// The commits themselves, which were made there.
    Commits,
}

impl Doubt {
    /// What is wrong with the merge by which a task landed.
    fn of(view: &TaskView<'_>, merge: &CommitId, why: impl Into<String>) -> Self {
        Self {
            task: Some(view.placed.task.id.clone()),
            commit: merge.clone(),
            why: why.into(),
        }
    }
}

/// Returns what a journal says of landed work and git does not; runs no test.
///
/// The merge of each landed task is on the chain of first parents from what the run began with, its tree is what its
/// parents give, what it brought is the task's commit, and that has the tree that was proven; and there is no other
/// commit on that chain.
///
/// # Errors
/// A commit is not there any more, or git refused.
pub fn doubts(
    repository: &Repository,
    base: &CommitId,
    run: &Scheduler,
) -> Result<Vec<Doubt>, Error> {
    let merges = merges(run);
    if merges.is_empty() {
        return Ok(Vec::new());
    }
    let newest = repository.newest(base, &merges)?;
    let commits = repository.history(base, std::slice::from_ref(&newest))?;
    let by_id: BTreeMap<&CommitId, &PastCommit> =
        commits.iter().map(|commit| (&commit.id, commit)).collect();
    let mut doubts = Vec::new();
    let mut chain = BTreeMap::new();
    let mut next = newest;
    while next != *base {
        let doubt = |why: &str| Doubt {
            task: None,
            commit: next.clone(),
            why: why.to_owned(),
        };
        let Some(&commit) = by_id.get(&next) else {
            doubts.push(doubt(
                "the chain of landings does not lead back to what the run began with",
            ));
            break;
        };
        if !merges.contains(&next) {
            doubts.push(doubt(
                "it is on the integration branch, and no task of the run landed by it",
            ));
        }
        let Some(before) = commit.parents.first() else {
            break;
        };
        next = before.clone();
        chain.insert(&commit.id, commit);
    }
    for (view, commit, merge) in landed(run) {
        let why = match chain.get(merge) {
            None => Some("its merge is not on the integration branch".to_owned()),
            Some(past) => wrong_landing(repository, &view, commit, past)?,
        };
        doubts.extend(why.map(|why| Doubt::of(&view, merge, why)));
    }
    Ok(doubts)
}

/// As [`doubts`], for whoever only looks: what git can't tell of is in doubt as well, and so is what has landed by a
/// commit that is not on the run's integration branch, where that is still there.
pub fn doubts_of_looks(
    repository: &Repository,
    base: &CommitId,
    branch: &str,
    run: &Scheduler,
    landings: Landings,
) -> Vec<Doubt> {
    let merges = merges(run);
    if merges.is_empty() {
        return Vec::new();
    }
    let of = |is_meant: &dyn Fn(&CommitId) -> bool, why: &str| -> Vec<Doubt> {
        landed(run)
            .filter(|(_, _, merge)| is_meant(merge))
            .map(|(view, _, merge)| Doubt::of(&view, merge, why))
            .collect()
    };
    let gone = (repository.missing(&merges)).unwrap_or_else(|_| merges.clone());
    if !gone.is_empty() {
        let is_gone = |merge: &CommitId| gone.contains(merge);
        return of(&is_gone, "its merge is not in the repository");
    }
    let found = match landings {
        Landings::Merges => doubts(repository, base, run),
        Landings::Commits => Ok(Vec::new()),
    };
    let found = found.unwrap_or_else(|error| of(&|_| true, &crate::step_error::describe(&error)));
    if !found.is_empty() {
        return found;
    }
    let branch = BranchName::new(branch).ok();
    let tip = branch.and_then(|branch| repository.branch_tip(&branch).ok().flatten());
    let is_off = |merge: &CommitId| {
        tip.as_ref()
            .is_some_and(|tip| !repository.is_ancestor(merge, tip).unwrap_or(false))
    };
    if let Ok(newest) = repository.newest(base, &merges)
        && !is_off(&newest)
    {
        // A run that was killed may have landed what its journal does not tell yet.
        let Some(tip) = tip.filter(|_| run.ended().is_some()) else {
            return found;
        };
        return added(repository, &newest, tip)
            .unwrap_or_else(|error| of(&|_| true, &crate::step_error::describe(&error)));
    }
    of(
        &is_off,
        "its merge is not on the integration branch any more",
    )
}

/// What somebody else put on the integration branch since the last landing: it was proven by nobody, and would be passed
/// on with the rest. Commits that set statuses are tm's, and do nothing else.
fn added(repository: &Repository, newest: &CommitId, tip: CommitId) -> Result<Vec<Doubt>, Error> {
    let mut doubts = Vec::new();
    for commit in repository.history(newest, &[tip])? {
        let sets_statuses = match commit.parents.as_slice() {
            [base] => other_than_statuses(repository, &commit, base)?.is_none(),
            _ => false,
        };
        if !sets_statuses {
            doubts.push(Doubt {
                task: None,
                commit: commit.id,
                why: "it was put on the integration branch after the last landing, and nobody has proven it"
                    .to_owned(),
            });
        }
    }
    Ok(doubts)
}

fn landed(run: &Scheduler) -> impl Iterator<Item = (TaskView<'_>, &CommitId, &CommitId)> {
    run.tasks().filter_map(|view| match view.state {
        State::Landed { commit, merge } => Some((view, commit, merge)),
        _ => None,
    })
}

fn merges(run: &Scheduler) -> Vec<CommitId> {
    landed(run).map(|(_, _, merge)| merge.clone()).collect()
}

fn wrong_landing(
    repository: &Repository,
    view: &TaskView<'_>,
    commit: &CommitId,
    merge: &PastCommit,
) -> Result<Option<String>, Error> {
    let [head, brought] = merge.parents.as_slice() else {
        return Ok(Some("it is no merge of two".to_owned()));
    };
    let is_with_green = view.placed.task.phase == Phase::Red
        && repository.is_ancestor(commit, brought)?
        && !repository.is_ancestor(commit, head)?;
    if brought != commit && !is_with_green {
        return Ok(Some(format!(
            "what it brought is `{brought}`, and not the task's commit `{commit}`"
        )));
    }
    if let Some(tree) = proven_tree(view)
        && repository.tree_of(commit)? != tree
    {
        return Ok(Some(format!(
            "the tree of `{commit}` is not the one that was proven, `{tree}`"
        )));
    }
    let claims = Claims::of(&merge.trailers).unwrap_or_default();
    let merged = repository.merged_tree(head, brought, &merge.tree, claims.resolution)?;
    let why = "its tree is not what its parents give";
    Ok((!merged.is_what_parents_give()).then(|| why.to_owned()))
}

/// The tree that the journal says was proven last; `None` where it says none.
fn proven_tree(view: &TaskView<'_>) -> Option<TreeId> {
    let proof = view.attempts.last()?.proof_of_commit()?;
    proof.tree.clone().map(TreeId::new)
}

/// Returns the commits that hold all that a journal says was proven: the newest landing, and work that has yet to land.
///
/// # Errors
/// A commit is not there any more.
pub fn proven_tips(
    repository: &Repository,
    base: &CommitId,
    run: &Scheduler,
) -> Result<Vec<CommitId>, Error> {
    let merges = merges(run);
    let mut tips = BTreeSet::new();
    if !merges.is_empty() {
        tips.insert(repository.newest(base, &merges)?);
    }
    tips.extend(run.tasks().filter_map(|view| match view.state {
        State::Held { commit } | State::Landing { commit } | State::Refactoring { commit } => {
            Some(commit.clone())
        }
        _ => None,
    }));
    Ok(tips.into_iter().collect())
}

/// Shows again all that a run is said to have proven, from `order.from` on: what is on the chain up to the tips, and
/// trees that were about to be committed. Returns what can't be shown; `own_commands` are those of tasks of the backlog.
///
/// # Errors
/// git or the disk refused; nothing is known then.
pub async fn landed_since(
    order: &AuditOrder,
    tips: &[CommitId],
    run: &Scheduler,
    own_commands: &BTreeMap<TaskId, String>,
    result_cache: &Arc<TestResultCache>,
) -> Result<Vec<AuditItem>, StepError> {
    let judge = Judge::of(order, result_cache);
    let mut items = Vec::new();
    if !tips.is_empty() {
        let (sorted, sample) = judge.looked_at(tips)?;
        items = judge.judged_all(&sorted, &sample).await?;
    }
    if order.tests != AuditTests::None {
        let is_committing = |view: &TaskView<'_>| matches!(view.state, State::Committing);
        for view in run.tasks().filter(is_committing) {
            items.extend(uncommitted(&judge, &view, run, own_commands).await?);
        }
    }
    items.retain(|item| !item.outcome.holds());
    Ok(items)
}

/// Judges a tree that was proven, and that nobody has committed yet.
async fn uncommitted(
    judge: &Judge,
    view: &TaskView<'_>,
    run: &Scheduler,
    own_commands: &BTreeMap<TaskId, String>,
) -> Result<Option<AuditItem>, StepError> {
    let task = &view.placed.task;
    let place = view.attempts.last().and_then(AttemptRecord::place);
    let (Some(Place { base, .. }), Some(tree)) = (place, proven_tree(view)) else {
        return Ok(None);
    };
    let base = base.clone();
    let red = task.pair.as_ref().filter(|_| task.phase == Phase::Green);
    let red = red.and_then(|red| run.task(red)?.state.commit().cloned());
    let id = briefly(|| judge.result_cache.repository().commit_to_test(&tree, &base))?;
    let commit = PastCommit {
        id,
        parents: vec![base.clone()],
        tree,
        subject: task.title.to_string(),
        author: Author::default(),
        trailers: Vec::new(),
        message: String::new(),
    };
    let own_command = own_commands.get(&task.backlog_id);
    let claims = Claims {
        task: Some(task.id.clone()),
        test_commands: own_command.into_iter().cloned().collect(),
        ..Claims::default()
    };
    let kind = match task.phase {
        Phase::Red => AuditKind::Red,
        Phase::Green => AuditKind::Green,
        Phase::None => AuditKind::Work,
    };
    let work = TaskWork {
        commit,
        claims,
        kind,
        base,
        red,
    };
    Ok(Some(judge.task(&work).await))
}
