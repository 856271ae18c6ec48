//! git's own files of a worktree, as whoever works there is to find them: written, and never read.

use super::OwnedFolder;
use crate::files::{copy_with_time, replace};
use crate::git::{Git, GitPlace};
use crate::{BranchName, Error, OrFailedTo as _, Result, TreeId};
use std::path::Path;
use tm_scheduler::CommitId;

/// What git keeps in its folder of a worktree; anything else there was left by whoever worked in it.
const FILES: [&str; 5] = ["HEAD", "commondir", "gitdir", "index", "locked"];
const FOLDERS: [&str; 3] = ["logs", "refs", "reftable"];

/// Where HEAD of a worktree is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum OwnedHead<'a> {
    Branch(&'a BranchName),
    Detached(&'a CommitId),
}

impl OwnedFolder {
    /// Puts a tree into tm's index, with HEAD where a commit of it is to go; no file is touched.
    pub(crate) fn stage(&self, tree: &TreeId, head: &OwnedHead<'_>) -> Result<()> {
        self.git("read-tree --reset").arg(&tree.0).done()?;
        self.set_head(head)
    }

    /// Says that the index is that of a commit on a branch: it and the files are the tree already.
    pub(crate) fn stage_checked_out(&self, tree: &TreeId, head: &OwnedHead<'_>) -> Result<()> {
        self.set_head(head)?;
        if self.write_tree()? == *tree {
            return Ok(());
        }
        Err(Error::NotOwn {
            path: self.path.clone(),
        })
    }

    pub(super) fn set_head(&self, head: &OwnedHead<'_>) -> Result<()> {
        let git = self.place().git(&self.repository.environment);
        self.write_head(&self.own, git, head)
    }

    /// Writes HEAD into a git folder: a file, or a reference among others.
    fn write_head(&self, git_dir: &Path, git: Git, head: &OwnedHead<'_>) -> Result<()> {
        if !self.own_git().is_reftable {
            let text = match head {
                OwnedHead::Branch(branch) => format!("ref: {}\n", branch.reference()),
                OwnedHead::Detached(commit) => format!("{commit}\n"),
            };
            return replace(&git_dir.join("HEAD"), text.as_bytes());
        }
        match head {
            OwnedHead::Branch(branch) => git
                .args(["symbolic-ref", "-m", "tm", "HEAD", &branch.reference()])
                .done(),
            OwnedHead::Detached(commit) => git
                .line("update-ref --no-deref -m tm HEAD")
                .commit(*commit)
                .done(),
        }
    }

    /// Writes HEAD into a git folder that is found by itself.
    pub(crate) fn write_head_in(&self, git_dir: &Path, head: &OwnedHead<'_>) -> Result<()> {
        let git = GitPlace::of(git_dir).git(&self.repository.environment);
        self.write_head(git_dir, git, head)
    }

    /// Writes git's own files in the folder and the repository as whoever works there is to find them: HEAD, the index,
    /// and nothing that somebody left.
    pub(crate) fn publish(&self, head: &OwnedHead<'_>) -> Result<()> {
        let git_dir = &self.record.git_dir;
        if !self.record.git_dir_identity.is_at(git_dir) {
            return Err(Error::NotOwn {
                path: git_dir.clone(),
            });
        }
        tm_faults::check("worktree: publish").or_failed_to("write", git_dir)?;
        remove_what_was_left(git_dir)?;
        replace(&git_dir.join("gitdir"), &self.record.back)?;
        replace(&git_dir.join("commondir"), &self.record.common)?;
        replace_whatever(&self.path.join(".git"), &self.record.dot_git)?;
        copy_with_time(&self.index_file(), &git_dir.join("index"))?;
        self.write_head_in(git_dir, head)
    }
}

/// Removes what is no file of git's own from its folder of a worktree.
fn remove_what_was_left(git_dir: &Path) -> Result<()> {
    let entries = std::fs::read_dir(git_dir).or_failed_to("read", git_dir)?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_one_of = |known: &[&str]| known.iter().any(|known| name == *known);
        let is_known = entry.file_type().is_ok_and(|kind| {
            kind.is_file() && is_one_of(&FILES) || kind.is_dir() && is_one_of(&FOLDERS)
        });
        if !is_known {
            crate::clean::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// As `replace`, also where a folder is in the way.
pub(crate) fn replace_whatever(path: &Path, content: &[u8]) -> Result<()> {
    if tm_untrusted::is_folder(path) {
        crate::clean::remove(path)?;
    }
    replace(path, content)
}
