//! What tm writes down of a worktree when it makes it, by which it knows the folder again.

use crate::files::{Identity, beginning, replace};
use crate::git::path_of;
use crate::own::OwnGit;
use crate::{OrFailedTo as _, Repository, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file `.git` of a worktree, and the like, are no longer than this.
pub(crate) const SHORT: usize = 8 * 1024;
/// The name of the record in the folder of tm's own.
const RECORD: &str = "place.json";

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
    /// Untracked paths that tm itself put there, or that the user lets stay.
    #[serde(default)]
    pub(super) kept: Vec<PathBuf>,
}

impl Record {
    /// Reads what was written down; `None` where nothing of the kind is.
    pub(super) fn read(own: &Path) -> Option<Self> {
        let text = beginning(&own.join(RECORD), 4 * SHORT).ok()?;
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
        let text = serde_json::to_vec(self).expect("a record of paths and bytes can be written");
        replace(&own.join(RECORD), &text)
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
