//! Tells whether a commit that says that it takes work back does just that.

use tm_scheduler::{CommitId, TAKES_BACK};
use tm_worktrees::{Error, PastCommit, Repository, TakenBackTree};

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
