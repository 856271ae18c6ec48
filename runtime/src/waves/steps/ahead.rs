//! Tests merged trees ahead: before the turn of the work to land comes, on top of what is to land before it.
//!
//! Nothing is decided here. Whoever lands makes the merge anew on what has landed by then, and takes the results only
//! where they are of that very tree and by that very command.

use super::context::StepContext;
use crate::test_queue::Urgency;
use crate::{StepError, Turn, blocking, briefly};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tm_executors::testing::TestCommand;
use tm_scheduler::{CommitId, TestReport};
use tm_worktrees::{Error, Landing, Repository, TreeId};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// The name of what is measured of a merge in the folder of its attempt.
pub(super) const LANDING: &str = "landing";

/// Tests that go on ahead; they end when it is dropped.
#[derive(Debug)]
pub(crate) struct TestedAhead {
    stage: watch::Receiver<Stage>,
    /// Nobody waits for them yet.
    turn: Turn,
    task: AbortHandle,
}

/// How far the tests have come. Whoever sends is gone when there are none, and after the last of these.
#[derive(Clone, Debug)]
enum Stage {
    /// The tree is being made.
    Begun,
    /// Its tests are run.
    Measuring(Measured),
    /// They have been.
    Done(Measured, Box<TestReport>),
}

/// Of what results are.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Measured {
    tree: TreeId,
    /// All that decides how the tests are run.
    command: String,
}

impl Measured {
    fn of(tree: &TreeId, command: &TestCommand) -> Self {
        Self {
            tree: tree.clone(),
            command: command.identity(),
        }
    }
}

impl Drop for TestedAhead {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestedAhead {
    /// Begins to test a commit on top of others, once what was begun before for the same work is over.
    pub(crate) fn begin(
        tasks: &mut JoinSet<()>,
        mut context: StepContext,
        work: (Vec<CommitId>, CommitId),
        (merges, before): (Arc<MergesAhead>, Option<Self>),
    ) -> Self {
        context.waits_unseen();
        let (sender, stage) = watch::channel(Stage::Begun);
        let turn = context.turn().clone();
        let task = tasks.spawn(async move {
            if let Some(before) = before {
                before.end().await;
            }
            let measured = measure(&context, work, (merges, &sender)).await;
            if let Err(trouble) = measured {
                tracing::debug!(why = ?trouble, task = %context.id(), "not tested ahead");
            }
        });
        Self { stage, turn, task }
    }

    /// Ends the tests, and waits until nothing of them is there any more.
    async fn end(mut self) {
        self.task.abort();
        while self.stage.changed().await.is_ok() {}
    }

    /// Returns the results of a tree when they are there; `None`, once nothing of the tests goes on, where they are of
    /// another one.
    pub(super) async fn results(
        mut self,
        tree: &TreeId,
        command: &TestCommand,
    ) -> Option<TestReport> {
        self.turn.hurry(Urgency::Landing);
        let wanted = Measured::of(tree, command);
        let is_begun = |stage: &Stage| !matches!(stage, Stage::Begun);
        let stage = self.stage.wait_for(is_begun).await.ok()?.clone();
        match stage {
            Stage::Measuring(measured) if measured == wanted => {}
            Stage::Done(measured, report) if measured == wanted => return Some(*report),
            Stage::Begun | Stage::Measuring(_) | Stage::Done(..) => {
                self.end().await;
                return None;
            }
        }
        let is_done = |stage: &Stage| matches!(stage, Stage::Done(..));
        match &*self.stage.wait_for(is_done).await.ok()? {
            Stage::Done(_, report) => Some((**report).clone()),
            Stage::Begun | Stage::Measuring(_) => None,
        }
    }
}

async fn measure(
    context: &StepContext,
    (on_top_of, commit): (Vec<CommitId>, CommitId),
    (merges, stage): (Arc<MergesAhead>, &watch::Sender<Stage>),
) -> Result<(), StepError> {
    let tip = context.integration_tip()?;
    let repository = context.repository().clone();
    let own = commit.clone();
    let merged = blocking(move || merges.merged(&repository, tip, (&on_top_of, &own))).await?;
    let Some((head, merge)) = merged else {
        return Ok(());
    };
    let Some(command) = context.command_of_merge(&head, &commit)? else {
        return Ok(());
    };
    let result_cache = context.result_cache();
    let tree = briefly(|| context.repository().tree_of(&merge))?;
    if result_cache.is_proven(&tree, &command) {
        return Ok(());
    }
    let measured = Measured::of(&tree, &command);
    stage.send_replace(Stage::Measuring(measured.clone()));
    let log = (context.directory.path(), LANDING);
    let report = result_cache.measure(&merge, &command, log).await?;
    stage.send_replace(Stage::Done(measured, Box::new(report)));
    Ok(())
}

/// Merges that stand in for those that there will be when work has landed; nobody ever builds on them.
#[derive(Debug, Default)]
pub(crate) struct MergesAhead {
    /// By the tree that is merged into and the commit that is merged; `None` where they conflict, or git can't merge them.
    known: Mutex<BTreeMap<(TreeId, CommitId), Option<CommitId>>>,
}

/// So many merges are known at the most; they can be made again.
const MOST_KNOWN: usize = 1_000;
/// None takes longer, since others wait for it in places that all of the run share: nothing is tested on top of it then.
const LONGEST_MERGE: Duration = Duration::from_secs(20);

impl MergesAhead {
    /// Returns what there will be before a commit lands after others, and after that; `None` where it conflicts. One of
    /// the others that conflicts is left out, since it will not land.
    fn merged(
        &self,
        repository: &Repository,
        tip: CommitId,
        (on_top_of, commit): (&[CommitId], &CommitId),
    ) -> Result<Option<(CommitId, CommitId)>, Error> {
        let mut head = tip;
        for before in on_top_of {
            if let Some(merge) = self.merge(repository, &head, before)? {
                head = merge;
            }
        }
        let merge = self.merge(repository, &head, commit)?;
        Ok(merge.map(|merge| (head, merge)))
    }

    /// Others that ask for the same merge meanwhile wait for it.
    fn merge(
        &self,
        repository: &Repository,
        head: &CommitId,
        commit: &CommitId,
    ) -> Result<Option<CommitId>, Error> {
        let key = (repository.tree_of(head)?, commit.clone());
        let mut known = self.known.lock();
        if let Some(merge) = known.get(&key) {
            return Ok(merge.clone());
        }
        let merge = match repository
            .until(Instant::now() + LONGEST_MERGE)
            .land_united(head, commit)
        {
            Ok(Landing::AlreadyLanded) => return Ok(Some(head.clone())),
            // Whoever lands takes the time that it takes.
            Ok(Landing::Conflict(_)) | Err(Error::GitTookTooLong { .. }) => None,
            Err(error @ Error::Git { .. }) if !error.is_of_surroundings() => None,
            Ok(Landing::Clean(preview)) => Some(repository.merge_to_test(&preview)?),
            Err(error) => return Err(error),
        };
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, merge.clone());
        drop(known);
        Ok(merge)
    }
}
