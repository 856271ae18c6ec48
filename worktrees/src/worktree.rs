//! One task's worktree: what the agent left there is staged, committed, or kept elsewhere.

use crate::git::{Hooks, fields, path_of};
use crate::pool::WorktreePool;
use crate::{BranchName, Error, PathPatterns, TreeId};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_scheduler::CommitId;

/// The variable by which the processes of a commit are known.
const COMMITS_IN: &str = "TM_COMMITS_IN";
/// The variable that keeps what a commit leaves behind on purpose, such as the agent that holds the key for signing,
/// from being taken for what an agent left behind.
const SPARED: &str = "TM_SPARED";
/// A lock that is found on the index is looked at again after these pauses (milliseconds) before it is removed.
const LOCK_PAUSES: [u64; 5] = [20, 60, 180, 540, 1_000];

/// A worktree that is in use.
#[derive(Debug)]
pub struct Worktree {
    pool: WorktreePool,
    path: PathBuf,
    branch: BranchName,
    base: CommitId,
}

/// What would be committed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Staged {
    /// The tree.
    pub tree: TreeId,
    /// Whether it differs from the base's.
    pub changed_from_base: bool,
    /// Changed paths that are never committed, and so are as in the base.
    pub left_out: Vec<PathBuf>,
}

impl Worktree {
    pub(crate) const fn new(pool: WorktreePool, path: PathBuf, branch: BranchName, base: CommitId) -> Self {
        Self { pool, path, branch, base }
    }

    /// Returns its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its branch.
    pub const fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// Returns the commit that the work started from.
    pub const fn base(&self) -> &CommitId {
        &self.base
    }

    fn git(&self) -> crate::git::Git {
        self.pool.repository().git_in(&self.path, Hooks::Off)
    }

    fn head(&self) -> Result<CommitId, Error> {
        self.git().args(["rev-parse", "--verify", "HEAD^{commit}"]).object_id().map(CommitId::new)
    }

    pub(crate) fn assert_on_base(&self) -> Result<(), Error> {
        if self.head()? == self.base {
            return Ok(());
        }
        Err(Error::WrongHead { path: self.path.clone(), expected: self.base.to_string() })
    }

    /// Stages everything that the agent left, but for what is never committed, whose content goes back to the base's.
    ///
    /// Commits that the agent made stay beneath, when they are made on the base; otherwise only their content counts.
    ///
    /// # Errors
    /// git refused, or there are repositories within the worktree.
    pub fn stage(&self, never_commit: &PathPatterns) -> Result<Staged, Error> {
        self.remove_abandoned_lock()?;
        match self.stage_once(never_commit) {
            Err(error) if error.is_of_collected_objects() => {
                // The index says of files that they are in the object store, and another git has collected them.
                self.git().args(["read-tree", "HEAD"]).done()?;
                self.stage_once(never_commit)
            }
            staged => staged,
        }
    }

    /// Removes the lock of a git that was killed with the agent, or with tm: nobody else works on the index of this worktree, and
    /// whoever does is given a moment.
    fn remove_abandoned_lock(&self) -> Result<(), Error> {
        let lock = self.git_dir()?.join("index.lock");
        for pause in LOCK_PAUSES {
            if !lock.exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(pause));
        }
        match std::fs::remove_file(&lock) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", &lock)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns git's own folder of this worktree, as the file `.git` names it.
    fn git_dir(&self) -> Result<PathBuf, Error> {
        let link = self.path.join(".git");
        let text = match std::fs::read(&link) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NotInPool { path: self.path.clone(), why: "it is gone" });
            }
            text => text.map_err(Error::file("read", &link))?,
        };
        let text = text.strip_prefix(b"gitdir: ").unwrap_or(&text);
        Ok(path_of(text.strip_suffix(b"\n").unwrap_or(text)))
    }

    fn stage_once(&self, never_commit: &PathPatterns) -> Result<Staged, Error> {
        self.back_to_branch()?;
        self.git().args(["add", "--all", "--", "."]).done()?;
        let left_out = self.unstage(never_commit)?;
        self.refuse_nested()?;
        let tree = TreeId(self.git().arg("write-tree").object_id()?);
        let changed_from_base = tree != self.pool.repository().tree_of(&self.base)?;
        Ok(Staged { tree, changed_from_base, left_out })
    }

    /// Puts HEAD on the task's branch, wherever the agent left it, without touching a file.
    fn back_to_branch(&self) -> Result<(), Error> {
        let repository = self.pool.repository();
        repository.assert_not_protected(&self.branch)?;
        let head = self.head().ok();
        let is_there = head.is_some();
        let head = head.unwrap_or_else(|| self.last_head());
        let reference = self.branch.reference();
        let current = self.git().args(["symbolic-ref", "--quiet", "HEAD"]).text_if_any()?;
        let keeps_commits = repository.is_ancestor(&self.base, &head)?;
        if is_there && current.as_deref() == Some(&reference) && keeps_commits {
            return Ok(());
        }
        let commit = if keeps_commits { head } else { self.base.clone() };
        self.git().args(["update-ref", "-m", "tm", &reference]).commit(&commit).done()?;
        self.git().args(["symbolic-ref", "-m", "tm", "HEAD", &reference]).done()
    }

    /// Returns the files that a commit of what is staged would change against the base.
    ///
    /// # Errors
    /// git refused.
    pub fn staged_files(&self) -> Result<Vec<String>, Error> {
        let git = self.git().reading().args(["diff", "--cached", "--name-only", "--no-renames", "-z"]);
        let listing = git.commit(&self.base).bytes()?;
        Ok(fields(&listing).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Returns where HEAD was before its branch was deleted, as its log has it; the base where that tells nothing.
    fn last_head(&self) -> CommitId {
        let log = self.git_dir().and_then(|folder| {
            let path = folder.join("logs/HEAD");
            std::fs::read_to_string(&path).map_err(Error::file("read", &path))
        });
        let log = log.unwrap_or_default();
        let last = log.lines().last().and_then(|line| line.split(' ').nth(1)).map(CommitId::new);
        let is_whole = |commit: &CommitId| self.pool.repository().is_ancestor(&self.base, commit).unwrap_or(false);
        last.filter(is_whole).unwrap_or_else(|| self.base.clone())
    }

    fn unstage(&self, never_commit: &PathPatterns) -> Result<Vec<PathBuf>, Error> {
        let base = &self.base;
        let listing =
            self.git().args(["diff", "--cached", "--name-only", "--no-renames", "-z"]).commit(base).bytes()?;
        let mut paths: Vec<u8> = Vec::new();
        let mut left_out = Vec::new();
        for path in fields(&listing).filter(|path| never_commit.covers(&path_of(path))) {
            paths.extend_from_slice(path);
            paths.push(0);
            left_out.push(path_of(path));
        }
        if paths.is_empty() {
            return Ok(left_out);
        }
        self.git()
            .args(["reset", "--quiet"])
            .commit(base)
            .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(paths)
            .done()?;
        Ok(left_out)
    }

    fn refuse_nested(&self) -> Result<(), Error> {
        let listing =
            self.git().args(["diff", "--cached", "--raw", "--no-renames", "-z"]).commit(&self.base).bytes()?;
        let mut entries = fields(&listing);
        let mut paths = Vec::new();
        while let (Some(modes), Some(path)) = (entries.next(), entries.next()) {
            let modes = String::from_utf8_lossy(modes);
            let mut modes = modes.trim_start_matches(':').split(' ');
            if modes.next() != Some("160000") && modes.next() == Some("160000") {
                paths.push(path_of(path));
            }
        }
        if paths.is_empty() { Ok(()) } else { Err(Error::NestedRepositories { paths }) }
    }

    /// Returns the variable, and its value, that git and the hooks have in their environment while they commit here.
    pub fn commit_mark(&self) -> (&'static str, String) {
        (COMMITS_IN, self.path.display().to_string())
    }

    /// Commits what is staged, on the task's branch, with hooks and signing as the user has them set up.
    ///
    /// # Errors
    /// A hook or git refused (`CommitRefused`, with its words), or HEAD is not on the task's branch.
    pub fn commit(&self, message: &str) -> Result<CommitId, Error> {
        let repository = self.pool.repository();
        repository.assert_not_protected(&self.branch)?;
        let reference = self.branch.reference();
        let current = self.git().args(["symbolic-ref", "--quiet", "HEAD"]).text_if_any()?;
        if current.as_deref() != Some(&reference) {
            return Err(Error::WrongHead { path: self.path.clone(), expected: self.branch.to_string() });
        }
        if self.head().is_err() {
            // Somebody deleted the branch: git would make a commit without a parent.
            self.back_to_branch()?;
        }
        self.remove_abandoned_lock()?;
        let answer = repository
            .git_in(&self.path, Hooks::Configured)
            .variable(COMMITS_IN, self.commit_mark().1)
            .variable(SPARED, "1")
            .args(["commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "-F", "-"])
            .input(message)
            .once()
            .answer()?;
        if answer.code != 0 {
            let printed = String::from_utf8_lossy(&answer.stdout).into_owned();
            let output = format!("{printed}{}", answer.stderr).trim().to_owned();
            return Err(Error::CommitRefused { output });
        }
        self.head()
    }

    /// Commits what the agent left uncommitted, on top of the commits that it made; `None` when there is nothing.
    ///
    /// # Errors
    /// As `stage` and `commit`.
    pub fn commit_rest(&self, never_commit: &PathPatterns, message: &str) -> Result<Option<CommitId>, Error> {
        let staged = self.stage(never_commit)?;
        if staged.tree == self.pool.repository().tree_of(&self.head()?)? {
            return Ok(None);
        }
        self.commit(message).map(Some)
    }

    /// Brings the task's branch and the files back to a commit of this attempt; ignored files stay.
    ///
    /// # Errors
    /// git refused.
    pub fn go_back_to(&self, commit: &CommitId) -> Result<(), Error> {
        let reference = self.branch.reference();
        self.pool.repository().assert_not_protected(&self.branch)?;
        self.git().args(["symbolic-ref", "-m", "tm", "HEAD", &reference]).done()?;
        self.git().args(["reset", "--hard", "--quiet"]).commit(commit).done()?;
        self.git().args(["clean", "-ffdq"]).done()
    }

    /// Tells whether nothing is staged, changed or untracked.
    ///
    /// # Errors
    /// git refused.
    pub fn is_clean(&self) -> Result<bool, Error> {
        Ok(self.git().reading().args(["status", "--porcelain=v1", "-z"]).bytes()?.is_empty())
    }

    /// Keeps everything that is here and not in the base under a name of tm's, without touching a file, the index or a
    /// branch; `None` when there is nothing.
    ///
    /// # Errors
    /// git refused.
    pub fn salvage(&self, reference: &str, message: &str) -> Result<Option<CommitId>, Error> {
        let repository = self.pool.repository();
        let head = self.head().unwrap_or_else(|_| self.last_head());
        let tree = repository.tree_of_checkout(&self.path)?;
        if head == self.base && tree == repository.tree_of(&self.base)? {
            return Ok(None);
        }
        let commit =
            if tree == repository.tree_of(&head)? { head } else { repository.commit_tree(&tree, &[&head], message)? };
        repository.keep(reference, &commit)?;
        Ok(Some(commit))
    }

    /// Gives the worktree back and leaves its branch free for the user to check out.
    ///
    /// # Errors
    /// git refused; the worktree is left as it is then, and not used again.
    pub fn release(self) -> Result<(), Error> {
        self.git().args(["checkout", "--quiet", "--detach", "--force"]).done()?;
        self.pool.give_back(self.path);
        Ok(())
    }
}
