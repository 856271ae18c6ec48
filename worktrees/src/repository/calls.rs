//! The ways in which git is called on a repository: with whose settings, on which files, and whether it may change any.

use super::Repository;
use super::own::NO_HEAD;
use crate::files::{beginning, replace};
use crate::git::{Git, GitPlace};
use crate::nested::{ATTRIBUTES, IGNORED, assert_git_may_read};
use crate::owned::{SHORT, pointed_at};
use crate::{OrFailedTo as _, Result, RunHooks};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;

/// Commands that read the rules at the top of a checkout: attributes, also for commits alone, and patterns of what is ignored.
const READ_ATTRIBUTES: [&str; 7] = [
    "apply",
    "check-attr",
    "checkout-index",
    "diff",
    "diff-tree",
    "log",
    "merge-tree",
];
const READ_ALL_RULES: [&str; 10] = [
    "add",
    "check-ignore",
    "commit",
    "ls-files",
    "merge",
    "read-tree",
    "reset",
    "status",
    "switch",
    "update-index",
];

impl Repository {
    /// Returns the same repository, for calls of which none goes on after a moment.
    #[must_use]
    pub fn until(&self, moment: Instant) -> Self {
        let mut until = self.clone();
        until.environment = until.environment.ending(moment);
        until
    }

    /// A call that only reads, with the settings that the user's own commands have now.
    pub(crate) fn git_as_user(&self, words: &str) -> Git {
        GitPlace::of(&self.git_dir)
            .with_files(&self.checkout_root)
            .git(&self.of_user)
            .reading()
            .line(words)
    }

    /// A call that only reads, in another checkout of the user's.
    pub(crate) fn git_at_other_checkout(&self, root: &Path) -> Result<Git> {
        let git_dir = git_dir_of(root, &self.common_dir)?;
        Ok(self
            .place_of(root, &git_dir)?
            .git(&self.environment)
            .reading())
    }

    /// A call that only reads, in the user's checkout.
    pub(crate) fn git(&self, words: &str) -> Git {
        self.git_at_checkout(words).reading()
    }

    /// A call of `status` or `diff` on the files in the user's checkout. Where agents write that, what lies in repositories
    /// within is not looked at: git would ask each by its own settings, which name programs.
    pub(crate) fn git_comparing(&self, words: &str) -> Git {
        let git = match self.assert_checkout_walkable() {
            Ok(()) => self.git(words),
            Err(error) => self.git(words).refused(error),
        };
        if self.environment.is_written_by_agents() {
            git.arg("--ignore-submodules=dirty")
        } else {
            git
        }
    }

    /// A call in the user's checkout, without hooks.
    pub(crate) fn git_at_checkout(&self, words: &str) -> Git {
        let git = match self.place_of(&self.checkout_root, &self.git_dir) {
            Ok(place) => place.git(&self.environment),
            // Whoever asks for HEAD learns why it can't be read.
            Err(error) => self.git_in(&self.checkout_root).refused(error),
        };
        self.where_rules_are_read(git, words)
    }

    /// A call with these words, which is refused where it would wait for a pipe in the place of the checkout's rules.
    pub(crate) fn where_rules_are_read(&self, git: Git, words: &str) -> Git {
        let git = git.line(words);
        let is_one = |of: &[&str]| words.split_whitespace().any(|word| of.contains(&word));
        let rules: &[&str] = if is_one(&READ_ALL_RULES) {
            &[ATTRIBUTES, IGNORED]
        } else if is_one(&READ_ATTRIBUTES) {
            &[ATTRIBUTES]
        } else {
            &[]
        };
        match assert_git_may_read(&self.checkout_root, rules) {
            Ok(()) => git,
            Err(error) => git.refused(error),
        }
    }

    /// Where a call works in a checkout of the user's: with the settings that tm keeps, and the checkout's own index.
    fn place_of(&self, root: &Path, git_dir: &Path) -> Result<GitPlace> {
        let (view, index) = match &self.own {
            Some(own) => (own.view(git_dir)?, Some(git_dir.join("index"))),
            None => (git_dir.to_owned(), None),
        };
        Ok(GitPlace {
            index,
            ..GitPlace::of(view).with_files(root)
        })
    }

    /// A call on objects and refs alone, which no file of a checkout has a part in.
    pub(crate) fn git_on_objects(&self, words: &str) -> Git {
        let place = GitPlace::of(self.objects_dir());
        place.git(&self.environment).line(words)
    }

    /// git's folder for what is asked of objects and refs alone.
    pub(super) fn objects_dir(&self) -> PathBuf {
        let own = self.own.as_ref();
        own.map_or_else(|| self.common_dir.clone(), |own| own.common())
    }

    /// Returns a folder beside the objects, which goes with what is returned.
    pub(crate) fn scratch(&self) -> Result<TempDir> {
        let beside = self.objects_dir();
        tempfile::tempdir_in(&beside).or_failed_to("write", &beside)
    }

    /// Returns such a folder as a git folder of these objects in which nothing else is.
    pub(crate) fn scratch_git_dir(&self) -> Result<TempDir> {
        let folder = self.scratch()?;
        let common = [self.objects_dir().as_os_str().as_bytes(), b"\n"].concat();
        replace(&folder.path().join("commondir"), &common)?;
        replace(&folder.path().join("HEAD"), NO_HEAD)?;
        Ok(folder)
    }

    /// A call on git's list of worktrees: the real one.
    pub(crate) fn git_on_worktrees(&self, words: &str) -> Git {
        let place = GitPlace::of(&self.common_dir);
        self.published(place.git(&self.environment)).line(words)
    }

    /// A call that finds what was made in this run although it works in the repository itself.
    fn published(&self, git: Git) -> Git {
        match self.publish_objects() {
            Ok(()) => git,
            Err(error) => git.refused(error),
        }
    }

    /// A call in a folder of the user's, where git finds out itself what belongs to it.
    pub(crate) fn git_in(&self, folder: &Path) -> Git {
        Git::new(&self.environment, folder)
    }

    /// A call in the user's checkout as the user would make it, with hooks.
    pub(crate) fn git_with_hooks(&self, words: &str) -> Git {
        self.git_with(RunHooks::Yes, words)
    }

    /// As `git_with_hooks`, where it depends whether any is to be run.
    pub(crate) fn git_with(&self, hooks: RunHooks, words: &str) -> Git {
        let git = Git::unattended(&self.environment, &self.checkout_root, hooks);
        self.where_rules_are_read(self.published(git), words)
    }
}

/// Returns git's own folder of a checkout, as the checkout says it.
fn git_dir_of(root: &Path, common_dir: &Path) -> Result<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return Ok(common_dir.to_owned());
    }
    let text = beginning(&dot_git, SHORT)?;
    Ok(root.join(pointed_at(&text)))
}
