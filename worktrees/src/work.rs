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
        let numbers = self.differences(&["--numstat"], &before.tree.0, &after.tree.0)?;
        for entry in fields(&numbers) {
            let mut parts = entry.splitn(3, |&byte| byte == b'\t');
            let (Some(new), Some(gone), Some(path)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if is_left_out(&path_of(path)) {
                continue;
            }
            work.files += 1;
            work.insertions += lines(new);
            work.deletions += lines(gone);
        }
        let uncommitted = self.differences(
            &["--name-only"],
            &self.tree_of(&after.head)?.0,
            &after.tree.0,
        )?;
        work.uncommitted = fields(&uncommitted)
            .filter(|path| !is_left_out(&path_of(path)))
            .count() as u64;
        Ok(work)
    }

    fn differences(&self, form: &[&str], from: &str, to: &str) -> Result<Vec<u8>, Error> {
        self.git_on_objects()
            .line("diff-tree -r -z --no-renames")
            .args(form)
            .args([from, to])
            .bytes()
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

/// A count of lines; `-` stands for a binary file, which has none.
fn lines(field: &[u8]) -> u64 {
    std::str::from_utf8(field)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}
