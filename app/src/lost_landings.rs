//! Work that landed and whose commits are not in the repository any more: somebody deleted the integration branch, and
//! git collected what nothing held then. Nothing can be built on that, so the run is not gone on with.

use crate::error::Error;
use crate::interrupted::landed;
use std::collections::BTreeSet;
use std::fmt;
use tm_runtime::Replayed;
use tm_scheduler::{CommitId, Scheduler, TaskId};
use tm_worktrees::{BranchName, Repository};

/// Returns the newest of the merges that is not in the repository any more.
pub(crate) fn gone(
    repository: &Repository,
    landed: &[CommitId],
) -> Result<Option<CommitId>, Error> {
    Ok(repository.missing(landed)?.pop())
}

/// Refuses to go on where landed work is gone, and says how to go on from what is left.
pub(crate) fn refuse_lost_landings(
    repository: &Repository,
    replayed: &Replayed,
) -> Result<(), Error> {
    let landed = landed(&replayed.scheduler);
    let Some(gone) = gone(repository, &landed)? else {
        return Ok(());
    };
    let branch = &replayed.header.integration_branch;
    let kept = branches_with_work(repository, &replayed.scheduler)?;
    let proven = replayed.scheduler.tasks();
    let proven = proven.filter(|view| view.state.commit().is_some());
    let ids: BTreeSet<TaskId> = proven
        .map(|view| view.placed.task.backlog_id.clone())
        .collect();
    let needed = without_parts(repository, &kept)?;
    let kept = kept.into_iter().map(|(branch, _)| branch).collect();
    Err(Error::LandingsLost(Box::new(LostLandings {
        branch: branch.clone(),
        gone,
        kept,
        needed,
        ids: ids.into_iter().collect(),
    })))
}

/// Landed work whose commits are gone, and what there is of it still.
#[derive(Clone, Debug)]
pub struct LostLandings {
    /// The integration branch.
    pub branch: String,
    /// The newest merge that is gone.
    pub gone: CommitId,
    /// The branches of tasks that hold proven work, in the order in which they were proven.
    pub kept: Vec<BranchName>,
    /// Those of them that together hold everything.
    pub needed: Vec<BranchName>,
    /// The tasks of which there was proven work.
    pub ids: Vec<TaskId>,
}

impl fmt::Display for LostLandings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            branch, gone, kept, ..
        } = self;
        write!(
            formatter,
            "go on with the integration branch `{branch}`: the commit `{gone}`, where work of this run landed, is not in \
             the repository any more; "
        )?;
        let names: Vec<&str> = kept.iter().map(BranchName::as_str).collect();
        match names.as_slice() {
            [] => formatter.write_str("no branch of a task holds proven work any more"),
            names => write!(
                formatter,
                "the proven work is still on `{}`",
                names.join("`, `")
            ),
        }
    }
}

/// The branches of tasks that hold proven work, in the order in which they were proven.
fn branches_with_work(
    repository: &Repository,
    scheduler: &Scheduler,
) -> Result<Vec<(BranchName, CommitId)>, Error> {
    let mut found = Vec::new();
    for view in scheduler.tasks() {
        let Some(record) = view.attempts.last() else {
            continue;
        };
        let (Some(place), Some(commit)) = (record.place(), record.commit()) else {
            continue;
        };
        let branch = BranchName::new(place.branch.clone())?;
        if let Some(tip) = repository.branch_tip(&branch)?
            && repository.is_ancestor(commit, &tip)?
        {
            found.push((record.ended_at(), branch, tip));
        }
    }
    found.sort_by_key(|(ended_at, ..)| *ended_at);
    let found = found.into_iter();
    Ok(found.map(|(_, branch, tip)| (branch, tip)).collect())
}

/// The branches that no later one contains.
fn without_parts(
    repository: &Repository,
    kept: &[(BranchName, CommitId)],
) -> Result<Vec<BranchName>, Error> {
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
    let needed = needed.into_iter().rev();
    Ok(needed.map(|(branch, _)| branch.clone()).collect())
}
