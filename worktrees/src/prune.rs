//! Removes worktrees whose work is safe, and says of each what it did and why.

use crate::git::{Git, Hooks};
use crate::owned::{OwnedFolder, name_of_folder};
use crate::pool::{KEPT_SETTINGS, OF_JUDGE};
use crate::settings::TAKEN;
use crate::worktree::salvage;
use crate::{Error, Repository};
use std::path::{Path, PathBuf};

/// What became of a worktree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pruned {
    /// It is gone.
    Removed,
    /// It is still there.
    Kept,
}

/// What was done about one worktree, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PruneOutcome {
    /// The worktree.
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Pruned,
    /// Why.
    pub why: String,
}

impl PruneOutcome {
    /// What failed left the worktree as it is.
    fn of(pruned: Result<(Pruned, String), Error>, path: PathBuf) -> Self {
        let (outcome, why) =
            pruned.unwrap_or_else(|error| (Pruned::Kept, format!("failed to {error}")));
        Self { path, outcome, why }
    }
}

impl Repository {
    /// Removes the worktrees below a folder that hold nothing uncommitted and whose commit is on a branch or kept.
    ///
    /// # Errors
    /// git can't list the worktrees.
    pub fn prune(&self, folder: &Path) -> Result<Vec<PruneOutcome>, Error> {
        let listing = self
            .git_on_worktrees()
            .line("worktree list --porcelain")
            .text()?;
        let ours = listing
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "))
            .map(PathBuf::from)
            .filter(|path| path.starts_with(folder));
        Ok(ours
            .map(|path| PruneOutcome::of(self.look_at_own(&path), path))
            .collect())
    }

    /// Removes a worktree that nobody uses any more, after everything in it is kept under a name of tm's own that is
    /// made of its folder: `refs/tm/salvage/<run>/worktree-<n>/1`.
    pub(crate) fn put_away(&self, path: &Path) -> Result<(), Error> {
        let folder = OwnedFolder::made_before(self, path.to_owned())?;
        let run = path.parent().map(name_of_folder).unwrap_or_default();
        let reference = format!("refs/tm/salvage/{run}/worktree-{}/1", folder.name());
        let base = folder
            .head_that_was_left()
            .map_or_else(|| self.head().map(|head| head.commit), Ok)?;
        salvage(
            &folder,
            &base,
            &reference,
            "tm: what a killed process left in a worktree\n",
        )?;
        folder.remove()
    }

    /// Links the worktrees below a folder to this repository again after either was moved; returns how many there are.
    ///
    /// # Errors
    /// The folder can't be read, or git refused.
    pub fn link_again(&self, folder: &Path) -> Result<usize, Error> {
        let mut found = 0;
        for run in folders(folder)? {
            let worktrees: Vec<PathBuf> = folders(&run)?
                .into_iter()
                .filter(|path| path.join(".git").is_file())
                .collect();
            if worktrees.is_empty() {
                continue;
            }
            let kept = self.with_settings_of_run(&run)?;
            if let Some(kept) = &kept {
                for path in &worktrees {
                    // One that tm knows nothing of is linked by what its own file says.
                    let _unknown = OwnedFolder::unseal(kept, path);
                }
            }
            self.git_on_worktrees()
                .line("worktree repair")
                .args(&worktrees)
                .done()?;
            if let Some(kept) = kept {
                worktrees
                    .iter()
                    .try_for_each(|path| OwnedFolder::linked_again(&kept, path))?;
            }
            found += worktrees.len();
        }
        Ok(found)
    }

    /// Returns the repository with the settings that a run keeps beside its worktrees; `None` where it keeps none.
    fn with_settings_of_run(&self, run: &Path) -> Result<Option<Self>, Error> {
        let kept = run.join(KEPT_SETTINGS);
        if kept.join(TAKEN).exists() {
            self.with_settings_kept_in(&kept).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Removes a worktree of tm's own when its work is safe.
    fn look_at_own(&self, path: &Path) -> Result<(Pruned, String), Error> {
        let run = path.parent().unwrap_or(path);
        let Some(repository) = self.with_settings_of_run(run)? else {
            // It was made for the user to look around in.
            let outcome = self.prune_one(path.to_owned());
            return Ok((outcome.outcome, outcome.why));
        };
        if is_empty(path) && !OwnedFolder::is_written_down(&repository, path) {
            // Its process died before the first file was written.
            return self
                .remove_worktree(path)
                .map(|()| (Pruned::Removed, "there is no file in it".to_owned()));
        }
        if path.symlink_metadata().is_err() {
            OwnedFolder::forget_gone(&repository, path)?;
            return Ok((Pruned::Removed, "its folder is gone".to_owned()));
        }
        let folder = OwnedFolder::made_before(&repository, path.to_owned())?;
        let (outcome, why) = repository.judge_own(&folder)?;
        if outcome == Pruned::Removed {
            folder.remove()?;
        }
        Ok((outcome, why.to_owned()))
    }

    /// Tells what should become of a worktree, and why.
    fn judge_own(&self, folder: &OwnedFolder) -> Result<(Pruned, &'static str), Error> {
        if folder.name().starts_with(OF_JUDGE) {
            return Ok((Pruned::Removed, "it was made for tests only"));
        }
        if is_empty(&folder.path) {
            return Ok((Pruned::Removed, "there is no file in it"));
        }
        let Some(head) = folder.head_that_was_left() else {
            return Ok((Pruned::Kept, "its HEAD names no commit"));
        };
        if folder.tree()? != self.tree_of(&head)? {
            return Ok((Pruned::Kept, "it holds work that is not committed"));
        }
        where_kept(self.git(), head.as_str())
    }

    /// Removes a worktree of the user's that was made for looking around, unless it holds something that is nowhere else.
    pub(crate) fn prune_one(&self, path: PathBuf) -> PruneOutcome {
        let pruned = || {
            let (outcome, why) = self.look_at(&path)?;
            if outcome == Pruned::Removed {
                self.remove_worktree(&path)?;
            }
            Ok((outcome, why.to_owned()))
        };
        PruneOutcome::of(pruned(), path)
    }

    /// Tells what should become of a worktree that the user worked in, and why.
    fn look_at(&self, path: &Path) -> Result<(Pruned, &'static str), Error> {
        if is_empty(path) {
            return Ok((Pruned::Removed, "there is no file in it"));
        }
        let git = || self.git_in(path, Hooks::Off).reading();
        if !git().statuses("")?.is_empty() {
            return Ok((Pruned::Kept, "it holds work that is not committed"));
        }
        let head = git().line("rev-parse HEAD").object_id()?;
        where_kept(git(), &head)
    }

    fn remove_worktree(&self, path: &Path) -> Result<(), Error> {
        let git = || self.git_on_worktrees().arg("worktree");
        // One that is not locked is removed as well.
        let _was_not_locked = git().arg("unlock").arg(path).done();
        if is_empty(path) {
            // git takes files that were never written for deleted ones.
            return git().line("remove --force").arg(path).done();
        }
        git().arg("remove").arg(path).done()
    }
}

/// What becomes of a worktree at a commit with nothing besides, by whether anything names the commit.
fn where_kept(git: Git, head: &str) -> Result<(Pruned, &'static str), Error> {
    let contains = format!("--contains={head}");
    let named = [
        "for-each-ref",
        "--count=1",
        &contains,
        "refs/heads",
        "refs/tm",
    ];
    Ok(if git.args(named).text()?.is_empty() {
        (Pruned::Kept, "its commit is on no branch")
    } else {
        (Pruned::Removed, "its work is on a branch")
    })
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file("read", folder))?;
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect())
}

/// Whether nothing was ever written there, or everything is gone.
fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).map_or(true, |entries| {
        entries.flatten().all(|entry| entry.file_name() == ".git")
    })
}
