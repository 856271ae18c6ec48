//! Lists what is untracked in a worktree of tm's own, for whoever has not the worktree itself.

use crate::git::{Git, GitPlace, Hooks, fields, path_of};
use crate::{Environment, Error};
use std::path::PathBuf;

/// Lists the untracked files of a worktree of tm's own.
#[derive(Clone, Debug)]
pub struct Lister {
    pub(crate) environment: Environment,
    pub(crate) path: PathBuf,
    pub(crate) place: GitPlace,
}

impl Lister {
    /// Returns what is in the folder and not in the index, a folder where nothing in it is.
    ///
    /// # Errors
    /// git refused.
    pub fn untracked(&self) -> Result<Vec<PathBuf>, Error> {
        let git = Git::new(&self.environment, &self.path, Hooks::Off)
            .at(&self.place)
            .reading();
        let listing = git
            .line("ls-files --others --directory --no-empty-directory -z")
            .bytes()?;
        Ok(fields(&listing).map(path_of).collect())
    }
}
