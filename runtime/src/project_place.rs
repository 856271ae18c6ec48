//! Where the project is that a call is about: in the checkout around a folder, and never in one of tm's own worktrees.
//!
//! What lies in those is written by agents, their settings and what leads to git among that. So a person who works there
//! works on the project of the main checkout, as tm wrote down where that is.

use crate::setup::variable;
use std::path::{Path, PathBuf};
use tm_store::run::ProjectDirectory;
use tm_worktrees::{Error, Repository, common_dir_around};

/// Finds the repository of the project that a folder belongs to.
///
/// # Errors
/// There is none, or the folder is below tm's worktrees of a repository without a main checkout.
pub fn repository_of_project(start: &Path) -> Result<Repository, Error> {
    Repository::discover(&project_place(start)?)
}

/// Returns a folder of the checkout whose project a folder belongs to: itself, or the main checkout of the repository that a
/// worktree of tm's is of. What tm starts itself works in its worktree as in any checkout: it is held there, and may see no
/// other.
///
/// # Errors
/// The folder is below tm's worktrees of a repository without a main checkout.
pub fn project_place(start: &Path) -> Result<PathBuf, Error> {
    match repository_of_worktree(start) {
        Some(common_dir) if variable("TM_RUN_ID").is_none() => main_checkout(common_dir),
        Some(_) | None => Ok(start.to_owned()),
    }
}

/// Returns the folder that all checkouts of the repository around a folder share; of a worktree of tm's, by what tm wrote
/// down and not by what lies there.
pub fn shared_folder(folder: &Path) -> Option<PathBuf> {
    repository_of_worktree(folder).or_else(|| common_dir_around(folder))
}

/// Tells of which repository the worktree of tm's is that a folder lies in; nothing where it lies in none.
pub fn repository_of_worktree(folder: &Path) -> Option<PathBuf> {
    let whereabouts = ProjectDirectory::of_worktree(folder)?.whereabouts();
    Some(whereabouts.ok()??.common_dir)
}

fn main_checkout(common_dir: PathBuf) -> Result<PathBuf, Error> {
    match common_dir.parent() {
        Some(main) if common_dir.ends_with(".git") && common_dir.is_dir() => Ok(main.to_owned()),
        _ => Err(Error::NoCheckout(common_dir)),
    }
}
