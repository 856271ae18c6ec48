//! Work that landed and whose commits are not in the repository any more: somebody deleted the integration branch, and
//! git collected what nothing held then. Nothing can be built on that, so the run is not gone on with.

use super::interrupted::landed;
use crate::failure::CommandFailure;
use tm_runtime::Replayed;
use tm_scheduler::{CommitId, Scheduler};
use tm_worktrees::{BranchName, Repository};

/// Returns the newest of the merges that is not in the repository any more.
pub(crate) fn gone(repository: &Repository, landed: &[CommitId]) -> Result<Option<CommitId>, CommandFailure> {
    Ok(repository.missing(landed)?.pop())
}

/// Refuses to go on where landed work is gone, and says how to go on from what is left.
pub(crate) fn refuse_lost_landings(repository: &Repository, replayed: &Replayed) -> Result<(), CommandFailure> {
    let landed = landed(&replayed.scheduler);
    let Some(gone) = gone(repository, &landed)? else { return Ok(()) };
    let branch = &replayed.header.integration_branch;
    let kept = branches_with_work(repository, &replayed.scheduler)?;
    let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
    let still = match names.as_slice() {
        [] => "no branch of a task holds proven work any more".to_owned(),
        names => format!("the proven work is still on {}", quoted(names)),
    };
    let failure = CommandFailure::new(format!(
        "go on with the integration branch `{branch}`: the commit `{gone}`, where work of this run landed, is not in \
         the repository any more; {still}"
    ));
    Err(failure.hint(hint(repository, branch, &kept, &replayed.scheduler)?))
}

/// The branches of tasks that hold proven work, in the order in which they were proven.
fn branches_with_work(
    repository: &Repository,
    scheduler: &Scheduler,
) -> Result<Vec<(BranchName, CommitId)>, CommandFailure> {
    let mut found = Vec::new();
    for view in scheduler.tasks() {
        let Some(record) = view.attempts.last() else { continue };
        let (Some(place), Some(commit)) = (&record.place, &record.commit) else { continue };
        let branch = BranchName::new(place.branch.clone())?;
        if let Some(tip) = repository.branch_tip(&branch)?
            && repository.is_ancestor(commit, &tip)?
        {
            found.push((record.ended_at, branch, tip));
        }
    }
    found.sort_by_key(|(ended_at, ..)| *ended_at);
    Ok(found.into_iter().map(|(_, branch, tip)| (branch, tip)).collect())
}

/// The next command: the integration branch made again from one branch that has everything, else all of them merged.
fn hint(
    repository: &Repository,
    integration: &str,
    kept: &[(BranchName, CommitId)],
    scheduler: &Scheduler,
) -> Result<String, CommandFailure> {
    let mut needed: Vec<&(BranchName, CommitId)> = Vec::new();
    for candidate in kept.iter().rev() {
        let mut is_in_another = false;
        for (_, tip) in &needed {
            is_in_another = is_in_another || repository.is_ancestor(&candidate.1, tip)?;
        }
        if !is_in_another {
            needed.push(candidate);
        }
    }
    let needed: Vec<&str> = needed.iter().rev().map(|(branch, _)| branch.as_str()).collect();
    let then = "then `tm waves run --on-interrupted fresh` does what is left";
    Ok(match needed.as_slice() {
        [] => {
            let tasks = scheduler.tasks().filter(|view| view.state.commit().is_some());
            let mut ids: Vec<String> = tasks.map(|view| view.placed.task.backlog_id.to_string()).collect();
            ids.sort();
            ids.dedup();
            format!("`tm set-status --id={} --status=pending`, {then}", ids.join(","))
        }
        [only] => format!("`git branch --force {integration} {only}`, {then} on top of it"),
        several => format!("`git merge {}` brings them together where you are, {then}", several.join(" ")),
    })
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
