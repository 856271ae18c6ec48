//! Which files differ between two commits.

use crate::git::fields;
use crate::{Error, Repository, TreeId};
use tm_scheduler::CommitId;

/// What happened to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    /// It is new.
    Added,
    /// Its content, mode or kind is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// A file that differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChangedFile {
    /// Its path, relative to the repository; what is no UTF-8 in it is replaced.
    pub path: String,
    /// What happened to it.
    pub change: Change,
}

impl Repository {
    /// Returns the files that differ; a renamed one counts as deleted and added.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn changed_files(&self, from: &CommitId, to: &CommitId) -> Result<Vec<ChangedFile>, Error> {
        self.changes(from, to.as_str())
    }

    /// As `changed_files`, against a tree that is not committed.
    ///
    /// # Errors
    /// There is no such commit or tree.
    pub fn changed_files_to_tree(&self, from: &CommitId, to: &TreeId) -> Result<Vec<ChangedFile>, Error> {
        self.changes(from, &to.0)
    }

    fn changes(&self, from: &CommitId, to: &str) -> Result<Vec<ChangedFile>, Error> {
        let listing =
            self.git().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status"]).commit(from).arg(to).bytes()?;
        let mut entries = fields(&listing);
        let mut changes = Vec::new();
        while let (Some(status), Some(path)) = (entries.next(), entries.next()) {
            let change = match status.first() {
                Some(b'A') => Change::Added,
                Some(b'D') => Change::Deleted,
                _ => Change::Modified,
            };
            changes.push(ChangedFile { path: String::from_utf8_lossy(path).into_owned(), change });
        }
        Ok(changes)
    }
}
