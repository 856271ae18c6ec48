//! Takes the work of commits back on top of a history, or brings it again. Moves nothing.

use crate::{Conflict, Error, Repository, Result, TreeId};
use tm_scheduler::CommitId;

impl Repository {
    /// Takes the changes of commits back, one after the other, from the tree of `onto`; lines that they only added also
    /// where others added lines next to them. It moves nothing. Where what came later is in the way of one of them, that
    /// one is named with the conflict.
    ///
    /// # Errors
    /// One of them is not there, or has no parent; or git refused.
    pub fn taken_back(
        &self,
        onto: &CommitId,
        commits: &[CommitId],
    ) -> Result<Result<TreeId, (CommitId, Conflict)>> {
        let mut tree = self.tree_of(onto)?;
        for commit in commits {
            let before = self.tree_of(&self.before(commit)?)?;
            match self.carried_over(&tree, &self.tree_of(commit)?, &before)? {
                Ok(without) => tree = without,
                // Lines that were added next to each other, by work that was put together, conflict when one of them goes.
                Err(conflict) => match self.without_lines_of(&conflict)? {
                    Some(without) => tree = without,
                    None => return Ok(Err((commit.clone(), conflict))),
                },
            }
        }
        Ok(Ok(tree))
    }

    /// Brings the changes of a commit to the tree of `onto`. It moves nothing.
    ///
    /// # Errors
    /// It is not there, or has no parent; or git refused.
    pub fn brought_again(
        &self,
        onto: &CommitId,
        commit: &CommitId,
    ) -> Result<Result<TreeId, Conflict>> {
        let before = self.tree_of(&self.before(commit)?)?;
        self.carried_over(&self.tree_of(onto)?, &before, &self.tree_of(commit)?)
    }

    fn before(&self, commit: &CommitId) -> Result<CommitId> {
        self.first_parent(commit)?
            .ok_or_else(|| Error::unknown(format_args!("{commit}^")))
    }

    /// Brings what differs from one tree to another to a third one: by a merge of three commits made for it, since git
    /// 2.38 can't be told of another base.
    fn carried_over(
        &self,
        onto: &TreeId,
        from: &TreeId,
        to: &TreeId,
    ) -> Result<Result<TreeId, Conflict>> {
        let words = "tm: a change carried over\n";
        let base = self.commit_tree(from, &[], words)?;
        let ours = self.commit_tree(onto, &[&base], words)?;
        let theirs = self.commit_tree(to, &[&base], words)?;
        self.merged_as_far(&ours, &theirs)
    }
}
