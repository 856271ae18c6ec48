//! Tells early which work that is under way will conflict with what has just landed.
//!
//! Costs something only when the integration branch moves: one look into each worktree in which somebody works, one after
//! the other, and none any more once the branch has moved on. Where landings come one after the other, looks wait for a
//! rest, or are made once a second.

use super::run_setup::Shared;
use itertools::Itertools as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tm_scheduler::{AttemptNumber, CommitId, Foreseen, Input, Scheduler, TaskId};
use tm_worktrees::{Error, LONGEST_LOOK, Landing, Looker, Repository, Worktree};
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout};

/// So long the branch rests before anybody looks.
const REST: Duration = Duration::from_millis(100);
/// Where it does not, somebody looks so often.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// The worktrees in which somebody works, and where the integration branch was at the last look.
#[derive(Debug, Default)]
pub(crate) struct LookingAhead {
    lookers: BTreeMap<TaskId, (AttemptNumber, Looker)>,
    looked_at: Option<CommitId>,
    /// How often the branch has moved.
    moves: watch::Sender<usize>,
    last_round: LastRound,
}

/// When the last round of looks began. Whoever makes one holds it: two at a time would only have more merged at once.
type LastRound = Arc<Mutex<Option<Instant>>>;

/// The looks that are to be made after one landing.
#[derive(Debug)]
pub(crate) struct LookRound {
    looks: Vec<Look>,
    number: usize,
    moves: watch::Receiver<usize>,
    last_round: LastRound,
}

/// One look that is to be made.
#[derive(Debug)]
struct Look {
    task: TaskId,
    attempt: AttemptNumber,
    looker: Looker,
    tip: CommitId,
}

impl LookingAhead {
    /// An agent is about to work there.
    pub(crate) fn begin(
        &mut self,
        task: &TaskId,
        attempt: AttemptNumber,
        worktree: Option<&Worktree>,
    ) {
        if let Some(worktree) = worktree {
            self.lookers
                .insert(task.clone(), (attempt, worktree.looker()));
        }
    }

    /// Nobody works there any more.
    pub(crate) fn end(&mut self, task: &TaskId) {
        self.lookers.remove(task);
    }

    /// The integration branch has moved: returns the looks that are to be made, none where that was known.
    pub(crate) fn moved(&mut self, tip: &CommitId, scheduler: &Scheduler) -> Option<LookRound> {
        if self.looked_at.replace(tip.clone()).as_ref() == Some(tip) {
            return None;
        }
        let is_at_work = |task: &TaskId| {
            scheduler
                .task(task)
                .is_some_and(|view| view.state.has_agent())
        };
        let at_work = self.lookers.iter().filter(|(task, _)| is_at_work(task));
        let mut looks: Vec<Look> = at_work
            .map(|(task, (attempt, looker))| Look {
                task: task.clone(),
                attempt: *attempt,
                looker: looker.clone(),
                tip: tip.clone(),
            })
            .collect();
        let number = self.moved_again();
        // Where landings come faster than looks, nobody is always the last.
        let first = number.checked_rem(looks.len())?;
        looks.rotate_left(first);
        Some(LookRound {
            looks,
            number,
            moves: self.moves.subscribe(),
            last_round: Arc::clone(&self.last_round),
        })
    }

    /// No look that is made by now is wanted any more; returns the number of those that are.
    pub(crate) fn moved_again(&self) -> usize {
        self.moves.send_modify(|moves| *moves += 1);
        *self.moves.borrow()
    }
}

impl LookRound {
    /// Waits until they are to be made, and nobody makes others; returns what whoever makes them holds until then, nothing
    /// where they are not to be made any more.
    pub(crate) async fn due(&mut self) -> Option<OwnedMutexGuard<Option<Instant>>> {
        let mut last_round = Arc::clone(&self.last_round).lock_owned().await;
        let is_late = |last: Instant| last.elapsed() >= AT_LEAST_EVERY;
        if !last_round.is_none_or(is_late) {
            let moves = self.moves.wait_for(|moves| *moves != self.number);
            let _rested = timeout(REST, moves).await;
        }
        if !self.is_last() {
            return None;
        }
        *last_round = Some(Instant::now());
        Some(last_round)
    }

    fn is_last(&self) -> bool {
        *self.moves.borrow() == self.number
    }

    /// Makes them, and tells what is foreseen.
    pub(crate) fn make(&self, setup: &Shared, tell: impl Fn(Input)) {
        for look in &self.looks {
            // Whoever comes now looks at more.
            if !self.is_last() {
                return;
            }
            if let Some(input) = look.look(setup) {
                tell(input);
            }
        }
    }
}

impl Look {
    /// Merges what is there now with what has landed, and returns what is foreseen; nothing where that can't be told.
    fn look(&self, setup: &Shared) -> Option<Input> {
        let foreseen = self
            .foreseen(&setup.repository)
            .inspect_err(|error| tracing::debug!(%error, "no look ahead"));
        foreseen.ok().map(Input::Foreseen)
    }

    fn foreseen(&self, repository: &Repository) -> Result<Foreseen, Error> {
        let until = std::time::Instant::now() + LONGEST_LOOK;
        let (work, repository) = (self.looker.commit(until)?, &repository.until(until));
        let (mut files, mut with) = (Vec::new(), Vec::new());
        if let Landing::Conflict(conflict) = repository.land_united(&self.tip, &work)? {
            files = conflict.files;
            with = landed_tasks(repository, (&work, &self.tip), &files, &self.task)?;
        }
        Ok(Foreseen {
            task: self.task.clone(),
            attempt: self.attempt,
            files,
            with,
        })
    }
}

/// The other tasks that landed between two commits, those whose work touches these files; all of them without files.
pub(crate) fn landed_tasks(
    repository: &Repository,
    (from, to): (&CommitId, &CommitId),
    files: &[String],
    own: &TaskId,
) -> Result<Vec<TaskId>, Error> {
    let others = repository
        .trailers_between(from, to, files, "Task")?
        .into_iter()
        .map(TaskId::from)
        .filter(|task| task != own);
    Ok(others.sorted().dedup().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ahead: &LookingAhead) -> LookRound {
        LookRound {
            looks: Vec::new(),
            number: ahead.moved_again(),
            moves: ahead.moves.subscribe(),
            last_round: Arc::clone(&ahead.last_round),
        }
    }

    /// What is there of a round without waiting: nothing while it waits, `Some(false)` where it is not made any more.
    async fn at_once(round: &mut LookRound) -> Option<bool> {
        tokio::select! {
            biased;
            due = round.due() => Some(due.is_some()),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn looks_wait_for_a_rest_or_are_made_once_in_a_while() {
        let ahead = LookingAhead::default();
        assert!(round(&ahead).due().await.is_some(), "nobody has looked yet");
        // However long this test takes, that was a moment ago.
        *ahead.last_round.lock().await = Instant::now().checked_add(AT_LEAST_EVERY * 1_000);
        let (mut before, mut last) = (round(&ahead), round(&ahead));
        assert!(before.due().await.is_none(), "the branch has moved on");
        assert_eq!(at_once(&mut last).await, None, "it may move again");
        assert!(last.due().await.is_some(), "nothing lands any more");
        *ahead.last_round.lock().await = Instant::now().checked_sub(AT_LEAST_EVERY);
        let due = at_once(&mut last).await;
        assert_eq!(due, Some(true), "the last look was long ago");
    }

    #[tokio::test]
    async fn nobody_looks_while_another_round_is_made_and_only_the_last_one_does_then() {
        let ahead = LookingAhead::default();
        let made = round(&ahead).due().await.expect("nobody has looked yet");
        let (mut waits, mut last) = (round(&ahead), round(&ahead));
        assert_eq!(at_once(&mut waits).await, None);
        assert_eq!(at_once(&mut last).await, None);
        drop(made);
        assert_eq!(at_once(&mut waits).await, Some(false));
        assert!(last.due().await.is_some());
    }
}
