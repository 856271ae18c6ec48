//! Brings an integration branch into the branch that the user has checked out: the one thing that moves it, and only
//! when the user says so.

use crate::git::Hooks;
use crate::{BranchName, Error, Repository};
use tm_scheduler::CommitId;

/// How a branch is brought in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FastForwardPolicy {
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
    pub fn merge_into_checkout(
        &self,
        branch: &BranchName,
        how: FastForwardPolicy,
    ) -> Result<CommitId, Error> {
        let git = || self.git_in(self.checkout_root(), Hooks::Configured);
        let flag = match how {
            FastForwardPolicy::ForwardOrMerge => "--ff",
            FastForwardPolicy::MergeCommit => "--no-ff",
        };
        let reference = format!("refs/heads/{branch}");
        let merged = git()
            .args(["merge", "--quiet", "--no-edit", flag, &reference])
            .once()
            .done();
        if let Err(error) = merged {
            // A merge that stopped halfway is taken back; one that never began has nothing to take back.
            let _not_begun = git().args(["merge", "--abort"]).once().done();
            return Err(error);
        }
        Ok(self.head()?.commit)
    }

    /// Moves the branch that the user has checked out from one commit to the next, which changes one file and nothing
    /// else. The file in the checkout stays as it is; git is told of the new content first, so that a death in between
    /// leaves a change that is not committed yet, and none that undoes the commit.
    ///
    /// # Errors
    /// The branch is elsewhere, or git refused.
    pub fn advance_checkout(
        &self,
        from: &CommitId,
        to: &CommitId,
        path: &str,
    ) -> Result<(), Error> {
        let git = || self.git_in(self.checkout_root(), Hooks::Off);
        let entry = git()
            .args(["ls-tree", "-z", "--full-tree"])
            .commit(to)
            .args(["--", path]);
        let entry = entry.variable("GIT_LITERAL_PATHSPECS", "1").bytes()?;
        git()
            .args(["update-index", "-z", "--index-info"])
            .input(entry)
            .done()?;
        git()
            .args(["update-ref", "-m", "tm: statuses", "HEAD"])
            .commit(to)
            .commit(from)
            .once()
            .done()
    }
}
