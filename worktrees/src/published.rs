//! git's own files of a worktree, as whoever works there is to find them: written, and never read.

use crate::files::replace;
use crate::git::Git;
use crate::{BranchName, Error};
use std::path::Path;
use tm_scheduler::CommitId;

/// What git keeps in its folder of a worktree; anything else there was left by whoever worked in it.
const OF_WORKTREE: [&str; 8] = [
    "HEAD",
    "commondir",
    "gitdir",
    "index",
    "locked",
    "logs",
    "refs",
    "reftable",
];

/// Where HEAD of a worktree is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum OwnedHead<'a> {
    Branch(&'a BranchName),
    Detached(&'a CommitId),
}

/// Removes what is no file of git's own from its folder of a worktree.
pub(crate) fn remove_what_was_left(git_dir: &Path) -> Result<(), Error> {
    let failed = |error| Error::file("read", git_dir)(error);
    for entry in std::fs::read_dir(git_dir).map_err(failed)?.flatten() {
        let name = entry.file_name();
        let wants_folder = ["logs", "refs", "reftable"]
            .iter()
            .any(|known| name == *known);
        let is_right_kind = entry.file_type().is_ok_and(|kind| {
            if wants_folder {
                kind.is_dir()
            } else {
                kind.is_file()
            }
        });
        if is_right_kind && OF_WORKTREE.iter().any(|known| name == *known) {
            continue;
        }
        crate::clean::remove(&entry.path())?;
    }
    Ok(())
}

pub(crate) fn text_of(head: &OwnedHead<'_>) -> String {
    match head {
        OwnedHead::Branch(branch) => format!("ref: {}\n", branch.reference()),
        OwnedHead::Detached(commit) => format!("{commit}\n"),
    }
}

pub(crate) fn point_head(git: Git, head: &OwnedHead<'_>) -> Result<(), Error> {
    match head {
        OwnedHead::Branch(branch) => git
            .args(["symbolic-ref", "-m", "tm", "HEAD", &branch.reference()])
            .done(),
        OwnedHead::Detached(commit) => git
            .args(["update-ref", "--no-deref", "-m", "tm", "HEAD"])
            .commit(commit)
            .done(),
    }
}

/// As `replace`, also where a folder is in the way.
pub(crate) fn replace_whatever(path: &Path, content: &[u8]) -> Result<(), Error> {
    if path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir())
    {
        crate::clean::remove(path)?;
    }
    replace(path, content)
}
