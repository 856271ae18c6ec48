//! Whether the tree of a merge is what merging gives, by the way that the merge itself names.

use crate::{Conflict, Error, Landing, Repository, TreeId};
use tm_scheduler::CommitId;
use tm_scheduler::merging::{Resolution, lock_file};

/// What the tree of a merge is to its parents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MergedTree {
    /// What merging them gives; where lines alone give nothing, what both sides added.
    AsMerged,
    /// Where merging lines gives nothing, something else made it so, and touched nothing but what conflicts.
    Resolved,
    /// Another one than merging them gives.
    Other,
    /// Merging them gives none: they conflict in these files.
    Conflict(Vec<String>),
}

impl Repository {
    /// Tells whether the tree of a merge of two is what merging them gives, by the way that the merge itself names.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn merged_tree(
        &self,
        one: &CommitId,
        other: &CommitId,
        tree: &TreeId,
        resolution: Option<Resolution>,
    ) -> Result<MergedTree, Error> {
        match (self.land(one, other)?, resolution) {
            (Landing::Clean(preview), None) if preview.tree == *tree => Ok(MergedTree::AsMerged),
            (Landing::AlreadyLanded, None) if self.tree_of(one)? == *tree => {
                Ok(MergedTree::AsMerged)
            }
            (Landing::Clean(_) | Landing::AlreadyLanded, _) => Ok(MergedTree::Other),
            (Landing::Conflict(conflict), Some(resolution)) => {
                self.resolved_tree(&conflict, tree, resolution)
            }
            (Landing::Conflict(conflict), None) => Ok(MergedTree::Conflict(conflict.files)),
        }
    }

    fn resolved_tree(
        &self,
        conflict: &Conflict,
        tree: &TreeId,
        resolution: Resolution,
    ) -> Result<MergedTree, Error> {
        let files = || MergedTree::Conflict(conflict.files.clone());
        match resolution {
            Resolution::Union => Ok(match self.united(conflict)? {
                Some(united) if united == *tree => MergedTree::AsMerged,
                Some(_) => MergedTree::Other,
                None => files(),
            }),
            Resolution::LockFile | Resolution::Driver => {
                let Some(texts) = &conflict.texts else {
                    return Ok(files());
                };
                let mut free: Vec<&str> = conflict.files.iter().map(String::as_str).collect();
                if resolution == Resolution::LockFile {
                    free.retain(|path| lock_file(path).is_some());
                }
                let changed = self.changed_between(&conflict.marked, tree)?;
                let is_free = |path: &String| free.contains(&path.as_str());
                // What is not free is as both sides added to it.
                for of in texts {
                    let path = of.path.to_string_lossy().into_owned();
                    if is_free(&path) {
                        continue;
                    }
                    let found = self.bytes_in_tree(tree, &path)?;
                    if found.is_none() || found != self.united_text(of)? {
                        return Ok(MergedTree::Other);
                    }
                }
                let is_in_conflict = |path: &String| conflict.files.contains(path);
                Ok(if changed.iter().all(is_in_conflict) {
                    MergedTree::Resolved
                } else {
                    MergedTree::Other
                })
            }
            // An agent's is a commit of the task's, judged as any work.
            Resolution::Agent => Ok(files()),
        }
    }
}
