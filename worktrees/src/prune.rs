//! Removes worktrees whose work is safe, and says of each what it did and why.

use crate::changes::TREE_TO_TEST;
use crate::git::Hooks;
use crate::pool::MERGE_TO_TEST;
use crate::{Error, Repository};
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

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

    /// Removes a worktree that nobody uses any more, after everything in it is kept under a name of tm's own that is
    /// made of its folder: `refs/tm/salvage/<run>/worktree-<n>/1`.
    pub(crate) fn put_away(&self, path: &Path) -> Result<(), Error> {
        let git = || self.git_in(path, Hooks::Off);
        let head = CommitId::new(git().args(["rev-parse", "--verify", "HEAD^{commit}"]).object_id()?);
        let tree = self.tree_of_checkout(path)?;
        let commit = self.commit_tree(&tree, &[&head], "tm: what a killed process left in a worktree\n")?;
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let run = path.parent().map(name).unwrap_or_default();
        self.keep(&format!("refs/tm/salvage/{run}/worktree-{}/1", name(path)), &commit)?;
        let git = || self.git_in(self.checkout_root(), Hooks::Off).arg("worktree");
        // One that is not locked is removed as well.
        let _was_not_locked = git().arg("unlock").arg(path).done();
        git().args(["remove", "--force"]).arg(path).done()
    }

    /// Links the worktrees below a folder to this repository again after either was moved; returns how many there are.
    ///
    /// # Errors
    /// The folder can't be read, or git refused.
    pub fn link_again(&self, folder: &Path) -> Result<usize, Error> {
        let mut worktrees = Vec::new();
        for run in folders(folder)? {
            worktrees.extend(folders(&run)?.into_iter().filter(|path| path.join(".git").is_file()));
        }
        if !worktrees.is_empty() {
            let git = self.git_in(self.checkout_root(), Hooks::Off);
            git.args(["worktree", "repair"]).args(&worktrees).done()?;
        }
        Ok(worktrees.len())
    }

    pub(crate) fn prune_one(&self, path: PathBuf) -> PruneOutcome {
        let pruned = self.look_at(&path).and_then(|(outcome, why)| match outcome {
            Pruned::Removed => self.remove_worktree(&path).map(|()| (outcome, why.to_owned())),
            Pruned::Kept => Ok((outcome, why.to_owned())),
        });
        let (outcome, why) = pruned.unwrap_or_else(|error| (Pruned::Kept, format!("failed to {error}")));
        PruneOutcome { path, outcome, why }
    }

    /// Tells what should become of a worktree, and why.
    fn look_at(&self, path: &Path) -> Result<(Pruned, &'static str), Error> {
        if is_empty(path) {
            return Ok((Pruned::Removed, "there is no file in it"));
        }
        let git = || self.git_in(path, Hooks::Off).reading();
        if !git().args(["status", "--porcelain=v1", "-z"]).bytes()?.is_empty() {
            return Ok((Pruned::Kept, "it holds work that is not committed"));
        }
        let head = git().args(["rev-parse", "HEAD"]).object_id()?;
        let contains = format!("--contains={head}");
        let kept_by = git().args(["for-each-ref", "--count=1", &contains, "refs/heads", "refs/tm"]).text()?;
        if !kept_by.is_empty() {
            return Ok((Pruned::Removed, "its work is on a branch"));
        }
        // A process that was killed while it tested leaves such a commit, which is made of others that are kept.
        let subject = git().args(["log", "-1", "--format=%s"]).text()?;
        let is_for_tests = subject == MERGE_TO_TEST || subject == TREE_TO_TEST;
        Ok(if is_for_tests {
            (Pruned::Removed, "it was made for tests only")
        } else {
            (Pruned::Kept, "its commit is on no branch")
        })
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

fn folders(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file("read", folder))?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

/// Whether nothing was ever written there, or everything is gone.
fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).map_or(true, |entries| entries.flatten().all(|entry| entry.file_name() == ".git"))
}
