//! What was done in a folder between two moments: commits, and files that differ whether they are committed or not.
//!
//! Touches neither the index nor a branch nor a file of the folder.

use crate::git::{Hooks, fields, path_of};
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
    /// Takes a snapshot of a checkout or worktree of this repository.
    ///
    /// # Errors
    /// git refused.
    pub fn work_snapshot(&self, folder: &Path) -> Result<WorkSnapshot, Error> {
        let head = self.git_in(folder, Hooks::Off).args(["rev-parse", "--verify", "HEAD^{commit}"]).object_id()?;
        Ok(WorkSnapshot { head: CommitId::new(head), tree: self.tree_of_checkout(folder)? })
    }

    /// Returns what was done in the folder since, but for some files (relative to its top).
    ///
    /// # Errors
    /// git refused.
    pub fn work_since(&self, folder: &Path, before: &WorkSnapshot, left_out: &[PathBuf]) -> Result<Work, Error> {
        let after = self.work_snapshot(folder)?;
        let mut work = Work { commits: self.commits_between(folder, before, &after)?, ..Work::default() };
        let git = || self.git_in(folder, Hooks::Off).reading();
        let trees = [before.tree.0.as_str(), after.tree.0.as_str()];
        let listing = git().args(["diff-tree", "-r", "-z", "--no-renames", "--numstat"]).args(trees).bytes()?;
        for entry in fields(&listing) {
            let mut parts = entry.splitn(3, |&byte| byte == b'\t');
            let (Some(new), Some(gone), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
            if left_out.iter().any(|left_out| path_of(path).starts_with(left_out)) {
                continue;
            }
            work.files += 1;
            work.insertions += lines(new);
            work.deletions += lines(gone);
        }
        let status = git().args(["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"]).bytes()?;
        let paths = fields(&status).filter_map(|entry| entry.get(3..)).map(path_of);
        work.uncommitted =
            paths.filter(|path| !left_out.iter().any(|left_out| path.starts_with(left_out))).count() as u64;
        Ok(work)
    }

    fn commits_between(
        &self,
        folder: &Path,
        before: &WorkSnapshot,
        after: &WorkSnapshot,
    ) -> Result<Vec<(String, String)>, Error> {
        if before.head == after.head {
            return Ok(Vec::new());
        }
        let range = format!("{}..{}", before.head, after.head);
        let log = ["log", "-z", "--reverse", "--format=%h%x09%s", &range, "--"];
        let listing = self.git_in(folder, Hooks::Off).reading().args(log).bytes()?;
        let commits = fields(&listing).map(|entry| String::from_utf8_lossy(entry).into_owned());
        Ok(commits
            .filter_map(|line| line.split_once('\t').map(|(id, text)| (id.to_owned(), text.to_owned())))
            .collect())
    }
}

/// A count of lines; `-` stands for a binary file, which has none.
fn lines(field: &[u8]) -> u64 {
    std::str::from_utf8(field).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
