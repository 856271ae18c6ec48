//! Test results at a commit, measured once per tree and command, whoever needs them first.

use crate::setup::Shared;
use crate::steps::{Brief, blocking};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tm_executors::testing::{TestCommand, run_tests};
use tm_scheduler::{CommandEnd, CommitId, TestReport};
use tm_worktrees::TreeId;
use tokio::sync::OnceCell;

type Cell = Arc<OnceCell<TestReport>>;

/// What is known of trees. The map is locked only to find a cell, never while tests run.
#[derive(Debug)]
pub(crate) struct Baselines {
    setup: Shared,
    by_tree: Mutex<BTreeMap<String, Cell>>,
}

impl Baselines {
    pub(crate) const fn new(setup: Shared) -> Self {
        Self { setup, by_tree: Mutex::new(BTreeMap::new()) }
    }

    /// Starts measuring the base of an attempt while its agent works.
    pub(crate) fn begin(self: &Arc<Self>, brief: &Brief) {
        if let (Some(place), Some(command)) = (&brief.place, brief.test_command()) {
            let (baselines, base) = (Arc::clone(self), place.base.clone());
            tokio::spawn(async move { baselines.at(&base, &command).await });
        }
    }

    /// Returns the results at a commit, measuring them when nobody has.
    pub(crate) async fn at(&self, commit: &CommitId, command: &TestCommand) -> TestReport {
        let (repository, wanted) = (self.setup.repository.clone(), commit.clone());
        let tree = match blocking(move || repository.tree_of(&wanted)).await {
            Ok(tree) => tree,
            Err(why) => return unmeasured(why),
        };
        let cell = self.cell(&tree, command);
        cell.get_or_init(|| self.measure(commit, command, &tree)).await.clone()
    }

    /// Remembers results that were measured anyway.
    pub(crate) fn remember(&self, tree: &TreeId, command: &TestCommand, report: TestReport) {
        // Somebody else may have measured the same tree meanwhile; theirs are as good.
        let _already_known = self.cell(tree, command).set(report);
    }

    /// Returns the results of a tree, if they are known.
    pub(crate) fn known(&self, tree: &TreeId, command: &TestCommand) -> Option<TestReport> {
        self.cell(tree, command).get().cloned()
    }

    fn cell(&self, tree: &TreeId, command: &TestCommand) -> Cell {
        let key = format!("{tree} {:?}", command.argv);
        let mut by_tree = self.by_tree.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_tree.entry(key).or_default())
    }

    async fn measure(&self, commit: &CommitId, command: &TestCommand, tree: &TreeId) -> TestReport {
        let (setup, wanted) = (Arc::clone(&self.setup), commit.clone());
        let worktree = match blocking(move || setup.pool.check_out_detached(&wanted)).await {
            Ok(worktree) => worktree,
            Err(why) => return unmeasured(why),
        };
        let scratch = self.setup.directory.path().join("baselines").join(tree.to_string());
        let report = match std::fs::create_dir_all(&scratch) {
            Ok(()) => run_tests(command, worktree.path(), &scratch, "baseline").await,
            Err(error) => unmeasured(error.to_string()),
        };
        // A worktree that can't be given back is cleaned up before it is used again.
        let _cleaned_up_later = blocking(move || worktree.release()).await;
        report
    }
}

/// The results of tests that could not be run.
fn unmeasured(why: String) -> TestReport {
    TestReport::without_results(CommandEnd::NotStarted(why))
}
