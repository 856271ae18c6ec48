//! Work that was put together with other work where it landed: its own commits can't be taken back one by one then, the
//! merge by which it landed can. Also tells whether people changed anything there since.

use super::taking_back::Group;
use std::collections::BTreeSet;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{CommitId, Work};
use tm_worktrees::{Error, PastCommit, Repository};

/// Returns what to take back instead of the commits of `group`: the merge by which they landed, where it says that lines
/// alone did not make it, and where it brought nothing else that stands. `None` where it has been tried.
pub(super) fn by_its_landing(
    repository: &Repository,
    start: &CommitId,
    works: &[Work],
    group: &Group,
) -> Result<Option<CommitId>, Error> {
    let own: BTreeSet<&CommitId> = group.commits.iter().map(|(commit, _)| commit).collect();
    let (Some((newest, _)), None) = (group.commits.first(), &group.landing) else {
        return Ok(None);
    };
    for merge in since(repository, newest, start)?
        .iter()
        .filter(|commit| is_put_together(commit))
    {
        let brought: BTreeSet<CommitId> = repository.brought_by(&merge.id)?.into_iter().collect();
        let of_others = works
            .iter()
            .any(|work| brought.contains(&work.commit) && !own.contains(&work.commit));
        if own.iter().all(|commit| brought.contains(*commit)) && !of_others {
            return Ok(Some(merge.id.clone()));
        }
    }
    Ok(None)
}

/// Tells whether commits that are none of tm's changed any of these files since.
pub(super) fn people_changed(
    repository: &Repository,
    since_commit: &CommitId,
    start: &CommitId,
    files: &[String],
) -> Result<bool, Error> {
    for commit in since(repository, since_commit, start)?
        .iter()
        .filter(|commit| !is_of_tm(commit))
    {
        let [parent] = commit.parents.as_slice() else {
            continue;
        };
        let changed = repository.changed_files(parent, &commit.id)?;
        if changed.iter().any(|change| files.contains(&change.path)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn since(
    repository: &Repository,
    commit: &CommitId,
    start: &CommitId,
) -> Result<Vec<PastCommit>, Error> {
    repository.history(commit, std::slice::from_ref(start))
}

fn is_put_together(commit: &PastCommit) -> bool {
    commit.parents.len() == 2
        && commit
            .trailers
            .iter()
            .any(|(name, _)| name == Resolution::TRAILER)
}

fn is_of_tm(commit: &PastCommit) -> bool {
    let says = |wanted: &str| commit.trailers.iter().any(|(name, _)| name == wanted);
    says("Task") && says("Run")
}
