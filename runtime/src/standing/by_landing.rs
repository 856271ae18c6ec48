//! What taking back has to know of a history: by which merge work landed that was put together with other work there, whether
//! people changed anything since, and whether a commit that says that it takes work back does just that.

use super::RejectedCommit;
use super::taking_back::Group;
use std::collections::BTreeSet;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{CommitId, TAKES_BACK, Work};
use tm_worktrees::{Error, PastCommit, Repository, TakenBackTree};

/// Returns what to take back instead of the commits of `group`: the merge by which they landed, where it says that lines
/// alone did not make it, and where it brought nothing else that stands. `None` where it has been tried.
pub(super) fn by_its_landing(
    repository: &Repository,
    start: &CommitId,
    works: &[Work],
    group: &Group,
) -> Result<Option<CommitId>, Error> {
    let own: BTreeSet<&CommitId> = group.commits.iter().map(|one| &one.commit).collect();
    let (Some(RejectedCommit { commit: newest, .. }), None) =
        (group.commits.first(), &group.landing)
    else {
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

/// Tells why a commit that says that it takes work back does not do just that; `None` where it does.
///
/// # Errors
/// git refused.
pub fn takes_back_as_said(
    repository: &Repository,
    commit: &PastCommit,
) -> Result<Option<String>, Error> {
    let [parent] = commit.parents.as_slice() else {
        return Ok(Some("it has not just one parent".to_owned()));
    };
    let values = commit
        .trailers
        .iter()
        .filter(|(name, _)| name == TAKES_BACK);
    let mut commits: Vec<CommitId> = values
        .map(|(_, value)| CommitId::new(value.split(' ').next().unwrap_or_default()))
        .collect();
    // One merge may have brought the work of several.
    commits.dedup();
    if commits.is_empty() {
        return Ok(Some(format!(
            "no trailer `{TAKES_BACK}` says what it takes back"
        )));
    }
    for taken in &commits {
        if repository.resolve(taken.as_str()).is_err() || !repository.is_ancestor(taken, parent)? {
            return Ok(Some(format!(
                "`{taken}`, which it takes back, is not in the history before it"
            )));
        }
    }
    Ok(match repository.taken_back(parent, &commits)? {
        TakenBackTree::Clean(tree) if tree == commit.tree => None,
        TakenBackTree::Clean(_) => Some("its tree is not what taking back gives".to_owned()),
        TakenBackTree::Conflict { conflict, .. } => Some(format!(
            "its tree is not what taking back gives: that conflicts in {}",
            conflict.files.join(", ")
        )),
    })
}
