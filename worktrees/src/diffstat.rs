//! How large a change is: files and lines between two commits. Reads; never writes.

use crate::{Error, Repository};
use tm_scheduler::CommitId;

/// The size of a change.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Diffstat {
    /// Files that differ.
    pub files: usize,
    /// Lines that are new.
    pub insertions: usize,
    /// Lines that are gone.
    pub deletions: usize,
}

impl Repository {
    /// Returns how much differs between two commits.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn diffstat(&self, from: &CommitId, to: &CommitId) -> Result<Diffstat, Error> {
        let library = self.library()?;
        let tree = |commit: &CommitId| {
            let unknown = |_| Error::UnknownRevision { revision: commit.to_string() };
            let id = git2::Oid::from_str(commit.as_str()).map_err(unknown)?;
            library.find_commit(id).and_then(|commit| commit.tree()).map_err(unknown)
        };
        let (old, new) = (tree(from)?, tree(to)?);
        let unknown = |_| Error::UnknownRevision { revision: format!("{from}..{to}") };
        let diff = library.diff_tree_to_tree(Some(&old), Some(&new), None).map_err(unknown)?;
        let stats = diff.stats().map_err(unknown)?;
        Ok(Diffstat { files: stats.files_changed(), insertions: stats.insertions(), deletions: stats.deletions() })
    }
}
