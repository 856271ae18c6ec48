//! Worktrees for a person to look around in: on a task's branch, in a folder of tm's, or wherever the branch is checked out
//! already. Removes those, and others, whose work is safe, and says of each what it did and why.

use super::salvage::salvage;
use super::{KEPT_SETTINGS, OF_JUDGE};
use crate::git::Git;
use crate::owned::{OwnedFolder, name_of_folder};
use crate::{Error, OrFailedTo as _, Repository, Result, RunHooks};
use std::path::{Path, PathBuf};
use tm_scheduler::BranchName;

/// What became of a worktree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pruned {
    /// It is gone.
    Removed,
    /// It is still there.
    Kept,
}

/// What was done about one worktree, and why.
#[derive(Debug)]
pub struct PruneOutcome {
    /// The worktree.
    pub path: PathBuf,
    /// What became of it.
    pub outcome: Pruned,
    /// Why.
    pub why: String,
}

/// Whether what can go does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pruning {
    /// It goes.
    Done,
    /// It stays, and is named.
    Foreseen,
}

/// What should become of a worktree, and why.
type Judgement = (Pruned, &'static str);

impl Pruning {
    /// Removes what is judged to go, where it does.
    fn of(self, judgement: Judgement, remove: impl FnOnce() -> Result<()>) -> Result<Judgement> {
        if (self, judgement.0) == (Self::Done, Pruned::Removed) {
            remove()?;
        }
        Ok(judgement)
    }
}

/// How references are listed where one is enough.
const REFS: &str = "for-each-ref --count=1";

const EMPTY: Judgement = (Pruned::Removed, "there is no file in it");
const NOT_COMMITTED: Judgement = (Pruned::Kept, "it holds work that is not committed");

impl PruneOutcome {
    /// What failed left the worktree as it is.
    fn of(pruned: Result<Judgement>, path: PathBuf) -> Self {
        let (outcome, why) = match pruned {
            Ok((outcome, why)) => (outcome, why.to_owned()),
            Err(error) => (Pruned::Kept, format!("failed to {error}")),
        };
        Self { path, outcome, why }
    }
}

/// A worktree for a person to look around in.
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
    /// Returns a worktree on the branch: the one that has it checked out, or a new one at `folder`. Hooks that lie in a checkout
    /// are those of the branch there, at which nobody has looked: then none is run.
    ///
    /// # Errors
    /// There is no such branch, the folder is in use, or git refused.
    pub fn open_worktree(&self, branch: &BranchName, folder: &Path) -> Result<InspectionWorktree> {
        match self.checked_out_at(branch)? {
            Some(path) if path == folder => return Ok(InspectionWorktree::Made(path)),
            Some(path) => return Ok(InspectionWorktree::Found(path)),
            None => {}
        }
        if self.branch_tip(branch)?.is_none() {
            return Err(Error::unknown(branch));
        }
        let hooks = match self.hooks_within()? {
            Some(_of_branch) => RunHooks::No,
            None => RunHooks::Yes,
        };
        self.changing_worktrees(|| {
            let add = self.git_with(hooks, "worktree add --quiet");
            add.arg(folder).arg(branch.as_str()).done()
        })?;
        Ok(InspectionWorktree::Made(folder.to_owned()))
    }

    fn checked_out_at(&self, branch: &BranchName) -> Result<Option<PathBuf>> {
        let wanted = Some(branch.reference());
        Ok(self
            .worktrees()?
            .into_iter()
            .find(|(_, on)| *on == wanted)
            .map(|(path, _)| path)
            .filter(|path| path.is_dir()))
    }

    /// The worktrees that git lists, each with the full name of the branch that it is on.
    pub(crate) fn worktrees(&self) -> Result<Vec<(PathBuf, Option<String>)>> {
        let worktree = |entry: &str| {
            let said = |word| entry.lines().find_map(|line| line.strip_prefix(word));
            let branch = said("branch ").map(ToOwned::to_owned);
            Some((PathBuf::from(said("worktree ")?), branch))
        };
        Ok(self
            .git_on_worktrees("worktree list --porcelain")
            .text()?
            .split("\n\n")
            .filter_map(worktree)
            .collect())
    }

    /// Removes a worktree that was made for looking around, unless it holds something that is nowhere else.
    pub fn close_worktree(&self, opened: &InspectionWorktree) -> PruneOutcome {
        let closed = match opened {
            InspectionWorktree::Made(path) => self.remove_if_safe(path, Pruning::Done),
            InspectionWorktree::Found(_) => Ok((Pruned::Kept, "it was there before")),
        };
        PruneOutcome::of(closed, opened.path().to_owned())
    }

    /// Removes the worktrees below a folder that hold nothing uncommitted and whose commit is on a branch or kept, unless
    /// something speaks for one.
    ///
    /// # Errors
    /// git can't list the worktrees.
    pub fn prune(
        &self,
        folder: &Path,
        pruning: Pruning,
        speaks_for: impl Fn(&Path) -> Option<String>,
    ) -> Result<Vec<PruneOutcome>> {
        let mut paths: Vec<PathBuf> = self
            .worktrees()?
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        paths.retain(|path| path.starts_with(folder));
        let pruned = |path: PathBuf| match speaks_for(&path) {
            Some(why) => PruneOutcome {
                path,
                outcome: Pruned::Kept,
                why,
            },
            None => PruneOutcome::of(self.look_at_own(&path, pruning), path),
        };
        Ok(paths.into_iter().map(pruned).collect())
    }

    /// Removes the worktrees below a folder, but for those in `live`, in which nothing was ever written: what a git that
    /// was killed half made.
    ///
    /// # Errors
    /// git can't list the worktrees; one that it refuses to remove stays.
    pub fn prune_half_made(&self, folder: &Path, live: &Path) -> Result<()> {
        let speaks_for = |path: &Path| {
            let is_meant = is_empty(path) && !path.starts_with(live);
            (!is_meant).then(String::new)
        };
        self.prune(folder, Pruning::Done, speaks_for).map(drop)
    }

    /// Removes a worktree that nobody uses any more, after everything in it is kept under a name of tm's own that is
    /// made of its folder: `refs/tm/salvage/<run>/worktree-<n>/1`.
    pub(crate) fn put_away(&self, path: &Path) -> Result<()> {
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
    pub fn link_again(&self, folder: &Path) -> Result<usize> {
        let mut found = 0;
        for run in folders(folder)? {
            let mut worktrees = folders(&run)?;
            worktrees.retain(|path| path.join(".git").is_file());
            if worktrees.is_empty() {
                continue;
            }
            let kept = self.with_settings_if_kept(&run.join(KEPT_SETTINGS))?;
            if let Some(kept) = &kept {
                for path in &worktrees {
                    // One that tm knows nothing of is linked by what its own file says.
                    let _unknown = OwnedFolder::unseal(kept, path);
                }
            }
            self.git_on_worktrees("worktree repair")
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

    /// Removes a worktree of tm's own when its work is safe.
    fn look_at_own(&self, path: &Path, pruning: Pruning) -> Result<Judgement> {
        let kept = path.parent().unwrap_or(path).join(KEPT_SETTINGS);
        let Some(repository) = self.with_settings_if_kept(&kept)? else {
            // It was made for the user to look around in.
            return self.remove_if_safe(path, pruning);
        };
        if is_empty(path) && OwnedFolder::written_down(&repository, path.to_owned()).is_err() {
            // Its process died before the first file was written.
            return pruning.of(EMPTY, || self.remove_worktree(path));
        }
        if path.symlink_metadata().is_err() {
            let gone = OwnedFolder::written_down(&repository, path.to_owned())?;
            if pruning == Pruning::Done {
                let _refused = gone.bring_home()?;
            }
            return pruning.of((Pruned::Removed, "its folder is gone"), || gone.forget());
        }
        let folder = OwnedFolder::made_before(&repository, path.to_owned())?;
        if pruning == Pruning::Done {
            let _refused = folder.bring_home()?;
        }
        pruning.of(repository.judge_own(&folder)?, || folder.remove())
    }

    /// Tells what should become of a worktree, and why.
    fn judge_own(&self, folder: &OwnedFolder) -> Result<Judgement> {
        if folder.name().starts_with(OF_JUDGE) {
            return Ok((Pruned::Removed, "it was made for tests only"));
        }
        if is_empty(&folder.path) {
            return Ok(EMPTY);
        }
        let Some(head) = folder.head_that_was_left() else {
            return Ok((Pruned::Kept, "its HEAD names no commit"));
        };
        if folder.tree()? != self.tree_of(&head)? {
            return Ok(NOT_COMMITTED);
        }
        where_kept(self.git(REFS), head.as_str())
    }

    /// Removes a worktree of the user's that was made for looking around, unless it holds something that is nowhere else.
    fn remove_if_safe(&self, path: &Path, pruning: Pruning) -> Result<Judgement> {
        pruning.of(self.look_at(path)?, || self.remove_worktree(path))
    }

    /// Tells what should become of a worktree that the user worked in, and why.
    fn look_at(&self, path: &Path) -> Result<Judgement> {
        if is_empty(path) {
            return Ok(EMPTY);
        }
        let git = |words| self.git_in(path).line(words).reading();
        if !git("status").statuses()?.is_empty() {
            return Ok(NOT_COMMITTED);
        }
        let head = git("rev-parse HEAD").object_id()?;
        where_kept(git(REFS), &head)
    }

    fn remove_worktree(&self, path: &Path) -> Result<()> {
        let git = |words| self.git_on_worktrees("worktree").line(words).arg(path);
        // One that is not locked is removed as well.
        let _was_not_locked = git("unlock").done();
        if is_empty(path) {
            // git refuses a folder whose own file is not there yet, and takes files that were never written for deleted
            // ones. What is not empty by now stays.
            let _half_made = std::fs::remove_file(path.join(".git"));
            let _is_named_by_git = std::fs::remove_dir(path);
            return git("remove --force").done();
        }
        git("remove").done()
    }
}

/// What becomes of a worktree at a commit with nothing besides, by whether anything names the commit.
fn where_kept(git: Git, head: &str) -> Result<Judgement> {
    let contains = format!("--contains={head}");
    let named = git.arg(contains).line("refs/heads refs/tm").text()?;
    Ok(if named.is_empty() {
        (Pruned::Kept, "its commit is on no branch")
    } else {
        (Pruned::Removed, "its work is on a branch")
    })
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(std::fs::read_dir(folder)
        .or_failed_to("read", folder)?
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
