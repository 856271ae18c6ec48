//! Brings an integration branch into the branch that the user has checked out: the one thing that moves it, and only
//! when the user says so.

use crate::git::Hooks;
use crate::{BranchName, Error, Repository};
use tm_scheduler::CommitId;

/// How a branch is brought in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BringHow {
    /// The user's branch moves forward where it can; else there is a merge commit.
    ForwardOrMerge,
    /// There is a merge commit in any case.
    MergeCommit,
}

impl Repository {
    /// Merges a branch into the checkout, with hooks and signing as the user has them set up. What can't be merged is
    /// left as it was.
    ///
    /// # Errors
    /// git refused: a conflict, files in the way, a hook.
    pub fn bring_in(&self, branch: &BranchName, how: BringHow) -> Result<CommitId, Error> {
        let git = || self.git_in(self.checkout_root(), Hooks::Configured);
        let flag = match how {
            BringHow::ForwardOrMerge => "--ff",
            BringHow::MergeCommit => "--no-ff",
        };
        let reference = format!("refs/heads/{branch}");
        let merged = git().args(["merge", "--quiet", "--no-edit", flag, &reference]).once().done();
        if let Err(error) = merged {
            // A merge that stopped halfway is taken back; one that never began has nothing to take back.
            let _not_begun = git().args(["merge", "--abort"]).once().done();
            return Err(error);
        }
        Ok(self.head()?.commit)
    }
}
