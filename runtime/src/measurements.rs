//! Test results by tree and command, measured once, whoever needs them first, and kept for later runs.
//!
//! Only whole results are kept: what could not be run today may run tomorrow.

use crate::steps::blocking;
use crate::trouble::Trouble;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tm_executors::process::UnderWay;
use tm_executors::testing::{TestCommand, TestPlace, run_tests};
use tm_scheduler::{CommandEnd, CommitId, Detail, TestReport};
use tm_worktrees::{MergePreview, Repository, TreeId, WorktreePool};
use tokio::sync::OnceCell;

type Cell = Arc<OnceCell<TestReport>>;

/// So many results of earlier runs are kept.
const MOST_KEPT: usize = 500;

/// Tests that could not be started are started again after these pauses.
const START_AGAIN_AFTER: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(900)];

/// What is known of trees. The map is locked only to find a cell, never while tests run.
#[derive(Debug)]
pub struct Measurements {
    repository: Repository,
    pool: WorktreePool,
    /// Where raw output goes.
    scratch: PathBuf,
    /// Where results of earlier runs are.
    kept: PathBuf,
    /// Where tests are written down while they run.
    under_way: UnderWay,
    by_tree: Mutex<BTreeMap<String, Cell>>,
}

impl Measurements {
    /// Returns what measures in worktrees of `pool`; raw output goes into `scratch`, results are kept in `kept`.
    pub const fn new(
        repository: Repository,
        pool: WorktreePool,
        scratch: PathBuf,
        kept: PathBuf,
        under_way: UnderWay,
    ) -> Self {
        Self { repository, pool, scratch, kept, under_way, by_tree: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) const fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Starts measuring a commit while something else goes on.
    pub(crate) fn begin(self: &Arc<Self>, commit: CommitId, command: TestCommand) {
        let measurements = Arc::clone(self);
        tokio::spawn(async move { measurements.at(&commit, &command).await });
    }

    /// Returns the results at a commit, measuring them when nobody has.
    pub(crate) async fn at(&self, commit: &CommitId, command: &TestCommand) -> TestReport {
        let (repository, wanted) = (self.repository.clone(), commit.clone());
        let tree = match blocking(move || repository.tree_of(&wanted)).await {
            Ok(tree) => tree,
            Err(trouble) => return unmeasured(trouble.into()),
        };
        let cell = self.cell(&tree, command);
        cell.get_or_init(|| self.kept_or_measured(commit, command, &tree)).await.clone()
    }

    /// Remembers results that were measured anyway.
    pub(crate) fn remember(&self, tree: &TreeId, command: &TestCommand, report: TestReport) {
        self.keep(tree, command, &report);
        // Somebody else may have measured the same tree meanwhile; theirs are as good.
        let _already_known = self.cell(tree, command).set(report);
    }

    /// Returns the results of a tree, if they are known.
    pub(crate) fn known(&self, tree: &TreeId, command: &TestCommand) -> Option<TestReport> {
        self.cell(tree, command).get().cloned()
    }

    fn cell(&self, tree: &TreeId, command: &TestCommand) -> Cell {
        let mut by_tree = self.by_tree.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(by_tree.entry(name(tree, command)).or_default())
    }

    async fn kept_or_measured(&self, commit: &CommitId, command: &TestCommand, tree: &TreeId) -> TestReport {
        // A kept result that can't be read is measured again.
        if let Ok(report) = tm_store::run::read_json(&self.kept.join(name(tree, command))) {
            return report;
        }
        let report = self.run_at(commit, command, &format!("baseline-{tree}")).await;
        self.keep(tree, command, &report);
        report
    }

    fn keep(&self, tree: &TreeId, command: &TestCommand, report: &TestReport) {
        let is_whole = match report.detail {
            Detail::PerTest => report.broken.is_none() && matches!(report.end, CommandEnd::Exited(Some(_))),
            Detail::ExitStatusOnly => report.end.succeeded(),
        };
        if is_whole {
            // What can't be kept is measured again some day.
            let _measured_again = std::fs::create_dir_all(&self.kept)
                .map_err(|_| ())
                .and_then(|()| tm_store::run::write_json(&self.kept.join(name(tree, command)), report).map_err(|_| ()));
        }
    }

    /// Runs the tests at a commit, known or not.
    pub(crate) async fn run_at(&self, commit: &CommitId, command: &TestCommand, log: &str) -> TestReport {
        let (pool, wanted) = (self.pool.clone(), commit.clone());
        let worktree = match blocking(move || pool.check_out_detached(&wanted)).await {
            Ok(worktree) => worktree,
            Err(trouble) => return unmeasured(trouble.into()),
        };
        let report = match std::fs::create_dir_all(&self.scratch) {
            Ok(()) => self.run_in(worktree.path(), command, &self.scratch, log).await,
            Err(error) => unmeasured(error.to_string()),
        };
        // A worktree that can't be given back is cleaned up before it is used again.
        let _cleaned_up_later = blocking(move || worktree.release()).await;
        report
    }

    /// Runs the tests of a merge that is on no branch, as often as `runs` wants more.
    pub(crate) async fn run_merge(
        &self,
        merge: &MergePreview,
        command: &TestCommand,
        scratch: &Path,
        wants_rerun: impl Fn(&TestReport) -> bool,
    ) -> Result<(TestReport, Option<TestReport>), Trouble> {
        let (pool, merged) = (self.pool.clone(), merge.clone());
        let worktree = blocking(move || pool.check_out_merge(&merged)).await?;
        let results = self.run_in(worktree.path(), command, scratch, "landing").await;
        let again = if wants_rerun(&results) {
            Some(self.run_in(worktree.path(), command, scratch, "landing-again").await)
        } else {
            None
        };
        // A worktree that can't be given back is cleaned up before it is used again.
        let _cleaned_up_later = blocking(move || worktree.release()).await;
        Ok((results, again))
    }

    /// Runs the tests, and again after a pause where they could not even be started: that may be the disk, or too many
    /// processes, and would be taken for what the tests say.
    pub(crate) async fn run_in(
        &self,
        worktree: &Path,
        command: &TestCommand,
        scratch: &Path,
        name: &str,
    ) -> TestReport {
        let place = TestPlace { worktree, scratch, under_way: &self.under_way };
        for pause in START_AGAIN_AFTER {
            let report = run_tests(command, place, name).await;
            if !matches!(report.end, CommandEnd::NotStarted(_)) {
                return report;
            }
            tokio::time::sleep(pause).await;
        }
        run_tests(command, place, name).await
    }

    /// Removes the oldest kept results when there are too many.
    pub fn forget_old(&self) {
        let Ok(entries) = std::fs::read_dir(&self.kept) else { return };
        let modified = |entry: &std::fs::DirEntry| {
            entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
        };
        let mut files: Vec<(SystemTime, PathBuf)> =
            entries.flatten().map(|entry| (modified(&entry), entry.path())).collect();
        files.sort();
        let too_many = files.len().saturating_sub(MOST_KEPT);
        for (_, path) in files.into_iter().take(too_many) {
            // It is tried again at the next run.
            let _tried_again = std::fs::remove_file(path);
        }
    }
}

/// The name under which results are kept: the tree, and a digest of all that decides how the tests are run.
fn name(tree: &TreeId, command: &TestCommand) -> String {
    let mut digest = Sha256::new();
    digest.update(format!("1 {:?} {:?}", command.argv, command.format));
    let digest: [u8; 32] = digest.finalize().into();
    let short = digest.iter().take(8).fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    format!("{tree}-{short:016x}.json")
}

/// The results of tests that could not be run.
fn unmeasured(why: String) -> TestReport {
    TestReport::without_results(CommandEnd::NotStarted(why))
}
