//! How large a change is: files and lines between two commits. Reads; never writes.

use crate::git::fields;
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
        let call = self.git().args(["diff-tree", "-r", "-z", "--no-renames", "--numstat"]).commit(from).commit(to);
        let listing = call.bytes()?;
        let mut sum = Diffstat::default();
        for entry in fields(&listing) {
            // A file that is not text has no lines: `-`.
            let mut lines =
                entry.split(|&byte| byte == b'\t').map(|count| String::from_utf8_lossy(count).parse().unwrap_or(0));
            sum.files += 1;
            sum.insertions += lines.next().unwrap_or(0);
            sum.deletions += lines.next().unwrap_or(0);
        }
        Ok(sum)
    }
}
