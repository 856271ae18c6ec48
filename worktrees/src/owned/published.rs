//! git's own files of a worktree, as whoever works there is to find them: written, and never read.

use super::OwnedFolder;
use crate::files::{Identity, replace};
use crate::git::{Git, GitPlace, Hooks};
use crate::own::OwnGit;
use crate::{BranchName, Error, TreeId};
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

impl OwnedFolder {
    /// Puts a tree into tm's index, with HEAD where a commit of it is to go; no file is touched.
    pub(crate) fn stage(&self, tree: &TreeId, head: &OwnedHead<'_>) -> Result<(), Error> {
        self.git(Hooks::Off)
            .line("read-tree --reset")
            .arg(&tree.0)
            .done()?;
        self.set_head(head)
    }

    /// Says that the index is that of a commit on a branch: it and the files are the tree already.
    pub(crate) fn stage_checked_out(
        &self,
        tree: &TreeId,
        head: &OwnedHead<'_>,
    ) -> Result<(), Error> {
        self.set_head(head)?;
        let found = self.write_tree()?;
        if found == *tree {
            Ok(())
        } else {
            Err(Error::NotOwn {
                path: self.path.clone(),
            })
        }
    }

    pub(super) fn set_head(&self, head: &OwnedHead<'_>) -> Result<(), Error> {
        if self.is_reftable() {
            return point_head(self.git(Hooks::Off), head);
        }
        replace(&self.own.join("HEAD"), text_of(head).as_bytes())
    }

    pub(super) fn is_reftable(&self) -> bool {
        self.repository.own().is_some_and(OwnGit::is_reftable)
    }

    /// Writes git's own files in the folder and the repository as whoever works there is to find them: HEAD, the index,
    /// and nothing that somebody left.
    pub(crate) fn publish(&self, head: &OwnedHead<'_>) -> Result<(), Error> {
        let git_dir = &self.record.git_dir;
        if !Identity::of_folder(git_dir).is_ok_and(|found| found == self.record.git_dir_identity) {
            return Err(Error::NotOwn {
                path: git_dir.clone(),
            });
        }
        tm_faults::check("worktree: publish").map_err(Error::file("write", git_dir))?;
        remove_what_was_left(git_dir)?;
        replace(&git_dir.join("gitdir"), &self.record.back)?;
        replace(&git_dir.join("commondir"), &self.record.common)?;
        replace_whatever(&self.path.join(".git"), &self.record.dot_git)?;
        self.publish_index()?;
        if self.is_reftable() {
            let git = Git::new(self.repository.environment(), git_dir, Hooks::Off);
            return point_head(git.at(&GitPlace::of(git_dir)), head);
        }
        replace(&git_dir.join("HEAD"), text_of(head).as_bytes())
    }

    /// Writes the index with its time of change, by which git tells files that changed in the same moment.
    fn publish_index(&self) -> Result<(), Error> {
        let (own, git_dir) = (self.index_file(), &self.record.git_dir);
        let index = std::fs::read(&own).map_err(Error::file("read", &self.own))?;
        let modified = std::fs::metadata(&own).and_then(|metadata| metadata.modified());
        let published = git_dir.join("index");
        replace(&published, &index)?;
        if let Ok(modified) = modified {
            let file = std::fs::File::options().write(true).open(published);
            file.and_then(|file| file.set_modified(modified))
                .map_err(Error::file("write", git_dir))?;
        }
        Ok(())
    }
}

/// Removes what is no file of git's own from its folder of a worktree.
fn remove_what_was_left(git_dir: &Path) -> Result<(), Error> {
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
            .line("update-ref --no-deref -m tm HEAD")
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
