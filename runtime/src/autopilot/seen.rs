//! What is there: the tests that RED left, whether they are as they were, and whether the branch is the run's own.
//!
//! Runs no test. What a report claims is held against the tree of the checkout, whoever ran the tests.

use super::error::{Error, listed};
use super::session::{OpenRun, Session};
use super::state::KeptRed;
use std::path::PathBuf;
use tm_scheduler::CommitId;
use tm_scheduler::autopilot::Verdict;
use tm_scheduler::verdict::{Change, ChangeKind, is_test_path, test_section};
use tm_worktrees::TreeId;

impl OpenRun<'_> {
    /// Returns everything in the checkout, but for what is never committed, as a tree.
    pub(super) fn tree(&self) -> Result<TreeId, Error> {
        Ok(self
            .project
            .repository
            .snapshot_tree(&self.project.never_commit()?)?)
    }

    /// Returns what differs from the run's last commit, whoever has committed it meanwhile.
    fn changes(&self, tree: &TreeId) -> Result<Vec<Change>, Error> {
        Ok(self
            .project
            .repository
            .changed_files(&self.state.head, tree)?)
    }

    /// Tells whether the branch still holds what the run has committed: amended commits and moved branches do not.
    pub(super) fn holds_its_commits(&self) -> Result<bool, Error> {
        let repository = &self.project.repository;
        Ok(repository.is_ancestor(&self.state.head, &repository.head()?.commit)?)
    }

    /// Refuses a branch that somebody rewrote.
    pub(super) fn assert_holds_its_commits(&self) -> Result<(), Error> {
        if self.holds_its_commits()? {
            return Ok(());
        }
        Err(Error::Rewritten(self.state.head.clone()))
    }

    /// Refuses a branch on which commits that no step of the run took have changed something.
    pub(super) fn assert_nothing_on_top(&self) -> Result<(), Error> {
        self.assert_holds_its_commits()?;
        let repository = &self.project.repository;
        let tip = repository.tree_of(&repository.head()?.commit)?;
        if tip == repository.tree_of(&self.state.head)? {
            return Ok(());
        }
        let commit = self.state.head.clone();
        Err(Error::Unjudged(commit))
    }

    /// Returns the files of tests that were added or changed since the run's last commit, and hold something.
    fn tests_written(&self, tree: &TreeId) -> Result<Vec<String>, Error> {
        let mut tests = Vec::new();
        for file in self.changes(tree)? {
            if file.kind != ChangeKind::Deleted && self.holds_tests(&file, tree)? {
                tests.push(file.path);
            }
        }
        Ok(tests)
    }

    /// In some languages tests stand within the code: there the part that holds them has to differ.
    fn holds_tests(&self, file: &Change, tree: &TreeId) -> Result<bool, Error> {
        let repository = &self.project.repository;
        let Some(text) = repository.text_in_tree(tree, &file.path)? else {
            return Ok(is_test_path(&file.path));
        };
        if is_test_path(&file.path) {
            return Ok(!text.trim().is_empty());
        }
        let before = repository
            .text_at(&self.state.head, &file.path)?
            .unwrap_or_default();
        let section = test_section(&file.path, &text);
        Ok(section.is_some() && section != test_section(&file.path, &before))
    }

    /// Returns the test files of RED that are not as RED left them; all of them where nothing was kept.
    pub(super) fn tests_changed(&self, tree: &TreeId) -> Result<Vec<String>, Error> {
        let Some(red) = &self.state.red_kept else {
            return Ok(Vec::new());
        };
        let mut changed = (self.project.repository).changed_between(&red.commit, tree)?;
        changed.retain(|path| red.files.contains(path));
        Ok(changed)
    }

    /// Returns what differs from the tree with which GREEN held; nothing where it was not kept.
    pub(super) fn changed_since_green(&self, tree: &TreeId) -> Result<Vec<String>, Error> {
        match self.state.green_kept.clone().map(TreeId::new) {
            Some(green) => Ok(self.project.repository.changed_between(&green, tree)?),
            None => Ok(Vec::new()),
        }
    }

    /// What is committed and differs from what GREEN held with: hooks may stage something else.
    pub(super) fn changed_by_hooks(&self, commit: &CommitId) -> Result<Vec<String>, Error> {
        self.changed_since_green(&self.project.repository.tree_of(commit)?)
    }

    /// Judges what a report on RED says by what is there; `None` when nothing speaks against it.
    pub(super) fn against_red(
        &self,
        tree: &TreeId,
        named: &[String],
    ) -> Result<Option<Verdict>, Error> {
        let is_missing = |file: &&String| !self.project.root().join(file).exists();
        let missing: Vec<&String> = named.iter().filter(is_missing).collect();
        if !missing.is_empty() {
            let missing = listed(missing.into_iter());
            let why = format!("files that are named are not there: {missing}");
            return Ok(Some(Verdict::refused(why, "name the files that you wrote")));
        }
        if self.tests_written(tree)?.is_empty() {
            let why = "no test was added or changed since the subtask began";
            let advice = "write tests, in files that are named as tests are; `autopilot.verify: run` has tm run them";
            return Ok(Some(Verdict::refused(why, advice)));
        }
        Ok(None)
    }

    /// Judges what a report on GREEN says by what is there; `None` when nothing speaks against it.
    pub(super) fn against_green(&self, tree: &TreeId) -> Result<Option<Verdict>, Error> {
        let changed = listed(self.tests_changed(tree)?.iter());
        let why = format!("tests of RED were changed: {changed}");
        let advice = "leave the tests of RED as they were, and change the code";
        Ok((!changed.is_empty()).then(|| Verdict::refused(why, advice)))
    }
}

impl Session<'_> {
    /// Keeps what RED left, so that what follows can be held against it.
    pub(super) fn keep_red(&mut self, tree: &TreeId) -> Result<CommitId, Error> {
        let files = self.tests_written(tree)?;
        let state = &self.state;
        let name = format!("refs/tm/autopilot/{}", state.safe_run_id());
        let message = format!("RED of {}\n", state.current().unwrap_or_default());
        let base = state.head.clone();
        let commit = self
            .project
            .repository
            .keep_tree(tree, &base, &name, &message)?;
        self.state.red_kept = Some(KeptRed {
            commit: commit.clone(),
            files,
        });
        Ok(commit)
    }

    /// What is to be committed has to be what GREEN held with; named files alone have to be all of it.
    pub(super) fn against_commit(&self, files: &[String]) -> Result<Vec<String>, Error> {
        let tree = self.tree()?;
        let mut changed = self.changed_since_green(&tree)?;
        changed.extend(self.tests_changed(&tree)?);
        changed.sort();
        changed.dedup();
        if !changed.is_empty() || files.is_empty() || self.state.green_kept.is_none() {
            return Ok(changed);
        }
        let all = self.project.changed_paths()?;
        let is_left = |path: &PathBuf| !files.iter().any(|file| path.starts_with(file));
        let left: Vec<PathBuf> = all.into_iter().filter(is_left).collect();
        if left.is_empty() {
            Ok(Vec::new())
        } else {
            Err(Error::LeftOut(left))
        }
    }
}
