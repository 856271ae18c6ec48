//! The integration branch of a run: where it is, and that it still holds everything that has landed.
//!
//! tm alone moves it. When somebody deletes it, it is made again; when somebody moves it away from what has landed,
//! nothing more is built on it until that is seen to.

use crate::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tm_scheduler::CommitId;
use tm_worktrees::{BranchName, Repository};

/// The integration branch of a run.
#[derive(Debug)]
pub struct Integration {
    repository: Repository,
    branch: BranchName,
    /// The newest commit that is known to be on it.
    seen: Mutex<CommitId>,
}

/// Where the branch is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tip {
    /// The commit.
    pub commit: CommitId,
    /// Whether it had been deleted, and was made again.
    pub was_deleted: bool,
}

impl Integration {
    /// Opens the branch of a run in which these merges have landed; makes it where it is not there.
    ///
    /// # Errors
    /// It does not contain what has landed, a commit of it is gone, or git refused.
    pub fn open(
        repository: Repository,
        branch: BranchName,
        base: &CommitId,
        landed: &[CommitId],
    ) -> Result<(Self, Tip), Error> {
        let newest = repository.newest(base, landed)?;
        let is_new = landed.is_empty() && repository.branch_tip(&branch)?.is_none();
        let integration = Self { repository, branch, seen: Mutex::new(newest) };
        let tip = integration.tip()?;
        let was_deleted = tip.was_deleted && !is_new;
        Ok((integration, Tip { was_deleted, ..tip }))
    }

    /// Takes the branch of a run whose newest merge is gone, to end what is under way: it is not made again, and whatever
    /// asks where it is learns that it can't be.
    pub const fn lost(repository: Repository, branch: BranchName, gone: CommitId) -> Self {
        Self { repository, branch, seen: Mutex::new(gone) }
    }

    /// Returns its name.
    pub const fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// Returns where it is.
    ///
    /// # Errors
    /// It does not contain what has landed, or git refused.
    pub fn tip(&self) -> Result<Tip, Error> {
        let mut seen = self.seen();
        let Some(commit) = self.repository.branch_tip(&self.branch)? else {
            self.repository.create_branch(&self.branch, &seen)?;
            return Ok(Tip { commit: seen.clone(), was_deleted: true });
        };
        if commit != *seen {
            if !self.repository.is_ancestor(&seen, &commit)? {
                let branch = self.branch.clone();
                return Err(Error::IntegrationMoved { branch, found: commit, landed: seen.clone() });
            }
            seen.clone_from(&commit);
        }
        drop(seen);
        Ok(Tip { commit, was_deleted: false })
    }

    fn seen(&self) -> MutexGuard<'_, CommitId> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that tm itself moved it.
    pub(crate) fn moved_to(&self, commit: &CommitId) {
        self.seen().clone_from(commit);
    }
}
