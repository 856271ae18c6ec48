//! Removes worktrees whose work is safe, and says of each what it did and why.

use crate::git::Hooks;
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

impl Repository {
    /// Removes the worktrees below a folder that hold nothing uncommitted and whose commit is on a branch or kept.
    ///
    /// # Errors
    /// git can't list the worktrees.
    pub fn prune(&self, folder: &Path) -> Result<Vec<PruneOutcome>, Error> {
        let listing = self.git().args(["worktree", "list", "--porcelain"]).text()?;
        let paths = listing.lines().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from);
        let ours: Vec<PathBuf> = paths.filter(|path| path.starts_with(folder)).collect();
        Ok(ours.into_iter().map(|path| self.prune_one(path)).collect())
    }

    pub(crate) fn prune_one(&self, path: PathBuf) -> PruneOutcome {
        let (outcome, why) = match self.why_kept(&path).and_then(|why| match why {
            Some(why) => Ok((Pruned::Kept, why)),
            None => self.remove_worktree(&path).map(|()| (Pruned::Removed, "its work is on a branch".to_owned())),
        }) {
            Ok(done) => done,
            Err(error) => (Pruned::Kept, format!("failed to {error}")),
        };
        PruneOutcome { path, outcome, why }
    }

    fn why_kept(&self, path: &Path) -> Result<Option<String>, Error> {
        if is_empty(path) {
            return Ok(None);
        }
        let git = || self.git_in(path, Hooks::Off).reading();
        if !git().args(["status", "--porcelain=v1", "-z"]).bytes()?.is_empty() {
            return Ok(Some("it holds work that is not committed".to_owned()));
        }
        let head = git().args(["rev-parse", "HEAD"]).object_id()?;
        let contains = format!("--contains={head}");
        let kept_by = git().args(["for-each-ref", "--count=1", &contains, "refs/heads", "refs/tm"]).text()?;
        Ok(kept_by.is_empty().then(|| "its commit is on no branch".to_owned()))
    }

    fn remove_worktree(&self, path: &Path) -> Result<(), Error> {
        let git = || self.git_in(self.checkout_root(), Hooks::Off).arg("worktree");
        // One that is not locked is removed as well.
        let _was_not_locked = git().arg("unlock").arg(path).done();
        if is_empty(path) {
            // git takes files that were never written for deleted ones.
            return git().args(["remove", "--force"]).arg(path).done();
        }
        git().arg("remove").arg(path).done()
    }
}

/// Whether nothing was ever written there, or everything is gone.
fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).map_or(true, |entries| entries.flatten().all(|entry| entry.file_name() == ".git"))
}
