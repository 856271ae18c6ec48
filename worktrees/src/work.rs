//! What was done in a folder between two moments: commits, and files that differ whether they are committed or not.
//!
//! Touches neither the index nor a branch nor a file of the folder.

use crate::git::{fields, path_of};
use crate::worktree::Worktree;
use crate::{Error, Repository, TreeId};
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

/// So much of a commit's id is told.
const SHORT: usize = 7;

/// A folder at a moment: its commit, and everything that is in it as a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WorkSnapshot {
    head: CommitId,
    tree: TreeId,
}

/// What was done between two moments.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Work {
    /// New commits, oldest first: abbreviated id and subject.
    pub commits: Vec<(String, String)>,
    /// Files that differ.
    pub files: u64,
    /// Lines that are new in them.
    pub insertions: u64,
    /// Lines that are gone from them.
    pub deletions: u64,
    /// Paths that are not committed at the end.
    pub uncommitted: u64,
}

impl Repository {
    /// Takes a snapshot of the user's checkout.
    ///
    /// # Errors
    /// git refused.
    pub fn work_snapshot(&self) -> Result<WorkSnapshot, Error> {
        Ok(WorkSnapshot {
            head: self.head()?.commit,
            tree: self.tree_of_checkout(self.checkout_root())?,
        })
    }

    /// Returns what was done between two snapshots, but for some files (relative to the top).
    ///
    /// # Errors
    /// git refused.
    pub fn work_between(
        &self,
        before: &WorkSnapshot,
        after: &WorkSnapshot,
        left_out: &[PathBuf],
    ) -> Result<Work, Error> {
        let is_left_out = |path: &Path| left_out.iter().any(|left_out| path.starts_with(left_out));
        let commits = self.history(&before.head, std::slice::from_ref(&after.head))?;
        let short = |id: &CommitId| id.as_str().get(..SHORT).unwrap_or_default().to_owned();
        let mut work = Work {
            commits: commits
                .into_iter()
                .map(|commit| (short(&commit.id), commit.subject))
                .collect(),
            ..Work::default()
        };
        let git = self
            .git_on_objects()
            .line("diff-tree -r -z --no-renames --numstat");
        let numbers = git.args([&before.tree.0, &after.tree.0]).bytes()?;
        for (lines, path) in line_counts(&numbers) {
            if is_left_out(&path) {
                continue;
            }
            let (new, gone) = lines.unwrap_or_default();
            work.files += 1;
            work.insertions += new;
            work.deletions += gone;
        }
        let uncommitted = self.differing(&self.tree_of(&after.head)?, &after.tree)?;
        let uncommitted = uncommitted.iter().map(|(path, _)| path_of(path));
        work.uncommitted = uncommitted.filter(|path| !is_left_out(path)).count() as u64;
        Ok(work)
    }
}

impl Worktree {
    /// Takes a snapshot of everything that is here.
    ///
    /// # Errors
    /// The folder is not tm's any more, or git refused.
    pub fn work_snapshot(&self) -> Result<WorkSnapshot, Error> {
        Ok(WorkSnapshot {
            head: self.head(),
            tree: self.tree()?,
        })
    }
}

/// Reads what `--numstat -z` says: how many lines are new and gone in each file; a binary file has none.
pub(crate) fn line_counts(listing: &[u8]) -> impl Iterator<Item = (Option<(u64, u64)>, PathBuf)> {
    fields(listing).filter_map(|entry| {
        let mut parts = entry.splitn(3, |&byte| byte == b'\t');
        let mut part = || parts.next();
        let (new, gone, path) = (part()?, part()?, part()?);
        let number = |text| std::str::from_utf8(text).ok()?.parse().ok();
        Some((number(new).zip(number(gone)), path_of(path)))
    })
}
