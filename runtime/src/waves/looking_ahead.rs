//! Tells early which work that is under way will conflict with what has just landed.
//!
//! Costs something only when the integration branch moves: one look into each worktree in which somebody works.

use crate::waves::run_setup::Shared;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{AttemptNumber, CommitId, Foreseen, Input, Scheduler, TaskId};
use tm_worktrees::{Error, Landing, Looker, Repository, Worktree};

/// The worktrees in which somebody works, and where the integration branch was at the last look.
#[derive(Debug, Default)]
pub(crate) struct LookingAhead {
    lookers: BTreeMap<TaskId, (AttemptNumber, Looker)>,
    looked_at: Option<CommitId>,
}

/// One look that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Look {
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
    pub(crate) fn moved(&mut self, tip: &CommitId, scheduler: &Scheduler) -> Vec<Look> {
        if self.looked_at.replace(tip.clone()).as_ref() == Some(tip) {
            return Vec::new();
        }
        let is_at_work = |task: &TaskId| {
            scheduler
                .task(task)
                .is_some_and(|view| view.state.has_agent())
        };
        let at_work = self.lookers.iter().filter(|(task, _)| is_at_work(task));
        let looks = at_work.map(|(task, (attempt, looker))| Look {
            task: task.clone(),
            attempt: *attempt,
            looker: looker.clone(),
            tip: tip.clone(),
        });
        looks.collect()
    }
}

impl Look {
    /// Merges what is there now with what has landed, and returns what is foreseen; nothing where that can't be told.
    pub(crate) fn look(&self, setup: &Shared) -> Option<Input> {
        let seen = self
            .conflict(setup)
            .inspect_err(|error| tracing::debug!(%error, "no look ahead"));
        let (files, with) = seen.ok()?;
        Some(Input::Foreseen(Foreseen {
            task: self.task.clone(),
            attempt: self.attempt,
            files,
            with,
        }))
    }

    fn conflict(&self, setup: &Shared) -> Result<(Vec<String>, Vec<TaskId>), Error> {
        let repository = &setup.repository;
        let work = self.looker.commit()?;
        let Landing::Conflict(conflict) = repository.land_united(&self.tip, &work)? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let between = (&work, &self.tip);
        let with = landed_tasks(repository, between, &conflict.files, &self.task)?;
        Ok((conflict.files, with))
    }
}

/// The other tasks that landed between two commits, those whose work touches these files; all of them without files.
pub(crate) fn landed_tasks(
    repository: &Repository,
    (from, to): (&CommitId, &CommitId),
    files: &[String],
    own: &TaskId,
) -> Result<Vec<TaskId>, Error> {
    let named = repository.trailers_between(from, to, files, "Task")?;
    let tasks: BTreeSet<TaskId> = named.into_iter().map(TaskId::from).collect();
    Ok(tasks.into_iter().filter(|task| task != own).collect())
}
