//! Tells early which work that is under way will conflict with what has just landed.
//!
//! Costs something only when the integration branch moves: one look into each worktree in which somebody works, one after
//! the other, and none any more once the branch has moved on.

use super::run_setup::Shared;
use itertools::Itertools as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tm_scheduler::{AttemptNumber, CommitId, Foreseen, Input, Scheduler, TaskId};
use tm_worktrees::{Error, Landing, Looker, Repository, Worktree};

/// The worktrees in which somebody works, and where the integration branch was at the last look.
#[derive(Debug, Default)]
pub(crate) struct LookingAhead {
    lookers: BTreeMap<TaskId, (AttemptNumber, Looker)>,
    looked_at: Option<CommitId>,
    /// How often the branch has moved.
    moves: Arc<AtomicUsize>,
}

/// The looks that are to be made after one landing.
#[derive(Debug)]
pub(crate) struct LookRound {
    looks: Vec<Look>,
    number: usize,
    moves: Arc<AtomicUsize>,
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
        let number = self.moves.fetch_add(1, Ordering::Relaxed) + 1;
        // Where landings come faster than looks, nobody is always the last.
        let first = number.checked_rem(looks.len())?;
        looks.rotate_left(first);
        Some(LookRound {
            looks,
            number,
            moves: Arc::clone(&self.moves),
        })
    }
}

impl LookRound {
    /// Makes them, and tells what is foreseen.
    pub(crate) fn make(&self, setup: &Shared, tell: impl Fn(Input)) {
        for look in &self.looks {
            // Whoever comes now looks at more.
            if self.moves.load(Ordering::Relaxed) != self.number {
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
