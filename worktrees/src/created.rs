//! Makes a repository, and applies a patch to a folder that need not be one.

use crate::git::Git;
use crate::{Environment, Repository, Result};
use std::path::Path;

/// Makes a repository of what is in a folder, with one commit of everything on the branch `main`.
///
/// # Errors
/// git refused, or the folder is in a repository already.
pub fn create_repository(folder: &Path, message: &str) -> Result<Repository> {
    let environment = Environment::default().of_tm();
    let git = || Git::new(&environment, folder);
    git().line("init --quiet --initial-branch=main").done()?;
    git().line("add --all").done()?;
    git()
        .line("-c commit.gpgsign=false commit --quiet -m")
        .arg(message)
        .done()?;
    Repository::discover(folder)
}

/// Applies a patch to the files of a folder.
///
/// # Errors
/// It does not apply.
pub fn apply_patch(folder: &Path, patch: &[u8]) -> Result<()> {
    Git::new(&Environment::default(), folder)
        .line("apply --whitespace=nowarn -")
        .input(patch)
        .done()
}
