//! Keeps the work in a folder, also where git can't take all of it.

use crate::error::says_trouble_of_disk;
use crate::owned::OwnedFolder;
use crate::{Error, Result};
use tm_scheduler::CommitId;

/// Keeps the work in a folder.
pub(super) fn salvage(
    folder: &OwnedFolder,
    base: &CommitId,
    reference: &str,
    message: &str,
) -> Result<Option<CommitId>> {
    let repository = &folder.repository;
    // What is refused is in the files, as far as it is there.
    let _refused = folder.bring_home()?;
    let head = folder.head_that_was_left().unwrap_or_else(|| base.clone());
    let tree = match folder.tree() {
        Ok(tree) => tree,
        // What git can't take is left where it is, and what it can is kept.
        Err(error) if refusal(&error).is_some() => folder.tree_of_what_can_be_taken()?,
        Err(error) => return Err(error),
    };
    if head == *base && tree == repository.tree_of(base)? {
        return Ok(None);
    }
    let is_committed = tree == repository.tree_of(&head)?;
    let commit = if is_committed {
        head
    } else {
        repository.commit_tree(&tree, &[&head], message)?
    };
    repository.keep(reference, &commit)?;
    Ok(Some(commit))
}

pub(super) fn refused_work(error: Error) -> Error {
    let Some(message) = refusal(&error) else {
        return error;
    };
    // A repository without a commit; those with one are seen in the tree.
    let nested = message
        .lines()
        .find_map(|line| line.strip_suffix(" does not have a commit checked out"));
    match nested.and_then(|line| line.split('\'').nth(1)) {
        Some(path) => Error::NestedRepositories(vec![path.into()]),
        None => Error::NotTaken(message.to_owned()),
    }
}

/// What git says of files in the worktree that it can't take: the agent's to mend, unless the disk is the trouble.
fn refusal(error: &Error) -> Option<&str> {
    match error {
        Error::Git { message, .. } if !says_trouble_of_disk(message) => Some(message),
        _ => None,
    }
}
