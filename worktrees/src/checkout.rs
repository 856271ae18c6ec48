//! Work in the checkout that a person or an agent sits in: its branch, what is changed there, its commits.
//!
//! Everything here that commits or creates a branch asserts first that it is not on the default branch. Nothing is
//! forced, and nothing that is not committed is touched.

use crate::branch::BranchName;
use crate::git::{Git, fields, joined};
use crate::{Error, PathPatterns, Protection, Repository, Result, TreeId};
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

/// Names that are default branches wherever they are in use.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// The checkout that a repository was found from.
#[derive(Clone, Debug)]
pub struct Checkout {
    repository: Repository,
}

/// Which files a commit takes.
#[derive(Clone, Copy, Debug)]
pub enum CommitFiles<'a> {
    /// Everything that is changed, but for these.
    AllBut(&'a PathPatterns),
    /// These alone, relative to the top of the checkout.
    Only(&'a [String]),
}

/// Whether the user's hooks are run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunHooks {
    /// As the user's git does.
    Yes,
    /// None is.
    No,
}

impl Checkout {
    /// Takes the checkout of a repository.
    pub const fn of(repository: Repository) -> Self {
        Self { repository }
    }

    /// Returns the repository.
    pub const fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the top of the checkout.
    pub fn root(&self) -> &Path {
        self.repository.checkout_root()
    }

    /// Returns the git folder of this checkout alone: a linked worktree has one of its own.
    pub fn git_dir(&self) -> &Path {
        self.repository.git_dir()
    }

    /// Returns every checkout of the repository as its git folder and its top: this one, the main one, linked ones.
    pub fn all(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut found = vec![(self.git_dir().to_owned(), self.root().to_owned())];
        found.extend(self.repository.main_and_linked());
        found.sort();
        found.dedup_by(|one, other| one.0 == other.0);
        found
    }

    /// A call without hooks.
    fn git(&self, words: &str) -> Git {
        self.repository.git_in(self.root()).line(words)
    }

    /// Returns the paths that differ from HEAD, untracked files one by one, without those that `ignored` covers.
    ///
    /// # Errors
    /// git refused.
    pub fn changed_paths(&self, ignored: &PathPatterns) -> Result<Vec<PathBuf>> {
        Ok(self
            .git("status --untracked-files=all")
            .reading()
            .statuses()?
            .into_iter()
            .map(|(_, path)| path)
            .filter(|path| !ignored.covers(path))
            .collect())
    }

    /// Returns the files that git knows or would add.
    ///
    /// # Errors
    /// git refused.
    pub fn files(&self) -> Result<Vec<String>> {
        let listing = self
            .git("ls-files -z --cached --others --exclude-standard --deduplicate")
            .reading()
            .bytes()?;
        let name = |path| String::from_utf8_lossy(path).into_owned();
        Ok(fields(&listing).map(name).collect())
    }

    /// Refuses the default branch.
    ///
    /// # Errors
    /// The branch is one that commits never go to.
    pub fn assert_not_default(&self, branch: &BranchName) -> Result<()> {
        let name = branch.as_str();
        let is_default = USUAL_DEFAULTS.contains(&name)
            || self.repository.default_branch()?.as_deref() == Some(name);
        if !is_default {
            return Ok(());
        }
        Err(Error::RefusedDefaultBranch {
            branch: branch.clone(),
            protection: Protection::Default,
        })
    }

    /// Refuses a checkout whose HEAD is not on this branch, and the default branch.
    ///
    /// # Errors
    /// HEAD is elsewhere.
    pub fn assert_on(&self, branch: &BranchName) -> Result<()> {
        self.assert_not_default(branch)?;
        if self.repository.head()?.branch.as_deref() == Some(branch.as_str()) {
            return Ok(());
        }
        Err(Error::WrongHead {
            path: self.root().to_owned(),
            expected: branch.to_string(),
        })
    }

    /// Creates a branch at HEAD and switches to it; a checkout that is on it already stays there.
    ///
    /// # Errors
    /// The branch is the default one or belongs to other work.
    pub fn start_branch(&self, branch: &BranchName) -> Result<()> {
        self.assert_not_default(branch)?;
        if self.assert_on(branch).is_ok() {
            return Ok(());
        }
        if let Some(at) = self.repository.branch_tip(branch)? {
            return Err(Error::BranchTaken {
                branch: branch.clone(),
                at,
            });
        }
        self.repository
            .git_with_hooks("switch --quiet --no-track --create")
            .arg(branch.as_str())
            .once()
            .done()
    }

    /// Switches to a branch, or to a commit on none; what is not committed has to fit there.
    ///
    /// # Errors
    /// git refused.
    pub fn switch_to(&self, branch: Option<&str>, commit: &CommitId) -> Result<()> {
        let git = self
            .repository
            .git_with_hooks("switch --quiet --no-overwrite-ignore")
            .once();
        match branch {
            Some(branch) => git.arg(BranchName::new(branch)?.as_str()).done(),
            None => git.arg("--detach").commit(commit).done(),
        }
    }

    /// Deletes a branch after keeping its commit under a name of tm's own.
    ///
    /// # Errors
    /// It is the default one or checked out somewhere, or git refused.
    pub fn retire_branch(&self, branch: &BranchName, keep_as: &str) -> Result<()> {
        self.assert_not_default(branch)?;
        let Some(tip) = self.repository.branch_tip(branch)? else {
            return Ok(());
        };
        self.repository.keep(keep_as, &tip)?;
        self.git("branch --quiet -D")
            .arg(branch.as_str())
            .once()
            .done()
    }

    /// Commits on a branch, signed as the user has it set up; `None` when there is nothing to commit.
    ///
    /// # Errors
    /// HEAD is not on the branch, the branch is the default one, a hook refused, or a file is not there.
    pub fn commit(
        &self,
        branch: &BranchName,
        message: &str,
        files: CommitFiles<'_>,
        hooks: RunHooks,
    ) -> Result<Option<CommitId>> {
        self.assert_on(branch)?;
        let only: &[String] = match files {
            CommitFiles::AllBut(never) => {
                self.git("add --all -- .").done()?;
                self.unstage(never)?;
                &[]
            }
            CommitFiles::Only(files) => {
                self.git("--literal-pathspecs add --all --")
                    .args(files)
                    .done()?;
                files
            }
        };
        if !self.is_staged(only)? {
            return Ok(None);
        }
        // Once more, right before: whatever else moves HEAD in this checkout, git refuses nothing itself.
        self.assert_on(branch)?;
        let git = Git::unattended(&self.repository.environment, self.root(), hooks)
            .arg("--literal-pathspecs")
            .line("commit --quiet --cleanup=verbatim -F -");
        let git = if only.is_empty() {
            git
        } else {
            git.arg("--only").arg("--").args(only)
        };
        if let Some((why, output)) = git.input(message).once().answer()?.refusal() {
            return Err(Error::CommitRefused { why, output });
        }
        Ok(Some(self.repository.head()?.commit))
    }

    fn is_staged(&self, only: &[String]) -> Result<bool> {
        self.git("--literal-pathspecs diff --cached --quiet --")
            .args(only)
            .yes_or_no()
            .map(|is_same| !is_same)
    }

    /// Takes what is never committed out of the index again, without touching a file.
    fn unstage(&self, never: &PathPatterns) -> Result<()> {
        let mut staged: Vec<PathBuf> = self
            .git("diff --cached --name-only --no-renames -z")
            .paths()?;
        staged.retain(|path| never.covers(path));
        if staged.is_empty() {
            return Ok(());
        }
        self.git("reset --quiet --pathspec-from-file=- --pathspec-file-nul")
            .input(joined(&staged))
            .done()
    }

    /// Writes everything in the checkout, but for what is never committed, as a tree; index and files stay as they are.
    ///
    /// # Errors
    /// git refused.
    pub fn snapshot_tree(&self, never: &PathPatterns) -> Result<TreeId> {
        let tree = self.repository.tree_of_checkout(self.root())?;
        let head = self.repository.head()?.commit;
        Ok(self.repository.without(never, &tree, &head)?.0)
    }

    /// Makes a commit of a tree on no branch, and keeps it under a name of tm's own.
    ///
    /// # Errors
    /// git refused.
    pub fn keep_tree(
        &self,
        tree: &TreeId,
        on: &CommitId,
        keep_as: &str,
        message: &str,
    ) -> Result<CommitId> {
        let commit = self.repository.commit_tree(tree, &[on], message)?;
        self.repository.keep(keep_as, &commit)?;
        Ok(commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use tempfile::TempDir;

    fn scene() -> (TempDir, Checkout) {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::default()
            .with("HOME", folder.path())
            .with("GIT_CONFIG_NOSYSTEM", "1")
            .with("GIT_CONFIG_GLOBAL", "/dev/null");
        let git = |arguments: &[&str]| {
            Git::new(&environment, folder.path())
                .args(arguments)
                .done()
                .unwrap();
        };
        git(&["init", "--quiet", "--initial-branch=trunk"]);
        git(&["config", "init.defaultBranch", "trunk"]);
        write(folder.path(), "backlog.json", "1");
        git(&["add", "."]);
        git(&[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "commit",
            "--quiet",
            "-m",
            "first",
        ]);
        let repository = Repository::discover_in(folder.path(), environment).unwrap();
        let checkout = Checkout::of(repository);
        (folder, checkout)
    }

    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    fn write(folder: &Path, name: &str, text: &str) {
        std::fs::write(folder.join(name), text).unwrap();
    }

    fn branch(name: &str) -> BranchName {
        BranchName::new(name).unwrap()
    }

    #[test]
    fn default_branches_are_never_committed_to_whatever_they_are_called() {
        let (folder, checkout) = scene();
        write(folder.path(), "a", "1");
        let never = PathPatterns::default();
        for name in ["trunk", "main", "master"] {
            assert!(checkout.start_branch(&branch(name)).is_err(), "{name}");
            assert!(
                checkout
                    .commit(
                        &branch(name),
                        "m",
                        CommitFiles::AllBut(&never),
                        RunHooks::Yes
                    )
                    .is_err(),
                "{name}"
            );
        }
        assert!(
            checkout
                .commit(
                    &branch("tm/x"),
                    "m",
                    CommitFiles::AllBut(&never),
                    RunHooks::Yes
                )
                .is_err(),
            "HEAD is elsewhere"
        );
        assert_eq!(
            checkout.changed_paths(&never).unwrap(),
            [PathBuf::from("a")]
        );
    }

    #[test]
    fn a_commit_takes_everything_but_what_is_never_committed() {
        let (folder, checkout) = scene();
        let start = checkout.repository().head().unwrap().commit;
        let tm = branch("tm/master/task-1");
        checkout.start_branch(&tm).unwrap();
        checkout.start_branch(&tm).unwrap();
        let never = PathPatterns::new(&["/backlog.json"]).unwrap();
        assert_eq!(
            checkout
                .commit(&tm, "nothing", CommitFiles::AllBut(&never), RunHooks::Yes)
                .unwrap(),
            None
        );
        for (name, text) in [("backlog.json", "2"), ("a", "1"), ("-b*", "1")] {
            write(folder.path(), name, text);
        }
        let tree = checkout.snapshot_tree(&never).unwrap();
        let commit = checkout
            .commit(&tm, "work\n", CommitFiles::AllBut(&never), RunHooks::Yes)
            .unwrap()
            .unwrap();
        assert_eq!(checkout.repository().tree_of(&commit).unwrap(), tree);
        let files: Vec<String> = checkout
            .repository()
            .changed_files(&start, &commit)
            .unwrap()
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(files, ["-b*", "a"]);
        assert_eq!(
            checkout.changed_paths(&PathPatterns::default()).unwrap(),
            [PathBuf::from("backlog.json")]
        );
        assert_eq!(
            checkout.changed_paths(&never).unwrap(),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn files_that_are_named_are_committed_alone() {
        let (folder, checkout) = scene();
        let tm = branch("tm/x");
        checkout.start_branch(&tm).unwrap();
        write(folder.path(), "a", "1");
        write(folder.path(), "b", "1");
        assert!(
            checkout
                .commit(
                    &tm,
                    "m",
                    CommitFiles::Only(&["none".to_owned()]),
                    RunHooks::Yes
                )
                .is_err()
        );
        checkout
            .commit(
                &tm,
                "m",
                CommitFiles::Only(&["a".to_owned()]),
                RunHooks::Yes,
            )
            .unwrap()
            .unwrap();
        assert_eq!(
            checkout.changed_paths(&PathPatterns::default()).unwrap(),
            [PathBuf::from("b")]
        );
    }

    #[test]
    fn a_retired_branch_is_kept_under_another_name() {
        let (folder, checkout) = scene();
        let start = checkout.repository().head().unwrap();
        let tm = branch("tm/x");
        checkout.start_branch(&tm).unwrap();
        write(folder.path(), "a", "1");
        let commit = checkout
            .commit(
                &tm,
                "m",
                CommitFiles::AllBut(&PathPatterns::default()),
                RunHooks::Yes,
            )
            .unwrap()
            .unwrap();
        assert!(
            checkout.retire_branch(&tm, "refs/tm/salvage/x").is_err(),
            "it is checked out"
        );
        checkout
            .switch_to(start.branch.as_deref(), &start.commit)
            .unwrap();
        checkout.retire_branch(&tm, "refs/tm/salvage/x").unwrap();
        assert_eq!(checkout.repository().branch_tip(&tm).unwrap(), None);
        assert_eq!(
            checkout.repository().resolve("refs/tm/salvage/x").unwrap(),
            commit
        );
    }
}
