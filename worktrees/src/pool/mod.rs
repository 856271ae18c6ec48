//! Worktrees that are used again and again: reset and cleaned, never added and removed per task.
//!
//! Those that agents work in and those in which tm judges are kept apart: a folder that an agent had is never one of a
//! judge's.

mod judge;
mod left;
mod prune;
mod salvage;
mod worktree;

pub use judge::JudgeCheckout;
pub use prune::{InspectionWorktree, PruneOutcome, Pruned, Pruning};
pub use worktree::{Captured, Worktree};

use crate::collection::NoCollection;
use crate::files::create_folder;
use crate::owned::{Lister, OwnedFolder, OwnedHead};
use crate::repository::own::OwnGit;
use crate::{Error, OrFailedTo as _, Repository, Result, TreeId};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tm_scheduler::{BranchName, CommitId};

/// What the folders of judges begin with; those of agents are numbers.
pub(crate) const OF_JUDGE: &str = "judge-";
/// The folder beside the worktrees in which git's settings are kept.
pub(crate) const KEPT_SETTINGS: &str = "git";

/// The worktrees of one run.
#[derive(Clone, Debug)]
pub struct WorktreePool {
    state: Arc<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    repository: Repository,
    folder: PathBuf,
    idle: Mutex<Idle>,
    /// Rung when a worktree comes back.
    came_back: Condvar,
    next: AtomicU32,
    /// Held while git's list of worktrees changes; git itself stumbles over half-written entries.
    changing: Mutex<()>,
    no_collection: NoCollection,
}

/// The worktrees that nobody is in.
#[derive(Debug, Default)]
struct Idle {
    folders: Vec<OwnedFolder>,
    /// How many more are about to come back.
    returning: usize,
    /// Those of judges, with the tree that each holds.
    judges: Vec<(OwnedFolder, Option<TreeId>)>,
    /// Those that nobody gets any more.
    retired: BTreeSet<PathBuf>,
    /// What people should know of those that can't be brought into order.
    left: Vec<String>,
}

/// A worktree that is about to come back, or not; dropping this says that it has.
#[derive(Debug)]
pub struct Returning(Arc<PoolState>);

impl Drop for Returning {
    fn drop(&mut self) {
        self.0.idle().returning -= 1;
        self.0.came_back.notify_all();
    }
}

impl PoolState {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock()
    }

    /// Waits for a worktree that is about to come back, where none is idle: that costs less than a new one.
    fn idle_or_awaited(&self) -> MutexGuard<'_, Idle> {
        let is_awaited = |idle: &mut Idle| idle.folders.is_empty() && idle.returning > 0;
        let mut idle = self.idle();
        self.came_back.wait_while(&mut idle, is_awaited);
        idle
    }

    /// Returns an idle worktree, or one that is about to come back.
    fn take_idle(&self) -> Option<OwnedFolder> {
        self.idle_or_awaited().folders.pop()
    }
}

impl WorktreePool {
    /// Opens the pool in a folder; while it is open, `git gc` is kept out. Worktrees that are there from an earlier
    /// process are left alone until they are taken over.
    ///
    /// The settings of the repository are kept in the folder, and are those of when it was first opened.
    ///
    /// # Errors
    /// The folder can't be made or read, or git refused.
    pub fn open(repository: &Repository, folder: &Path) -> Result<Self> {
        create_folder(folder)?;
        // git names worktrees by their real paths.
        let folder = folder.canonicalize().or_failed_to("find", folder)?;
        let repository = repository.with_settings_kept_in(&folder.join(KEPT_SETTINGS))?;
        let repository = repository.fetching_anew();
        let entries = std::fs::read_dir(&folder).or_failed_to("read", &folder)?;
        let number = |name: &str| {
            name.strip_prefix(OF_JUDGE)
                .unwrap_or(name)
                .parse::<u32>()
                .ok()
        };
        let next = AtomicU32::new(
            entries
                .flatten()
                .filter_map(|entry| number(entry.file_name().to_str()?))
                .max()
                .unwrap_or(0)
                + 1,
        );
        let state = PoolState {
            no_collection: NoCollection::hold(repository.common_dir()),
            repository,
            folder,
            idle: Mutex::default(),
            came_back: Condvar::new(),
            next,
            changing: Mutex::new(()),
        };
        Ok(Self {
            state: Arc::new(state),
        })
    }

    /// Returns the repository, with its settings as the pool keeps them.
    pub fn repository(&self) -> &Repository {
        &self.state.repository
    }

    /// Says that a worktree is about to be given back.
    pub fn returning(&self) -> Returning {
        self.state.idle().returning += 1;
        Returning(Arc::clone(&self.state))
    }

    /// Returns when `check_out` has no worktree to wait for: who decides then what a worktree is to stand on decides by what
    /// is the case when it is given out.
    pub fn wait_for_idle(&self) {
        drop(self.state.idle_or_awaited());
    }

    /// Gives out a worktree on `base`, on the branch, which is made there, or moved there from `start`.
    ///
    /// `kept` says which untracked paths in a folder stay there.
    ///
    /// # Errors
    /// The base does not contain one of `must_contain`, the branch is not at `start`, or git refused.
    pub fn check_out(
        &self,
        branch: &BranchName,
        start: Option<&CommitId>,
        base: &CommitId,
        must_contain: &[CommitId],
        kept: impl Fn(&Path, &Lister) -> Result<Vec<PathBuf>>,
    ) -> Result<Worktree> {
        for commit in must_contain {
            if !self.repository().is_ancestor(commit, base)? {
                return Err(Error::MissingDependency {
                    base: base.clone(),
                    missing: commit.clone(),
                });
            }
        }
        self.repository().assert_not_protected(branch)?;
        self.repository().move_branch(branch, base, start)?;
        let head = OwnedHead::Branch(branch);
        let place = |mut folder: OwnedFolder| {
            let kept = kept(&folder.path, &Lister(Arc::new(folder.clone())))?;
            folder.keep(&kept)?;
            folder.check_out(base, &head, &kept, None).map(|()| folder)
        };
        let anew = || place(self.ready(None, name_of_worktree, base)?);
        self.state.no_collection.renew();
        let idle = self.state.take_idle();
        let folder = match idle.filter(|folder| folder.assert_own().is_ok()) {
            Some(used) => {
                let path = used.path.clone();
                // What somebody left in one that was used is no reason not to give out another.
                place(used).or_else(|error| self.instead_of(&path, error, anew))?
            }
            None => anew()?,
        };
        Ok(Worktree::new(self, folder, branch, base))
    }

    /// Takes over a worktree that an earlier process gave out.
    ///
    /// # Errors
    /// It is not of this pool, or it is gone.
    pub fn take_over(&self, path: &Path, branch: &BranchName, base: &CommitId) -> Result<Worktree> {
        // A repository that was moved has its worktrees elsewhere now, under the same names.
        let run = path.parent().and_then(Path::file_name);
        let is_of_this = run.is_some() && run == self.folder().file_name();
        let Some(name) = path.file_name().filter(|_| is_of_this) else {
            return Err(Error::not_in_pool(path, "it is somewhere else"));
        };
        let path = self.folder().join(name);
        self.state.idle().folders.retain(|idle| idle.path != path);
        if path.symlink_metadata().is_err() {
            return Err(Error::not_in_pool(&path, "it is gone"));
        }
        let folder = OwnedFolder::made_before(self.repository(), path)?;
        Ok(Worktree::new(self, folder, branch, base))
    }

    /// Gives out a checkout that no agent ever had; the one that holds this tree already, where there is one.
    ///
    /// # Errors
    /// git refused.
    pub fn judge(&self, tree: &TreeId, commit: &CommitId) -> Result<JudgeCheckout> {
        let idle = {
            let judges = &mut self.state.idle().judges;
            let mut held = judges.iter().map(|(_, holds)| holds.as_ref());
            let same = held.position(|held| held == Some(tree));
            let last = judges.len().checked_sub(1);
            same.or(last).map(|position| judges.swap_remove(position))
        };
        let (folder, holds) = idle.map_or((None, None), |(folder, holds)| (Some(folder), holds));
        let folder = self.ready(folder, name_of_judge, commit)?;
        Ok(JudgeCheckout::new(self.clone(), folder, holds))
    }

    /// Returns a folder for a judge in which nobody was.
    pub(crate) fn new_of_judge(&self, commit: &CommitId) -> Result<OwnedFolder> {
        self.ready(None, name_of_judge, commit)
    }

    /// Returns everything in a worktree of tm's own as a tree, whoever is at work there: nothing that lies there is believed,
    /// and filters are held.
    ///
    /// # Errors
    /// It is none of this repository, or git refused.
    pub fn tree_of_worktree(&self, root: &Path) -> Result<TreeId> {
        let there = self.repository().at_checkout(root)?;
        let tree = there.tree_of_checkout()?;
        there.publish_objects()?;
        Ok(tree)
    }

    /// Returns an idle folder that is still the one that tm made, or a new one.
    fn ready(
        &self,
        idle: Option<OwnedFolder>,
        name: impl Fn(u32) -> String,
        commit: &CommitId,
    ) -> Result<OwnedFolder> {
        self.state.no_collection.renew();
        match idle {
            Some(folder) if folder.assert_own().is_ok() => Ok(folder),
            Some(_) | None => self.add(
                &name(self.state.next.fetch_add(1, Ordering::Relaxed)),
                commit,
            ),
        }
    }

    /// Adds a worktree without its files; those come with the check-out, outside the lock.
    fn add(&self, name: &str, commit: &CommitId) -> Result<OwnedFolder> {
        let path = self.folder().join(name);
        self.changing(|| {
            self.repository()
                .own()
                .map_or(Ok(()), OwnGit::assert_there)?;
            // git would follow a link, and write wherever it leads.
            let list = self.repository().common_dir().join("worktrees");
            if list.symlink_metadata().is_ok() && !tm_untrusted::is_folder(&list) {
                return Err(Error::NotOwn(list));
            }
            self.repository()
                .git_on_worktrees("worktree add --detach --no-checkout --quiet --lock --reason")
                .arg("in use by tm")
                .arg(&path)
                .commit(commit)
                .done()
        })?;
        OwnedFolder::just_made(self.repository(), path)
    }

    /// Holds the locks, of this process and of all, under which git's list of worktrees changes.
    fn changing<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let _in_this_process = self.state.changing.lock();
        self.repository().changing_worktrees(change)
    }

    /// Takes a worktree back, whatever is in it: it is reset before it is used again.
    pub(crate) fn give_back(&self, folder: OwnedFolder) {
        let mut idle = self.state.idle();
        if !idle.retired.contains(&folder.path) {
            idle.folders.push(folder);
        }
        drop(idle);
        self.state.came_back.notify_all();
    }

    /// Takes a judge's checkout back, with the tree that it holds.
    pub(crate) fn give_back_judge(&self, folder: OwnedFolder, holds: Option<TreeId>) {
        let mut idle = self.state.idle();
        if !idle.retired.contains(&folder.path) {
            idle.judges.push((folder, holds));
        }
    }

    /// Returns the folder in which they are.
    pub fn folder(&self) -> &Path {
        &self.state.folder
    }

    /// Has git in the idle worktrees work with settings that nobody else reads: for the commands that clear up there.
    ///
    /// # Errors
    /// A folder is not tm's any more, or the disk refused.
    pub fn seal_idle(&self) -> Result<()> {
        for folder in &self.state.idle().folders {
            let head = folder.head_that_was_left();
            head.map_or(Ok(()), |head| folder.seal(&OwnedHead::Detached(&head)))?;
        }
        Ok(())
    }

    /// Removes the idle worktrees; those that hold something stay.
    ///
    /// # Errors
    /// git refused one of them; the others are removed nevertheless.
    pub fn close(&self) -> Result<()> {
        let (folders, judges) = {
            let idle = &mut *self.state.idle();
            (take(&mut idle.folders), take(&mut idle.judges))
        };
        let judges = judges.into_iter().map(|(folder, _)| folder);
        let mut result = Ok(());
        for folder in folders.into_iter().chain(judges) {
            // What is not ignored was committed or salvaged when the worktree was given back.
            result = result.and(self.changing(|| folder.remove()));
        }
        // Those that a killed process left behind; what is in them and nowhere else is kept first.
        let pruned = self.changing(|| {
            let mut left = self
                .repository()
                .prune(self.folder(), Pruning::Done, |_| None)?
                .into_iter()
                .filter(|left| left.outcome == Pruned::Kept);
            left.try_for_each(|left| self.repository().put_away(&left.path))
        });
        result = result.and(pruned);
        self.repository().put_back_collected();
        let is_git_alone =
            std::fs::read_dir(self.folder()).is_ok_and(|entries| entries.count() == 1);
        if result.is_ok() && is_git_alone {
            // What can't be removed now is a few small files.
            let _stays = OwnGit::remove(&self.folder().join(KEPT_SETTINGS));
        }
        // Not empty when a worktree stays.
        let _stays = std::fs::remove_dir(self.folder());
        result
    }
}

fn name_of_worktree(number: u32) -> String {
    number.to_string()
}

fn name_of_judge(number: u32) -> String {
    format!("{OF_JUDGE}{number}")
}
