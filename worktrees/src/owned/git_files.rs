//! git's own files of a worktree: what tm writes down of them when it makes it, by which it knows the folder again, and
//! how whoever works there is to find them. Those in the folder itself are written, and never believed.

use super::OwnedFolder;
use crate::files::{Identity, beginning, copy_with_time, replace};
use crate::git::{Git, GitPlace, path_of};
use crate::repository::own::OwnGit;
use crate::{Error, OrFailedTo as _, Repository, Result, TreeId};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use tm_scheduler::{BranchName, CommitId};

/// The file `.git` of a worktree, and the like, are no longer than this.
pub(crate) const SHORT: usize = 8 * 1024;
/// The name of the record in the folder of tm's own.
const RECORD: &str = "place.json";
/// The record is no longer than this, with all that is kept.
const LONGEST_RECORD: usize = 64 * 1024 * 1024;

/// What tm wrote down of a worktree when it made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) folder: Identity,
    /// git's own folder of the worktree in the repository.
    pub(super) git_dir: PathBuf,
    pub(super) git_dir_identity: Identity,
    /// What the files say by which the two find each other, and git finds the repository.
    pub(super) dot_git: Vec<u8>,
    pub(super) back: Vec<u8>,
    pub(super) common: Vec<u8>,
    /// Untracked paths that tm itself put there, or that the user lets stay, each with a NUL behind it.
    #[serde(default)]
    pub(super) kept: Vec<u8>,
}

impl Record {
    /// Reads what was written down; `None` where nothing of the kind is.
    pub(super) fn read(own: &Path) -> Option<Self> {
        let text = beginning(&own.join(RECORD), LONGEST_RECORD).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn of(path: &Path) -> Result<Self> {
        let dot_git = beginning(&path.join(".git"), SHORT)?;
        let git_dir = path.join(pointed_at(&dot_git));
        let identity = |path: &Path| Identity::of_folder(path).or_failed_to("look at", path);
        Ok(Self {
            folder: identity(path)?,
            git_dir_identity: identity(&git_dir)?,
            back: beginning(&git_dir.join("gitdir"), SHORT)?,
            common: beginning(&git_dir.join("commondir"), SHORT)?,
            git_dir,
            dot_git,
            kept: Vec::new(),
        })
    }

    pub(super) fn write(&self, own: &Path) -> Result<()> {
        let path = own.join(RECORD);
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        replace(&path, &text.or_failed_to("write", &path)?)
    }

    /// Tells what of git's own files is not as tm made it; empty when all is.
    pub(super) fn changed(&self, worktree: &Path) -> Vec<PathBuf> {
        let git_dir = &self.git_dir;
        let files = [
            (worktree.join(".git"), Some(&self.dot_git)),
            (git_dir.join("gitdir"), Some(&self.back)),
            (git_dir.join("commondir"), Some(&self.common)),
            (git_dir.join("config.worktree"), None),
        ];
        let is_changed = |(path, text): &(PathBuf, Option<&Vec<u8>>)| match text {
            Some(text) => beginning(path, SHORT).map_or(true, |found| found != **text),
            None => path.symlink_metadata().is_ok(),
        };
        files
            .into_iter()
            .filter(is_changed)
            .map(|(path, _)| path)
            .collect()
    }
}

/// Returns what a file `.git` says that leads to a git folder.
pub(crate) fn dot_git(git_dir: &Path) -> Vec<u8> {
    format!("gitdir: {}\n", git_dir.display()).into_bytes()
}

/// Returns where a file `.git` leads.
pub(crate) fn pointed_at(dot_git: &[u8]) -> PathBuf {
    let text = dot_git.strip_prefix(b"gitdir: ").unwrap_or(dot_git);
    path_of(text.strip_suffix(b"\n").unwrap_or(text))
}

/// Returns the git folders of tm's own.
pub(super) fn own_git(repository: &Repository) -> &OwnGit {
    repository
        .own()
        .expect("a pool keeps the settings of its repository")
}

/// Returns the git folder of tm's own for a worktree.
pub(super) fn own_folder(repository: &Repository, path: &Path) -> Result<PathBuf> {
    own_git(repository).worktree(path.file_name().unwrap_or_default())
}

/// What git keeps in its folder of a worktree; anything else there was left by whoever worked in it.
const FILES: [&str; 5] = ["HEAD", "commondir", "gitdir", "index", "locked"];
const FOLDERS: [&str; 3] = ["logs", "refs", "reftable"];

/// Where HEAD of a worktree is.
#[derive(Debug)]
pub enum OwnedHead<'a> {
    /// On a branch.
    Branch(&'a BranchName),
    /// At a commit, on no branch.
    Detached(&'a CommitId),
}

impl OwnedFolder {
    /// Puts a tree into tm's index, with HEAD where a commit of it is to go; no file is touched.
    pub(crate) fn stage(&self, tree: &TreeId, head: &OwnedHead<'_>) -> Result<()> {
        self.repository.assert_walkable(tree)?;
        self.git("read-tree --reset").arg(&tree.0).done()?;
        self.set_head(head)
    }

    /// Says that the index is that of a commit on a branch: it and the files are the tree already.
    pub(crate) fn stage_checked_out(&self, tree: &TreeId, head: &OwnedHead<'_>) -> Result<()> {
        self.set_head(head)?;
        if self.write_tree()? == *tree {
            return Ok(());
        }
        Err(Error::NotOwn(self.path.clone()))
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
    /// and nothing that somebody left. What was committed in a git folder of its own is in the repository then.
    pub(crate) fn publish(&self, head: &OwnedHead<'_>) -> Result<()> {
        // Whoever wants to know what is refused has asked before.
        let _refused = self.bring_home()?;
        self.link_to_repository(head)
    }

    /// Has git in the folder work with the repository's own git folder of it.
    pub(crate) fn link_to_repository(&self, head: &OwnedHead<'_>) -> Result<()> {
        self.repository.publish_objects()?;
        let git_dir = &self.record.git_dir;
        if !self.record.git_dir_identity.is_at(git_dir) {
            return Err(Error::NotOwn(git_dir.clone()));
        }
        tm_faults::check("worktree: publish").or_failed_to("write", git_dir)?;
        remove_what_was_left(git_dir)?;
        let left = self.left_index();
        tm_untrusted::remove(&left).or_failed_to("remove", &left)?;
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

/// As `replace`, also where a folder is in the way, or nobody may write beside it.
pub(crate) fn replace_whatever(path: &Path, content: &[u8]) -> Result<()> {
    path.parent().map_or(Ok(()), crate::clean::open_up)?;
    if tm_untrusted::is_folder(path) {
        crate::clean::remove(path)?;
    }
    replace(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_with_the_longest_paths_is_read_back() {
        let own = tempfile::tempdir().expect("a folder");
        let identity = || Identity::of_folder(own.path()).expect("a folder");
        let longest = vec![b'x'; 4096];
        let record = Record {
            folder: identity(),
            git_dir: path_of(&longest),
            git_dir_identity: identity(),
            dot_git: longest.clone(),
            back: longest.clone(),
            common: longest.clone(),
            kept: [longest.as_slice(), b"\xff\0"].concat().repeat(20),
        };
        record.write(own.path()).expect("written");
        let read = Record::read(own.path()).expect("read");
        assert_eq!((read.back, read.kept), (longest, record.kept));
    }
}
