//! What was done in a folder between two moments: commits, and files that differ whether they are committed or not.
//!
//! Touches neither the index nor a branch nor a file of the folder.

use crate::git::{fields, path_of};
use crate::worktree::Worktree;
use crate::{Error, Repository, TreeId};
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

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
        let mut work = Work {
            commits: self.commits_between(before, after)?,
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

    fn commits_between(
        &self,
        before: &WorkSnapshot,
        after: &WorkSnapshot,
    ) -> Result<Vec<(String, String)>, Error> {
        if before.head == after.head {
            return Ok(Vec::new());
        }
        let range = format!("{}..{}", before.head, after.head);
        let listing = self
            .git_on_objects()
            .args(["log", "-z", "--reverse", "--format=%h%x09%s", &range, "--"])
            .bytes()?;
        let commits = fields(&listing).map(|entry| String::from_utf8_lossy(entry).into_owned());
        Ok(commits
            .filter_map(|line| {
                line.split_once('\t')
                    .map(|(id, text)| (id.to_owned(), text.to_owned()))
            })
            .collect())
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
