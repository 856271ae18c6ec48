//! Takes the work of commits back on top of a history, or brings it again. Moves nothing.

use crate::{Conflict, Error, Repository, Result, TreeId};
use tm_scheduler::CommitId;

/// What taking work back comes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TakenBackTree {
    /// The tree without it.
    Clean(TreeId),
    /// What came later is in the way of taking back this commit.
    Conflict {
        /// The commit.
        commit: CommitId,
        /// Where.
        conflict: Conflict,
    },
}

impl Repository {
    /// Takes the changes of commits back, one after the other, from the tree of `onto`; lines that they only added also
    /// where others added lines next to them. It moves nothing.
    ///
    /// # Errors
    /// One of them is not there, or has no parent; or git refused.
    pub fn taken_back(&self, onto: &CommitId, commits: &[CommitId]) -> Result<TakenBackTree> {
        let mut tree = self.tree_of(onto)?;
        for commit in commits {
            let before = self.tree_of(&self.before(commit)?)?;
            match self.carried_over(&tree, &self.tree_of(commit)?, &before)? {
                (without, None) => tree = without,
                // Lines that were added next to each other, by work that was put together, conflict when one of them goes.
                (_, Some(conflict)) => match self.without_lines_of(&conflict)? {
                    Some(without) => tree = without,
                    None => {
                        return Ok(TakenBackTree::Conflict {
                            commit: commit.clone(),
                            conflict,
                        });
                    }
                },
            }
        }
        Ok(TakenBackTree::Clean(tree))
    }

    /// Brings the changes of a commit to the tree of `onto`. It moves nothing.
    ///
    /// # Errors
    /// It is not there, or has no parent; or git refused.
    pub fn brought_again(&self, onto: &CommitId, commit: &CommitId) -> Result<TakenBackTree> {
        let tree = self.tree_of(onto)?;
        let before = self.tree_of(&self.before(commit)?)?;
        Ok(
            match self.carried_over(&tree, &before, &self.tree_of(commit)?)? {
                (tree, None) => TakenBackTree::Clean(tree),
                (_, Some(conflict)) => TakenBackTree::Conflict {
                    commit: commit.clone(),
                    conflict,
                },
            },
        )
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
    ) -> Result<(TreeId, Option<Conflict>)> {
        let words = "tm: a change carried over\n";
        let base = self.commit_tree(from, &[], words)?;
        let ours = self.commit_tree(onto, &[&base], words)?;
        let theirs = self.commit_tree(to, &[&base], words)?;
        self.merged_as_far(&ours, &theirs)
    }
}
