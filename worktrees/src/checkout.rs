//! Work in the checkout that a person or an agent sits in: its branch, what is changed there, its commits.
//!
//! Everything here that commits or creates a branch asserts first that it is not on the default branch. Nothing is
//! forced, and nothing that is not committed is touched.

use crate::git::{Git, fields, joined};
use crate::{Error, PathPatterns, Protection, Repository, Result, RunHooks, TreeId};
use std::path::PathBuf;
use tm_scheduler::{BranchName, CommitId};

/// Names that are default branches wherever they are in use.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// Which files a commit takes.
#[derive(Clone, Copy, Debug)]
pub enum CommitFiles<'a> {
    /// Everything that is changed, but for these.
    AllBut(&'a PathPatterns),
    /// These alone, relative to the top of the checkout.
    Only(&'a [String]),
}

impl Repository {
    /// Returns every checkout of the repository as its git folder and its top: this one, the main one, linked ones.
    pub fn checkouts(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut found = vec![(self.git_dir().to_owned(), self.checkout_root().to_owned())];
        found.extend(self.main_and_linked());
        found.sort();
        found.dedup_by(|one, other| one.0 == other.0);
        found
    }

    /// A call without hooks, as the user would make it.
    fn git_here(&self, words: &str) -> Git {
        self.where_rules_are_read(self.git_in(self.checkout_root()), words)
    }

    /// Returns the paths that differ from HEAD, untracked files one by one, without those that `ignored` covers.
    ///
    /// # Errors
    /// git refused.
    pub fn changed_paths(&self, ignored: &PathPatterns) -> Result<Vec<PathBuf>> {
        Ok(self
            .git_here("status --untracked-files=all")
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
    pub fn files_in_checkout(&self) -> Result<Vec<String>> {
        let listing = self
            .git_here("ls-files -z --cached --others --exclude-standard --deduplicate")
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
        let is_default =
            USUAL_DEFAULTS.contains(&name) || self.default_branch()?.as_deref() == Some(name);
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
        if self.head()?.branch.as_deref() == Some(branch.as_str()) {
            return Ok(());
        }
        Err(Error::WrongHead {
            path: self.checkout_root().to_owned(),
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
        if let Some(at) = self.branch_tip(branch)? {
            return Err(Error::BranchTaken {
                branch: branch.clone(),
                at,
            });
        }
        self.git_with_hooks("switch --quiet --no-track --create")
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
        let Some(tip) = self.branch_tip(branch)? else {
            return Ok(());
        };
        self.keep(keep_as, &tip)?;
        self.git_here("branch --quiet -D")
            .arg(branch.as_str())
            .once()
            .done()
    }

    /// Commits on a branch, signed as the user has it set up; `None` when there is nothing to commit.
    ///
    /// # Errors
    /// HEAD is not on the branch, the branch is the default one, a hook refused, or a file is not there.
    pub fn commit_in_checkout(
        &self,
        branch: &BranchName,
        message: &str,
        files: CommitFiles<'_>,
        hooks: RunHooks,
    ) -> Result<Option<CommitId>> {
        self.assert_on(branch)?;
        let only: &[String] = match files {
            CommitFiles::AllBut(never) => {
                self.git_here("add --all -- .").done()?;
                self.unstage(never)?;
                &[]
            }
            CommitFiles::Only(files) => {
                self.git_here("--literal-pathspecs add --all --")
                    .args(files)
                    .done()?;
                files
            }
        };
        let is_same = self
            .git_here("--literal-pathspecs diff --cached --quiet --")
            .args(only)
            .yes_or_no()?;
        if is_same {
            return Ok(None);
        }
        // Once more, right before: whatever else moves HEAD in this checkout, git refuses nothing itself.
        self.assert_on(branch)?;
        let git = Git::unattended(&self.environment, self.checkout_root(), hooks)
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
        Ok(Some(self.head()?.commit))
    }

    /// Takes what is never committed out of the index again, without touching a file.
    fn unstage(&self, never: &PathPatterns) -> Result<()> {
        let mut staged: Vec<PathBuf> = self
            .git_here("diff --cached --name-only --no-renames -z")
            .paths()?;
        staged.retain(|path| never.covers(path));
        if staged.is_empty() {
            return Ok(());
        }
        self.git_here("reset --quiet --pathspec-from-file=- --pathspec-file-nul")
            .input(joined(&staged))
            .done()
    }

    /// Writes everything in the checkout, but for what is never committed, as a tree; index and files stay as they are.
    ///
    /// # Errors
    /// git refused.
    pub fn snapshot_tree(&self, never: &PathPatterns) -> Result<TreeId> {
        let tree = self.tree_of_checkout()?;
        let head = self.head()?.commit;
        Ok(self.without(never, &tree, &head)?.0)
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
        let commit = self.commit_tree(tree, &[on], message)?;
        self.keep(keep_as, &commit)?;
        Ok(commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use std::path::Path;
    use tempfile::TempDir;

    fn scene() -> (TempDir, Repository) {
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
        let checkout = repository;
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
                    .commit_in_checkout(
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
                .commit_in_checkout(
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
        let start = checkout.head().unwrap().commit;
        let tm = branch("tm/master/task-1");
        checkout.start_branch(&tm).unwrap();
        checkout.start_branch(&tm).unwrap();
        let never = PathPatterns::new(&["/backlog.json"]).unwrap();
        assert_eq!(
            checkout
                .commit_in_checkout(&tm, "nothing", CommitFiles::AllBut(&never), RunHooks::Yes)
                .unwrap(),
            None
        );
        for (name, text) in [("backlog.json", "2"), ("a", "1"), ("-b*", "1")] {
            write(folder.path(), name, text);
        }
        let tree = checkout.snapshot_tree(&never).unwrap();
        let commit = checkout
            .commit_in_checkout(&tm, "work\n", CommitFiles::AllBut(&never), RunHooks::Yes)
            .unwrap()
            .unwrap();
        assert_eq!(checkout.tree_of(&commit).unwrap(), tree);
        let files: Vec<String> = checkout
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
                .commit_in_checkout(
                    &tm,
                    "m",
                    CommitFiles::Only(&["none".to_owned()]),
                    RunHooks::Yes
                )
                .is_err()
        );
        checkout
            .commit_in_checkout(
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
        let start = checkout.head().unwrap();
        let tm = branch("tm/x");
        checkout.start_branch(&tm).unwrap();
        write(folder.path(), "a", "1");
        let commit = checkout
            .commit_in_checkout(
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
        assert_eq!(checkout.branch_tip(&tm).unwrap(), None);
        assert_eq!(checkout.resolve("refs/tm/salvage/x").unwrap(), commit);
    }
}
