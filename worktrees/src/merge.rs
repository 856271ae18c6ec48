//! Merges without a checkout: the base of a task, and landing.

use crate::git::fields;
use crate::{Error, Repository, TreeId};
use tm_scheduler::CommitId;

/// Commits that can't be merged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conflict {
    /// The files.
    pub files: Vec<String>,
}

/// What a merge came to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MergeOutcome {
    /// A commit that contains all.
    Merged(CommitId),
    /// There is none.
    Conflict(Conflict),
}

/// What landing would come to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Landing {
    /// The integration branch contains the commit.
    AlreadyLanded,
    /// The merge, which is on no branch yet.
    Clean(MergePreview),
    /// It can't be merged.
    Conflict(Conflict),
}

/// A merge that is on no branch yet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MergePreview {
    /// The merged tree.
    pub tree: TreeId,
    /// Where the integration branch was.
    pub head: CommitId,
    /// What lands.
    pub commit: CommitId,
}

enum Merged {
    Tree(TreeId),
    Conflict(Conflict),
}

impl Repository {
    /// Returns a commit that contains all the given ones: one of them when it does, else a merge.
    ///
    /// # Errors
    /// git refused.
    pub fn combine(&self, commits: &[CommitId], message: &str) -> Result<MergeOutcome, Error> {
        self.combined(commits, |tree, parents| self.commit_tree(tree, parents, message))
    }

    /// As `combine`, with merges that are signed where the user's commits are: they become part of the history.
    ///
    /// # Errors
    /// Signing failed, or git refused.
    pub fn combine_as_user(&self, commits: &[CommitId], message: &str) -> Result<MergeOutcome, Error> {
        self.combined(commits, |tree, parents| self.commit_as_user(tree, parents, message))
    }

    fn combined(
        &self,
        commits: &[CommitId],
        merge: impl Fn(&TreeId, &[&CommitId]) -> Result<CommitId, Error>,
    ) -> Result<MergeOutcome, Error> {
        let Some((first, rest)) = commits.split_first() else {
            return Err(Error::UnknownRevision { revision: String::new() });
        };
        let mut combined = first.clone();
        for commit in rest {
            if self.is_ancestor(commit, &combined)? {
                continue;
            }
            if self.is_ancestor(&combined, commit)? {
                combined = commit.clone();
                continue;
            }
            match self.merge_trees(&combined, commit)? {
                Merged::Tree(tree) => combined = merge(&tree, &[&combined, commit])?,
                Merged::Conflict(conflict) => return Ok(MergeOutcome::Conflict(conflict)),
            }
        }
        Ok(MergeOutcome::Merged(combined))
    }

    /// Merges a commit into the integration branch, without moving it.
    ///
    /// # Errors
    /// git refused.
    pub fn land(&self, head: &CommitId, commit: &CommitId) -> Result<Landing, Error> {
        if self.is_ancestor(commit, head)? {
            return Ok(Landing::AlreadyLanded);
        }
        Ok(match self.merge_trees(head, commit)? {
            Merged::Tree(tree) => Landing::Clean(MergePreview { tree, head: head.clone(), commit: commit.clone() }),
            Merged::Conflict(conflict) => Landing::Conflict(conflict),
        })
    }

    /// Makes the merge a commit on no branch, as it would land, signed where the user's commits are.
    ///
    /// # Errors
    /// Signing failed, or git refused.
    pub fn merge_commit(&self, preview: &MergePreview, message: &str) -> Result<CommitId, Error> {
        self.commit_as_user(&preview.tree, &[&preview.head, &preview.commit], message)
    }

    pub(crate) fn commit_tree(&self, tree: &TreeId, parents: &[&CommitId], message: &str) -> Result<CommitId, Error> {
        let mut git = self.git_on_objects().args(["commit-tree", &tree.0]);
        for parent in parents {
            git = git.arg("-p").commit(parent);
        }
        git.args(["-F", "-"]).input(message).object_id().map(CommitId::new)
    }

    fn merge_trees(&self, ours: &CommitId, theirs: &CommitId) -> Result<Merged, Error> {
        let answer = self
            .git_on_objects()
            // How files are merged is said by the tree that is merged into, and by no file that lies about.
            .variable("GIT_ATTR_SOURCE", ours.as_str())
            .args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"])
            .commit(ours)
            .commit(theirs)
            .answer()?;
        let parts: Vec<String> =
            fields(&answer.stdout).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        match (answer.code, parts.split_first()) {
            (0, Some((tree, _))) => Ok(Merged::Tree(TreeId(tree.trim().to_owned()))),
            (1, Some((_, files))) => Ok(Merged::Conflict(Conflict { files: files.to_vec() })),
            _ => Err(answer.into_error(&["merge-tree".to_owned()])),
        }
    }
}
