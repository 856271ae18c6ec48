//! Test results by tree and command, measured in checkouts that no agent ever had, once for whoever needs them.
//!
//! Nothing of before is believed: results are known for as long as this process lives.

use super::files::StartTree;
use super::measured::{MeasuredTree, MeasuredTrees};
use crate::checkouts::NotReady;
use crate::hooks::{HookRules, HookRunner};
use crate::test_queue::Urgency;
use crate::{Checkouts, StepError, Turn, briefly};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tm_executors::engine::{Executor, Holding};
use tm_executors::testing::{TestCommand, TestPlace, labelled, put_together, run_tests};
use tm_scheduler::{CommandEnd, CommitId, GateRun, TestReport};
use tm_worktrees::{JudgeCheckout, Repository, TreeId};
use tokio::task::block_in_place;

/// Tests that could not be started are started again after these pauses.
const START_AGAIN_AFTER: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(900)];

/// So many checkouts one measurement may lose to jobs that nobody reaches.
const MOST_LOST: u32 = 3;

/// What is known of trees, and whose turn it is to know more. The map is locked only to find a cell, never while tests run.
#[derive(Clone, Debug)]
pub struct TestResultCache {
    of_all: Arc<OfAllTurns>,
    turn: Turn,
}

/// What is the same whoever's turn it is.
#[derive(Debug)]
struct OfAllTurns {
    /// Where commits are checked out that no agent ever had.
    checkouts: Checkouts,
    /// Where raw output goes that belongs to no attempt.
    scratch: PathBuf,
    /// Where tests are written down while they run.
    executor: Executor,
    measured: Mutex<MeasuredTrees>,
    /// Trees that were judged, and held.
    proven: Mutex<BTreeSet<String>>,
    /// What gates said, by tree and gate.
    gates: Mutex<BTreeMap<String, GateRun>>,
}

impl TestResultCache {
    /// Returns what measures in `checkouts`; raw output that belongs to no attempt goes into `scratch`.
    pub fn new(checkouts: Checkouts, scratch: PathBuf, executor: Executor) -> Self {
        Self {
            of_all: Arc::new(OfAllTurns {
                checkouts,
                scratch,
                executor,
                measured: Mutex::default(),
                proven: Mutex::default(),
                gates: Mutex::default(),
            }),
            turn: Turn::new(Urgency::SetUp),
        }
    }

    /// Returns what measures when it is that turn, and knows what this one knows.
    pub(crate) fn in_turn(&self, turn: Turn) -> Self {
        let of_all = Arc::clone(&self.of_all);
        Self { of_all, turn }
    }

    pub(crate) fn checkouts(&self) -> &Checkouts {
        &self.of_all.checkouts
    }

    /// Returns what gates said, by tree and gate.
    pub(crate) fn gates(&self) -> &Mutex<BTreeMap<String, GateRun>> {
        &self.of_all.gates
    }

    pub(crate) const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Keeps what the tests have built so far for each checkout that is new from now on, as far as the user named caches.
    /// What can't be kept is built in each of them.
    pub async fn keep_built(&self) {
        if let Err(trouble) = self.checkouts().keep_built(&self.turn).await {
            tracing::warn!(?trouble, "what the tests built is not kept");
        }
    }

    /// Has so many commands run at the same time at least.
    pub fn test_at_once(&self, places: u32) {
        self.checkouts().tests().widen_to(places);
    }

    pub(crate) fn repository(&self) -> &Repository {
        self.checkouts().pool().repository()
    }

    /// Starts measuring a commit while something else goes on.
    pub(crate) fn begin(&self, commit: CommitId, command: TestCommand) {
        let result_cache = self.in_turn(Turn::new(Urgency::Ahead));
        tokio::spawn(async move { result_cache.at(&commit, &command).await });
    }

    /// Returns the results at a commit, measuring its tree when nobody has.
    pub(crate) async fn at(&self, commit: &CommitId, command: &TestCommand) -> TestReport {
        let tree = match briefly(|| self.repository().tree_of(commit)) {
            Ok(tree) => tree,
            Err(trouble) => return unmeasured(trouble.into()),
        };
        let cell = self.cell(&tree, command);
        let measure = || async {
            let own = self.in_turn(cell.turn.clone());
            if !command.parts.is_empty() {
                let mut reports = Vec::new();
                for part in &command.parts {
                    reports.push(Box::pin(own.at(commit, part)).await);
                }
                return put_together(command, reports);
            }
            let log = log_of(&tree, command);
            own.measure(commit, command, (&self.of_all.scratch, &log))
                .await
                .unwrap_or_else(|trouble| unmeasured(trouble.into()))
        };
        // Whoever measures it may have begun when nobody waited for it.
        let urgency = self.turn.urgency();
        cell.turn.hurry(urgency);
        for part in &command.parts {
            self.cell(&tree, part).turn.hurry(urgency);
        }
        let report = cell.report.get_or_init(measure).await.clone();
        self.of_all.measured.lock().count(&cell);
        report
    }

    /// Remembers that a tree was judged and held, and its results.
    pub(crate) fn remember_proven(&self, tree: &TreeId, command: &TestCommand, report: TestReport) {
        self.of_all.proven.lock().insert(name(tree, command));
        // Somebody else may have measured the same tree meanwhile; theirs are as good.
        let cell = self.cell(tree, command);
        let _already_known = cell.report.set(report);
        self.of_all.measured.lock().count(&cell);
    }

    /// Tells whether a tree was judged and held; that its results are known says nothing of what they are.
    pub(crate) fn is_proven(&self, tree: &TreeId, command: &TestCommand) -> bool {
        self.of_all.proven.lock().contains(&name(tree, command))
    }

    fn cell(&self, tree: &TreeId, command: &TestCommand) -> Arc<MeasuredTree> {
        let turn = || self.turn.at(Urgency::Ahead);
        let mut measured = self.of_all.measured.lock();
        measured.get(name(tree, command), turn)
    }

    /// Runs the tests of a commit in a clean checkout of it, known or not; raw output goes to `<scratch>/<name>.log`.
    ///
    /// # Errors
    /// git or the disk refused: nothing is known of the commit then.
    pub(crate) async fn measure(
        &self,
        commit: &CommitId,
        command: &TestCommand,
        log: (&Path, &str),
    ) -> Result<TestReport, StepError> {
        self.measure_watching(commit, command, log, None).await
    }

    /// As `measure`, and looks whether files of tests, or of what runs them, were written to meanwhile.
    ///
    /// # Errors
    /// git or the disk refused: nothing is known of the commit then.
    pub(super) async fn measure_watching(
        &self,
        commit: &CommitId,
        command: &TestCommand,
        (scratch, name): (&Path, &str),
        start: Option<&StartTree>,
    ) -> Result<TestReport, StepError> {
        if command.parts.is_empty() {
            return (self.measure_one(commit, command, (scratch, name), start)).await;
        }
        let mut reports = Vec::new();
        for (number, part) in command.parts.iter().enumerate() {
            let name = format!("{name}-{}", number + 1);
            let log = (scratch, name.as_str());
            reports.push(self.measure_one(commit, part, log, start).await?);
        }
        Ok(put_together(command, reports))
    }

    /// Each command has a checkout of its own, so that none sees what another left.
    async fn measure_one(
        &self,
        commit: &CommitId,
        command: &TestCommand,
        (scratch, name): (&Path, &str),
        start: Option<&StartTree>,
    ) -> Result<TestReport, StepError> {
        std::fs::create_dir_all(scratch)?;
        let mut lost = 0;
        let (checkout, mut report) = loop {
            let checkout = match self.checkouts().judge(commit, &self.turn).await {
                Ok(checkout) => checkout,
                Err(NotReady::OfTree(why)) => return Ok(unmeasured(why)),
                Err(other) => return Err(other.into()),
            };
            let report = self.run_in(checkout.path(), command, scratch, name).await;
            if lost == MOST_LOST || !self.of_all.executor.is_out_of_reach(checkout.path()) {
                break (checkout, report?);
            }
            lost += 1;
        };
        if let Some(start) = start {
            let is_watched = |path: &str| start.watched().contains(path);
            report.rewritten = block_in_place(|| checkout.rewritten(&is_watched));
        }
        Ok(labelled(command, report))
    }

    /// How commands are held, where that was asked for.
    pub(crate) fn holding(&self) -> Option<&Holding> {
        self.of_all.executor.holding()
    }

    /// By which means commands are held to their checkout, where they are.
    pub(crate) fn sandbox(&self) -> Option<String> {
        let level = self.holding()?.level?;
        Some(level.to_string())
    }

    /// Runs the tear-down in every checkout that is ready, and removes them; returns what people should know.
    pub async fn close(&self) -> Vec<String> {
        self.checkouts().close().await
    }

    /// Runs the tests, and again after a pause where they could not even be started: that may be the disk, or too many
    /// processes, and would be taken for what the tests say.
    ///
    /// # Errors
    /// They could not be started in the end, and what they test has no part in that.
    pub(crate) async fn run_in(
        &self,
        worktree: &Path,
        command: &TestCommand,
        scratch: &Path,
        name: &str,
    ) -> Result<TestReport, StepError> {
        let _admission = self.checkouts().tests().admit(&self.turn).await;
        let variables = self.checkouts().variables(worktree);
        let besides = self.checkouts().besides(worktree);
        let place = TestPlace {
            worktree,
            scratch,
            executor: &self.of_all.executor,
            variables: &variables,
            besides: &besides,
        };
        let is_lost = || self.of_all.executor.is_out_of_reach(worktree);
        let mut pauses = START_AGAIN_AFTER.into_iter();
        loop {
            let report = run_tests(command, place, name).await;
            let is_started = |report: &TestReport| !matches!(report.end, CommandEnd::NotStarted(_));
            match pauses.next() {
                Some(pause) if !report.as_ref().is_ok_and(is_started) && !is_lost() => {
                    tokio::time::sleep(pause).await;
                }
                Some(_) | None => {
                    self.checkouts()
                        .retire_unless_reached(worktree, &self.of_all.executor);
                    return Ok(report?);
                }
            }
        }
    }
}

impl TestResultCache {
    /// Has hooks run in a clean checkout of a commit, when it is their turn; what they print goes through a file in `scratch`.
    ///
    /// # Errors
    /// The checkout can't be made ready, or what `run` says.
    pub(crate) async fn with_hooks<T>(
        &self,
        commit: &CommitId,
        (rules, scratch): (HookRules, &Path),
        run: impl FnOnce(&mut JudgeCheckout, &HookRunner) -> Result<T, StepError>,
    ) -> Result<T, StepError> {
        let checkouts = self.checkouts();
        let mut checkout = checkouts.judge(commit, &self.turn).await?;
        let _admission = checkouts.tests().admit(&self.turn).await;
        let place = (checkouts, checkout.path());
        let runner = HookRunner::new(&self.of_all.executor, rules, place, scratch);
        block_in_place(|| run(&mut checkout, &runner))
    }

    /// Returns the folder for raw output that belongs to no attempt.
    pub(crate) fn scratch(&self) -> &Path {
        &self.of_all.scratch
    }
}

/// The name under which results are known: the tree, and all that decides how the tests are run.
fn name(tree: &TreeId, command: &TestCommand) -> String {
    format!("{tree} {}", command.identity())
}

/// The name of a log that two commands on the same tree do not share.
fn log_of(tree: &TreeId, command: &TestCommand) -> String {
    if command.label.is_none() {
        return format!("baseline-{tree}");
    }
    let mut hasher = DefaultHasher::new();
    command.identity().hash(&mut hasher);
    format!("baseline-{tree}-{:016x}", hasher.finish())
}

/// The results of tests that could not be run.
fn unmeasured(why: String) -> TestReport {
    TestReport::without_results(CommandEnd::NotStarted(why))
}
