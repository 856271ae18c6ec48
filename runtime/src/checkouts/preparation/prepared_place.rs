//! A checkout that is to be made ready, and who works there.

use super::Error;
use super::folder::Folder;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Who works in a checkout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// An agent: it finds links where the settings say so.
    Agent,
    /// tm, which judges: everything is a copy.
    Judge,
}

/// Lists what in a checkout is in no commit, ignored or not, from its root; a folder of which nothing is tracked is one
/// path.
pub type Untracked = Arc<dyn Fn() -> Result<Vec<PathBuf>, tm_worktrees::Error> + Send + Sync>;

/// A checkout of tm's own that is to be made ready. Everything in it that is untracked is tm's to throw away.
#[derive(Clone)]
pub struct PreparedPlace {
    /// Its root.
    pub folder: PathBuf,
    /// Who works there.
    pub role: Role,
    /// The file for what the commands print.
    pub log: PathBuf,
    /// What is untracked there.
    pub untracked: Untracked,
    /// Variables of the place, for the commands.
    pub variables: Vec<(OsString, OsString)>,
}

impl PreparedPlace {
    pub(super) fn open(&self) -> Result<Folder, Error> {
        Folder::open(&self.folder).map_err(Error::file("open", &self.folder))
    }
}

impl fmt::Debug for PreparedPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PreparedPlace")
            .field("folder", &self.folder)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}
