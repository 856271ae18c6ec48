//! Worktrees that are used again and again: reset and cleaned, never added and removed per task.

use crate::collection::NoCollection;
use crate::git::Hooks;
use crate::prune::Pruned;
use crate::refs::BranchStart;
use crate::worktree::Worktree;
use crate::{BranchName, Error, MergePreview, Repository};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tm_scheduler::CommitId;

/// The message of a merge that is made only to be tested.
pub(crate) const MERGE_TO_TEST: &str = "tm: a merge to be tested";

/// The worktrees of one run.
#[derive(Clone, Debug)]
pub struct WorktreePool {
    repository: Repository,
    folder: PathBuf,
    state: Arc<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    idle: Mutex<Vec<PathBuf>>,
    next: AtomicU32,
    /// Held while git's list of worktrees changes; git itself stumbles over half-written entries.
    changing: Mutex<()>,
    no_collection: NoCollection,
}

/// A worktree on no branch, for measuring; given back with `release`.
#[derive(Debug)]
pub struct DetachedWorktree {
    pool: WorktreePool,
    path: PathBuf,
}

impl WorktreePool {
    /// Opens the pool in a folder; while it is open, `git gc` is kept out. Worktrees that are there from an earlier process are left alone until they are
    /// taken over.
    ///
    /// # Errors
    /// The folder can't be made or read.
    pub fn open(repository: Repository, folder: PathBuf) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        let entries = std::fs::read_dir(&folder).map_err(Error::file("read", &folder))?;
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let next = AtomicU32::new(numbers.max().unwrap_or(0) + 1);
        let state = PoolState {
            idle: Mutex::new(Vec::new()),
            next,
            changing: Mutex::new(()),
            no_collection: NoCollection::hold(repository.common_dir()),
        };
        Ok(Self { repository, folder, state: Arc::new(state) })
    }

    pub(crate) const fn repository(&self) -> &Repository {
        &self.repository
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.state.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives out a worktree on `base`, on the branch, which is made or moved there.
    ///
    /// # Errors
    /// The base does not contain one of `must_contain`, the branch is not what `start` says, or git refused.
    pub fn check_out(
        &self,
        branch: &BranchName,
        start: &BranchStart,
        base: &CommitId,
        must_contain: &[CommitId],
    ) -> Result<Worktree, Error> {
        for commit in must_contain {
            if !self.repository.is_ancestor(commit, base)? {
                return Err(Error::MissingDependency { base: base.clone(), missing: commit.clone() });
            }
        }
        self.repository.assert_not_protected(branch)?;
        let path = self.clean_worktree(base)?;
        let placed = self.repository.move_branch(branch, base, start).and_then(|()| {
            let reference = branch.reference();
            self.repository.git_in(&path, Hooks::Off).args(["symbolic-ref", "-m", "tm", "HEAD", &reference]).done()
        });
        if let Err(error) = placed {
            self.idle().push(path);
            return Err(error);
        }
        let worktree = Worktree::new(self.clone(), path, branch.clone(), base.clone());
        worktree.assert_on_base()?;
        Ok(worktree)
    }

    /// Takes over a worktree that an earlier process gave out.
    ///
    /// # Errors
    /// It is not of this pool, or it is gone.
    pub fn take_over(&self, path: &Path, branch: &BranchName, base: &CommitId) -> Result<Worktree, Error> {
        let refuse = |why: &'static str| Error::NotInPool { path: path.to_owned(), why };
        // A repository that was moved has its worktrees elsewhere now, under the same names.
        let names = |path: &Path| Some((path.parent()?.file_name()?.to_owned(), path.file_name()?.to_owned()));
        let name = match (names(path), self.folder.file_name()) {
            (Some((run, name)), Some(own)) if run == own => name,
            _ => return Err(refuse("it is somewhere else")),
        };
        let path = &self.folder.join(name);
        if !path.join(".git").exists() {
            return Err(refuse("it is gone"));
        }
        self.idle().retain(|idle| idle != path);
        Ok(Worktree::new(self.clone(), path.to_owned(), branch.clone(), base.clone()))
    }

    /// Gives out a worktree on a commit and no branch.
    ///
    /// # Errors
    /// git refused.
    pub fn check_out_detached(&self, commit: &CommitId) -> Result<DetachedWorktree, Error> {
        Ok(DetachedWorktree { path: self.clean_worktree(commit)?, pool: self.clone() })
    }

    /// Gives out a worktree on a merge that is on no branch yet.
    ///
    /// # Errors
    /// git refused.
    pub fn check_out_merge(&self, preview: &MergePreview) -> Result<DetachedWorktree, Error> {
        let commit = self.repository.merge_commit(preview, &format!("{MERGE_TO_TEST}\n"))?;
        self.check_out_detached(&commit)
    }

    /// Returns an idle worktree, or a new one, detached on the commit and without anything that is not in it but
    /// ignored files, which are dependencies and build results more often than not.
    fn clean_worktree(&self, commit: &CommitId) -> Result<PathBuf, Error> {
        self.state.no_collection.renew();
        let idle = self.idle().pop();
        let path = match idle {
            Some(path) if path.join(".git").exists() => path,
            Some(_) | None => self.add(commit)?,
        };
        let cleaned = self.reset(&path, commit);
        if cleaned.is_err() {
            // It is left as it is: somebody may want to see why.
            return cleaned.map(|()| path);
        }
        Ok(path)
    }

    fn reset(&self, path: &Path, commit: &CommitId) -> Result<(), Error> {
        let git = || self.repository.git_in(path, Hooks::Off);
        git().args(["reset", "--hard", "--quiet"]).commit(commit).done()?;
        git().args(["clean", "-ffdq"]).done()
    }

    /// Adds a worktree without its files; those come with the reset, outside the lock.
    fn add(&self, commit: &CommitId) -> Result<PathBuf, Error> {
        let path = self.folder.join(self.state.next.fetch_add(1, Ordering::Relaxed).to_string());
        self.changing(|| {
            self.repository
                .git_in(self.repository.checkout_root(), Hooks::Off)
                .args(["worktree", "add", "--detach", "--no-checkout", "--lock", "--reason", "in use by tm", "--quiet"])
                .arg(&path)
                .commit(commit)
                .done()
        })?;
        Ok(path)
    }

    /// Holds the locks, of this process and of all, under which git's list of worktrees changes.
    fn changing<T>(&self, change: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let _in_this_process = self.state.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.repository.changing_worktrees(change)
    }

    /// Takes a worktree back, whatever is in it: it is reset before it is used again.
    pub(crate) fn give_back(&self, path: PathBuf) {
        self.idle().push(path);
    }

    /// Removes the idle worktrees; those that hold something stay.
    ///
    /// # Errors
    /// git refused one of them; the others are removed nevertheless.
    pub fn close(&self) -> Result<(), Error> {
        let idle = std::mem::take(&mut *self.idle());
        let mut result = Ok(());
        for path in idle {
            let removed = self.remove(&path);
            result = result.and(removed);
        }
        // Those that a killed process left behind; what is in them and nowhere else is kept first.
        let pruned = self.changing(|| {
            for left in self.repository.prune(&self.folder)?.into_iter().filter(|left| left.outcome == Pruned::Kept) {
                self.repository.put_away(&left.path)?;
            }
            Ok(())
        });
        result = result.and(pruned);
        // Not empty when a worktree stays.
        let _stays = std::fs::remove_dir(&self.folder);
        result
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        let git = || self.repository.git_in(self.repository.checkout_root(), Hooks::Off).arg("worktree");
        self.changing(|| {
            git().arg("unlock").arg(path).done()?;
            // What is not ignored was committed or salvaged when the worktree was given back.
            git().args(["remove", "--force"]).arg(path).done()
        })
    }
}

impl DetachedWorktree {
    /// Returns its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it back.
    ///
    /// # Errors
    /// Never now; what was left in it is removed before it is used again.
    pub fn release(self) -> Result<(), Error> {
        self.pool.give_back(self.path);
        Ok(())
    }
}
