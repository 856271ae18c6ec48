//! What becomes of a decision: it is kept, a rejected task is open again, and whoever does it next is told why.

use super::branch::{ReviewedRun, TaskBranch};
use crate::error::Error;
use crate::holding::{Waiting, lock};
use crate::notice::Notice;
use crate::starting::start_commit;
use std::collections::BTreeSet;
use tm_runtime::now;
use tm_runtime::standing::{Ledger, Rejected, RejectedCommit, standing};
use tm_scheduler::{Phase, RunStatus, Status, TaskId, Work};
use tm_store::backlog::{BacklogSource, RollUp, StatusChange, stamp};
use tm_store::run::{Decision, Rejection, Review};

/// Approves the work of a task; returns the tasks that this decides.
pub(super) fn approve(run: &ReviewedRun, branch: &TaskBranch) -> Result<Vec<TaskBranch>, Error> {
    if branch.is_rejected() {
        take_back(run, branch)?;
    }
    let decided = if branch.is_rejected() || branch.task.phase == Phase::Green {
        both_halves(run, branch)?
    } else {
        vec![branch.clone()]
    };
    decide(run, decided, &Decision::Approved)
}

/// What becomes of the tests of a pair whose implementation is rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tests {
    /// They are done again too, unless somebody approved them.
    AsReviewed,
    /// They stay as they are.
    Kept,
    /// They are done again too.
    Again,
}

/// Rejects the work of a task: with a pair both halves, since both are to be done again, unless its tests are kept.
/// Returns what this decides.
pub(super) fn reject(
    run: &ReviewedRun,
    branch: &TaskBranch,
    reason: &str,
    tests: Tests,
) -> Result<Vec<TaskBranch>, Error> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Error::NoReason);
    }
    let halves = both_halves(run, branch)?;
    let kept = kept_tests(branch, &halves, tests)?;
    let _lock = lock(&run.project, Waiting::Refuse)?;
    refuse_unfinished(run)?;
    let header = &run.replayed.header;
    let mut decided = halves.clone();
    decided.retain(|half| kept.is_none_or(|kept| kept.task.id != half.task.id));
    // What is rejected, and why, is kept before the task is open again: nobody can begin it without being told.
    rejected(run, &decided, kept, reason)?.keep(&run.project.repository)?;
    for half in &decided {
        let rejection = Rejection {
            run: header.run_id.clone(),
            task: half.id(),
            branch: half.branch.to_string(),
            commit: half.commit.clone(),
            reason: reason.to_owned(),
            at: stamp(now()),
        };
        run.project
            .directory
            .add_rejection(&header.tag, &backlog_id(run, half), rejection)?;
    }
    set_statuses(run, &halves, &Status::Pending)?;
    decide(
        run,
        decided,
        &Decision::Rejected {
            reason: reason.to_owned(),
        },
    )
}

/// The branch with the tests that stay, where they do.
fn kept_tests<'b>(
    branch: &TaskBranch,
    halves: &'b [TaskBranch],
    tests: Tests,
) -> Result<Option<&'b TaskBranch>, Error> {
    let red = halves.iter().find(|half| half.task.phase == Phase::Red);
    let red = red.filter(|_| branch.task.phase == Phase::Green);
    let is_approved = |red: &&TaskBranch| {
        let review = red.review.as_ref();
        review.is_some_and(|review| review.decision == Decision::Approved)
    };
    match tests {
        Tests::Again => Ok(None),
        Tests::AsReviewed => Ok(red.filter(is_approved)),
        Tests::Kept if red.is_some() => Ok(red),
        Tests::Kept => {
            let why = if branch.task.phase == Phase::Red {
                "they are what is rejected"
            } else {
                "it is no pair"
            };
            Err(Error::TestsNotKept {
                task: branch.task.id.clone(),
                why,
            })
        }
    }
}

/// The rejection as the repository keeps it.
fn rejected(
    run: &ReviewedRun,
    decided: &[TaskBranch],
    kept: Option<&TaskBranch>,
    reason: &str,
) -> Result<Rejected, Error> {
    // The newest first: what was done on top of the tests, then the tests.
    let mut newest_first: Vec<&TaskBranch> = decided.iter().collect();
    newest_first.sort_by_key(|half| half.task.phase == Phase::Red);
    let named_by = *newest_first.first().ok_or(Error::NothingToReject)?;
    let mut rejects = Vec::new();
    for half in newest_first {
        rejects.extend(commits(run, half)?);
    }
    let keeps = kept.map(|red| RejectedCommit {
        commit: red.commit.clone(),
        task: red.id(),
    });
    Ok(Rejected {
        reference: String::new(),
        record: named_by.commit.clone(),
        task: backlog_id(run, named_by),
        title: named_by.task.title.clone(),
        tag: run.replayed.header.tag.clone(),
        run: run.replayed.header.run_id.clone(),
        rejects,
        keeps,
        reason: reason.to_owned(),
        at: stamp(now()),
    })
}

/// The commits of a branch's own work, the newest first: one, or two where the code was improved on top.
fn commits(run: &ReviewedRun, branch: &TaskBranch) -> Result<Vec<RejectedCommit>, Error> {
    let repository = &run.project.repository;
    let mut found = Vec::new();
    let mut next = Some(branch.commit.clone());
    while let Some(commit) = next {
        let trailers = repository.past(&commit)?.trailers;
        let says = |name: &str, value: &str| {
            trailers
                .iter()
                .any(|(key, found)| key == name && found.trim() == value)
        };
        let is_own =
            says("Task", &branch.task.id) && says("Run", run.replayed.header.run_id.as_str());
        if commit != branch.commit && !(is_own && trailers.iter().any(|(key, _)| key == "Phase")) {
            break;
        }
        next = repository.first_parent(&commit)?;
        found.push(RejectedCommit {
            commit,
            task: branch.id(),
        });
    }
    Ok(found)
}

/// A run that can be taken up owns the statuses of its tasks, and would not do a task again that has landed.
fn refuse_unfinished(run: &ReviewedRun) -> Result<(), Error> {
    let id = &run.replayed.header.run_id;
    let is_over = matches!(
        run.replayed.scheduler.ended(),
        Some(RunStatus::Completed | RunStatus::Failed)
    );
    if is_over || run.project.directory.live()?.as_ref() != Some(id) {
        return Ok(());
    }
    Err(Error::RunUnfinished(id.clone()))
}

/// Takes a rejection back. Work that was taken back meanwhile does not come back by that: it is done again.
fn take_back(run: &ReviewedRun, branch: &TaskBranch) -> Result<(), Error> {
    let _lock = lock(&run.project, Waiting::Refuse)?;
    let header = &run.replayed.header;
    let halves = both_halves(run, branch)?;
    let ledger = Ledger::read(&run.project.repository)?;
    for id in backlog_ids(run, &halves) {
        run.project
            .directory
            .forget_rejections(&header.tag, &id, |kept| kept.run == header.run_id)?;
        ledger.forget(&run.project.repository, &header.tag, &id, &header.run_id)?;
    }
    if !branch.task.landed {
        return Ok(());
    }
    if stands(run, branch)? {
        return set_statuses(run, &halves, &Status::Done);
    }
    run.project.tell(&Notice::StaysOpen(&branch.task.id));
    Ok(())
}

/// Whether landed work is part of what the next run would start from.
fn stands(run: &ReviewedRun, branch: &TaskBranch) -> Result<bool, Error> {
    let header = &run.replayed.header;
    // Where it is not clear where that is, nothing can have been taken back there.
    let project = run.project.for_looking();
    let Ok((start, _)) = start_commit(&project, &header.tag) else {
        return Ok(true);
    };
    let works = standing(&project.repository, &start)?;
    let is_it = |work: &Work| (&work.run, &work.task) == (&header.run_id, &branch.id());
    Ok(works.iter().any(is_it) || !project.repository.is_ancestor(&branch.commit, &start)?)
}

fn backlog_ids(run: &ReviewedRun, halves: &[TaskBranch]) -> BTreeSet<TaskId> {
    halves.iter().map(|half| backlog_id(run, half)).collect()
}

fn backlog_id(run: &ReviewedRun, branch: &TaskBranch) -> TaskId {
    let view = run.replayed.scheduler.task(&branch.id());
    view.map_or_else(|| branch.id(), |view| view.placed.task.backlog_id.clone())
}

fn set_statuses(run: &ReviewedRun, halves: &[TaskBranch], status: &Status) -> Result<(), Error> {
    let header = &run.replayed.header;
    let source = BacklogSource::at(std::path::Path::new(&header.backlog))?;
    let change = |id| StatusChange {
        id,
        status: status.clone(),
    };
    let ids = backlog_ids(run, halves).into_iter();
    let changes: Vec<StatusChange> = ids.map(change).collect();
    source.set_statuses(&header.tag, &changes, RollUp::Parents, Some(&stamp(now())))?;
    Ok(())
}

/// The task, and the other half of its pair as far as there is work of it.
fn both_halves(run: &ReviewedRun, branch: &TaskBranch) -> Result<Vec<TaskBranch>, Error> {
    let mut halves = run.branches()?;
    halves.retain(|candidate| Some(&candidate.task.id) == branch.task.pair.as_ref());
    halves.insert(0, branch.clone());
    Ok(halves)
}

fn decide(
    run: &ReviewedRun,
    branches: Vec<TaskBranch>,
    decision: &Decision,
) -> Result<Vec<TaskBranch>, Error> {
    let decided = branches.into_iter().map(|branch| {
        let review = Review {
            task: branch.id(),
            commit: branch.commit.clone(),
            at: stamp(now()),
            decision: decision.clone(),
        };
        run.directory.set_review(&review)?;
        Ok(TaskBranch {
            review: Some(review),
            ..branch
        })
    });
    decided.collect()
}
