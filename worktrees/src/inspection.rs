//! A worktree for a person to look around in: on a task's branch, in a folder of tm's, or wherever the branch is checked
//! out already.

use crate::git::Hooks;
use crate::prune::{PruneOutcome, Pruned};
use crate::{BranchName, Error, Repository};
use std::path::{Path, PathBuf};

/// A worktree on a branch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum InspectionWorktree {
    /// It was there: somebody else's to remove.
    Found(PathBuf),
    /// It was made for this.
    Made(PathBuf),
}

impl InspectionWorktree {
    /// Returns its folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Found(path) | Self::Made(path) => path,
        }
    }
}

impl Repository {
    /// Returns a worktree on the branch: the one that has it checked out, or a new one at `folder`.
    ///
    /// # Errors
    /// There is no such branch, the folder is in use, or git refused.
    pub fn open_worktree(
        &self,
        branch: &BranchName,
        folder: &Path,
    ) -> Result<InspectionWorktree, Error> {
        if let Some(path) = self.checked_out_at(branch)? {
            return Ok(if path == folder {
                InspectionWorktree::Made(path)
            } else {
                InspectionWorktree::Found(path)
            });
        }
        if self.branch_tip(branch)?.is_none() {
            return Err(Error::UnknownRevision {
                revision: branch.to_string(),
            });
        }
        self.changing_worktrees(|| {
            let git = self.git_in(self.checkout_root(), Hooks::Configured);
            git.line("worktree add --quiet")
                .arg(folder)
                .arg(branch.as_str())
                .done()
        })?;
        Ok(InspectionWorktree::Made(folder.to_owned()))
    }

    /// Removes a worktree that was made for looking around, unless it holds something that is nowhere else.
    pub fn close_worktree(&self, opened: &InspectionWorktree) -> PruneOutcome {
        match opened {
            InspectionWorktree::Made(path) => self.prune_one(path.clone()),
            InspectionWorktree::Found(path) => {
                let why = "it was there before".to_owned();
                PruneOutcome {
                    path: path.clone(),
                    outcome: Pruned::Kept,
                    why,
                }
            }
        }
    }

    fn checked_out_at(&self, branch: &BranchName) -> Result<Option<PathBuf>, Error> {
        let listing = self
            .git_on_worktrees()
            .line("worktree list --porcelain")
            .text()?;
        let wanted = format!("branch {}", branch.reference());
        let mut path = None;
        for line in listing.lines() {
            if let Some(found) = line.strip_prefix("worktree ") {
                path = Some(PathBuf::from(found));
            } else if line == wanted {
                return Ok(path.filter(|path| path.is_dir()));
            }
        }
        Ok(None)
    }
}
