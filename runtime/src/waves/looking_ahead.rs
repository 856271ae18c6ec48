//! Tells early which work that is under way will conflict with what has just landed.
//!
//! Costs something only when the integration branch moves: one look into each worktree in which somebody works, one after
//! the other, and none any more once the branch has moved on. Where landings come one after the other, looks wait for a
//! rest, or are made once a second.

use super::run_setup::Shared;
use itertools::Itertools as _;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tm_scheduler::{AttemptNumber, CommitId, Foreseen, Input, Scheduler, TaskId};
use tm_worktrees::{Error, Landing, Looker, Repository, Worktree};
use tokio::sync::watch;
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

/// When the last round of looks began.
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
    /// Waits until they are to be made; tells whether they still are.
    pub(crate) async fn is_due(&mut self) -> bool {
        let is_late = |last: Instant| last.elapsed() >= AT_LEAST_EVERY;
        if !self.last_round.lock().is_none_or(is_late) {
            let moves = self.moves.wait_for(|moves| *moves != self.number);
            if timeout(REST, moves).await.is_ok() {
                return false;
            }
        }
        *self.last_round.lock() = Some(Instant::now());
        true
    }

    /// Makes them, and tells what is foreseen.
    pub(crate) fn make(&self, setup: &Shared, tell: impl Fn(Input)) {
        for look in &self.looks {
            // Whoever comes now looks at more.
            if *self.moves.borrow() != self.number {
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
        let work = self.looker.commit()?;
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

    #[tokio::test]
    async fn looks_wait_for_a_rest_or_are_made_once_in_a_while() {
        let ahead = LookingAhead::default();
        assert!(round(&ahead).is_due().await, "nobody has looked yet");
        // However long this test takes, that was a moment ago.
        *ahead.last_round.lock() = Instant::now().checked_add(AT_LEAST_EVERY * 1_000);
        let (mut before, mut last) = (round(&ahead), round(&ahead));
        assert!(!before.is_due().await, "the branch has moved on");
        assert!(last.is_due().await, "nothing lands any more");
        let mut before = round(&ahead);
        *ahead.last_round.lock() = Instant::now().checked_sub(AT_LEAST_EVERY);
        ahead.moved_again();
        assert!(before.is_due().await, "the last look was long ago");
    }
}
