//! One task's worktree: what the agent left there is taken as a tree, committed by that tree's id, or kept elsewhere.
//!
//! The folder is the agent's, so nothing in it is believed: not its index, not its HEAD, not git's own files.

use super::WorktreePool;
use super::salvage::{refused_work, salvage};
use crate::hooks::{Hooked, HookedCommit, HookedWork, RunHook};
use crate::owned::{Lister, Looker, OwnedFolder, OwnedHead};
use crate::{Error, PathPatterns, PrivateGit, Repository, Result, TreeId};
use parking_lot::{Mutex, MutexGuard};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_scheduler::{BranchName, CommitId};

/// So many paths that are left out are named at the most.
const SHOWN: usize = 20;
/// Folders and files that tools leave behind and nobody looks for in a commit.
const OF_TOOLS: [&str; 7] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    "node_modules",
    "target",
    ".DS_Store",
];

/// A worktree that is in use.
#[derive(Debug)]
pub struct Worktree {
    pool: WorktreePool,
    /// Whoever looks there meanwhile has it too.
    folder: Arc<OwnedFolder>,
    branch: BranchName,
    base: CommitId,
    /// What was taken before it was asked for.
    taken: Mutex<Option<Box<Captured>>>,
}

/// What would be committed.
#[derive(Debug)]
pub struct Captured {
    /// The tree.
    pub tree: TreeId,
    /// Whether it differs from the base's.
    pub changed_from_base: bool,
    /// Changed paths that are never committed, and so are as in the base.
    pub never_committed: Vec<PathBuf>,
    /// Paths that the rules of the tree leave out, such as those in `.gitignore`; bounded.
    pub ignored: Vec<PathBuf>,
}

impl Worktree {
    pub(crate) fn new(
        pool: &WorktreePool,
        folder: OwnedFolder,
        branch: &BranchName,
        base: &CommitId,
    ) -> Self {
        Self {
            pool: pool.clone(),
            folder: Arc::new(folder),
            branch: branch.clone(),
            base: base.clone(),
            taken: Mutex::new(None),
        }
    }

    /// Returns its folder.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Returns its branch.
    pub const fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// Returns the commit that the work started from.
    pub const fn base(&self) -> &CommitId {
        &self.base
    }

    /// Returns the repository as it is seen from here: it has what was taken here, which nobody else may have yet.
    pub fn repository(&self) -> &Repository {
        &self.folder.repository
    }

    /// Returns the commit that whoever worked here left it at, as far as that is one; else the base.
    pub(crate) fn head(&self) -> CommitId {
        self.folder
            .head_that_was_left()
            .unwrap_or_else(|| self.base.clone())
    }

    /// Leaves untracked paths alone from now on, which tm itself put there or the user lets stay: they are part of no work.
    ///
    /// # Errors
    /// It can't be written down.
    pub fn keep(&mut self, paths: &[PathBuf]) -> Result<()> {
        Arc::make_mut(&mut self.folder).keep(paths)
    }

    /// Returns what lists the untracked files here.
    pub fn lister(&self) -> Lister {
        Lister(Arc::clone(&self.folder))
    }

    /// Returns what looks at the files here while somebody works with them.
    pub fn looker(&self) -> Looker {
        Looker {
            folder: Arc::clone(&self.folder),
            base: self.base.clone(),
        }
    }

    /// Moves to another base before anybody has worked there: branch, files, and what the agent finds.
    ///
    /// # Errors
    /// The branch is elsewhere, or git refused.
    pub fn move_to_base(&mut self, base: &CommitId) -> Result<()> {
        let start = Some(&self.base);
        self.repository().move_branch(&self.branch, base, start)?;
        self.base = base.clone();
        self.go_back_to(base)
    }

    /// Says that somebody is about to write in the folder: what was taken ahead is no longer what is there.
    pub fn is_written_to(&self) {
        *self.taken() = None;
    }

    fn taken(&self) -> MutexGuard<'_, Option<Box<Captured>>> {
        self.taken.lock()
    }

    /// Has `capture` go through the folder now, for the next one who asks: nobody may write there until then. Where it
    /// would have to put something of the repository back first, it waits until somebody has seen that.
    pub fn capture_ahead(&self, never_commit: &PathPatterns) {
        if !self.folder.own_git().alternates_are_as_at_start() {
            return;
        }
        // What can't be taken is told to whoever asks.
        let captured = self.look_and_capture(never_commit).ok();
        *self.taken() = captured.map(Box::new);
    }

    /// Takes everything that the agent left as a tree, but for what is never committed, whose content is the base's.
    ///
    /// # Errors
    /// What is there can't be taken (`Error::is_of_work` tells so), or git refused.
    pub fn capture(&self, never_commit: &PathPatterns) -> Result<Captured> {
        let taken = self.taken().take();
        taken.map_or_else(|| self.look_and_capture(never_commit), |taken| Ok(*taken))
    }

    fn look_and_capture(&self, never_commit: &PathPatterns) -> Result<Captured> {
        self.folder.assert_own()?;
        let changed = self.folder.changed_git_files();
        if !changed.is_empty() {
            return Err(Error::GitFilesChanged(changed));
        }
        // What is refused is in the files.
        let _refused = self.bring_home()?;
        match self.capture_once(never_commit) {
            Err(error) if error.is_of_collected_objects() => {
                // The index says of files that they are in the object store, and another git has collected them.
                self.folder.forget_index(&self.base)?;
                self.capture_once(never_commit).map_err(refused_work)
            }
            captured => captured.map_err(refused_work),
        }
    }

    /// As `capture`, with every object written again: another git may have collected those that nothing held.
    ///
    /// # Errors
    /// As `capture`.
    pub fn capture_again(&self, never_commit: &PathPatterns) -> Result<Captured> {
        self.folder.assert_own()?;
        self.folder.forget_index(&self.base)?;
        self.look_and_capture(never_commit)
    }

    fn capture_once(&self, never_commit: &PathPatterns) -> Result<Captured> {
        self.folder.add()?;
        let kept = self.folder.kept();
        let is_kept = |path: &PathBuf| kept.iter().any(|kept| path.starts_with(kept));
        let mut ignored = self.folder.ignored()?;
        ignored.retain(|path| !is_kept(path));
        let forced = if ignored.is_empty() {
            Vec::new()
        } else {
            self.folder.forced_by_others()
        };
        self.folder.add_forced(&forced)?;
        let whole = self.folder.write_tree()?;
        let repository = self.repository();
        let (tree, never_committed) = repository.committable(&whole, &self.base, never_commit)?;
        let changed_from_base = tree != self.repository().tree_of(&self.base)?;
        let is_left_out = |path: &PathBuf| !is_of_tools(path) && !forced.contains(path);
        let ignored = ignored
            .into_iter()
            .filter(is_left_out)
            .take(SHOWN)
            .collect();
        Ok(Captured {
            tree,
            changed_from_base,
            never_committed,
            ignored,
        })
    }

    /// Puts the task's branch at a commit of tm's, whatever the agent did with the branch; commits of the agent's that are
    /// not in it are kept under `keep_as`.
    ///
    /// # Errors
    /// The branch is protected, somebody moves it again and again, or git refused.
    pub fn put_branch_at(&self, commit: &CommitId, keep_as: &str) -> Result<()> {
        let repository = self.repository();
        let tip = repository.branch_tip(&self.branch)?;
        let left = self.folder.head_that_was_left();
        for work in tip.iter().chain(&left) {
            repository.keep_unless_in(commit, work, keep_as)?;
        }
        let start = repository.branch_tip(&self.branch)?;
        repository.move_branch(&self.branch, commit, start.as_ref())
    }

    /// Shows whoever looks into the folder that it is at a commit of the task's branch, without touching a file.
    ///
    /// # Errors
    /// The folder is not tm's any more, or the disk refused.
    pub fn show_at_branch(&self) -> Result<()> {
        self.folder.assert_own()?;
        self.folder.publish(&OwnedHead::Branch(&self.branch))
    }

    /// Has git here work with settings that nobody else reads, until `show_at_branch` or `go_back_to`: for commands that
    /// tm runs itself.
    ///
    /// # Errors
    /// The folder is not tm's any more, or the disk refused.
    pub fn seal(&self) -> Result<()> {
        self.folder.seal(&OwnedHead::Detached(&self.base))
    }

    /// Has git here work with a git folder of its own, which reads the repository's objects and writes nothing that is
    /// the repository's, until `bring_home`. Where it has one already, that one stays as it is: somebody may be at work.
    ///
    /// # Errors
    /// The folder is not tm's any more, git refused, or the disk did.
    pub fn begin_private(&self) -> Result<PrivateGit> {
        self.folder.begin_private(&self.branch, &self.base)
    }

    /// Takes over what was committed with the git folder of its own, as if that had been done in the repository: the
    /// commits of the task's branch and of HEAD. Then git here works with the repository again, and the folder is
    /// forgotten. Nothing is done where there is none. To be called when nobody is at work any more; whatever takes or
    /// keeps the work, or makes the folder ready for somebody else, does it too.
    ///
    /// Returns in words why commits are not taken over; the branch is where it was then, and the files here are as they
    /// are.
    ///
    /// # Errors
    /// The surroundings refused, such as a full disk: the folder is kept, and the same can be tried again.
    pub fn bring_home(&self) -> Result<Option<String>> {
        self.folder.bring_home()
    }

    /// Commits what the agent left uncommitted, on top of the commits that it made, signed as the user has it set up, and with
    /// hooks where something is given that starts them; `None` when there is nothing.
    ///
    /// # Errors
    /// As `capture`; or a hook or git refused, or a hook could not be run.
    pub fn commit_rest<E: From<Error>>(
        &self,
        never_commit: &PathPatterns,
        message: &str,
        run: Option<RunHook<'_, E>>,
    ) -> std::result::Result<Option<CommitId>, E> {
        let repository = self.repository();
        let captured = self.capture(never_commit)?;
        let head = self
            .folder
            .head_that_was_left()
            .filter(|head| repository.is_ancestor(&self.base, head).unwrap_or(false))
            .unwrap_or_else(|| self.base.clone());
        repository.assert_committed_walkable(&head)?;
        if captured.tree == repository.tree_of(&head)? {
            return Ok(None);
        }
        let staged = |tree| self.folder.stage(tree, &OwnedHead::Branch(&self.branch));
        staged(&captured.tree)?;
        let unhooked = || Hooked {
            tree: captured.tree.clone(),
            message: message.to_owned(),
        };
        let commit = HookedCommit {
            work: HookedWork::Commit,
            branch: Some(&self.branch),
            on: &head,
            merged: None,
            tree: &captured.tree,
            message,
            never_commit,
        };
        let run = run.map(|run| crate::hooks::run(&self.folder, &commit, run));
        if run.is_some() {
            // Whatever they say, they had a git folder of their own.
            self.show_at_branch()?;
        }
        let Hooked { tree, message } = run.transpose()?.unwrap_or_else(unhooked);
        if tree != captured.tree {
            staged(&tree)?;
        }
        let commit = repository.commit_as_user(&tree, &[&head], &message)?;
        self.put_branch_at(&commit, &format!("refs/tm/salvage/{}", self.branch))?;
        self.show_at_branch()?;
        Ok(Some(commit))
    }

    /// Brings the files back to a commit of this attempt; what is not part of it goes.
    ///
    /// # Errors
    /// git refused.
    pub fn go_back_to(&self, commit: &CommitId) -> Result<()> {
        self.folder.check_out(
            commit,
            &OwnedHead::Branch(&self.branch),
            &self.folder.kept(),
            None,
        )
    }

    /// Tells whether everything that would be committed is.
    ///
    /// # Errors
    /// git refused.
    pub fn is_clean(&self) -> Result<bool> {
        let Some(tip) = self.repository().branch_tip(&self.branch)? else {
            return Ok(false);
        };
        Ok(self.folder.tree()? == self.repository().tree_of(&tip)?)
    }

    /// Returns everything that is here as a tree, without what the tree's own rules leave out.
    ///
    /// # Errors
    /// git refused.
    pub fn tree(&self) -> Result<TreeId> {
        self.folder.tree()
    }

    /// Keeps everything that is here and not in the base under a name of tm's own, without touching a file, the agent's
    /// index or a branch; `None` when there is nothing.
    ///
    /// # Errors
    /// git refused.
    pub fn salvage(&self, reference: &str, message: &str) -> Result<Option<CommitId>> {
        salvage(&self.folder, &self.base, reference, message)
    }

    /// Gives the worktree back and leaves its branch free for the user to check out.
    ///
    /// # Errors
    /// The folder is not tm's any more, or git refused; it is left as it is then, and not used again.
    pub fn release(self) -> Result<()> {
        self.folder.assert_own()?;
        self.folder.publish(&OwnedHead::Detached(&self.base))?;
        self.pool.give_back(Arc::unwrap_or_clone(self.folder));
        Ok(())
    }
}

fn is_of_tools(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    OF_TOOLS.iter().any(|known| name == *known)
        || path.extension().is_some_and(|extension| extension == "pyc")
}
