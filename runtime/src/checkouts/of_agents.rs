//! The checkouts of agents: worktrees on their branches, made ready as those are in which tm judges.

use super::not_ready::not_ready;
use super::preparation::{PrepareReport, Prepared, Role, TreeOf};
use super::{Checkouts, NotReady};
use crate::{StepError, Turn, blocking};
use std::path::Path;
use tm_scheduler::{BranchName, CommitId};
use tm_worktrees::{Lister, Worktree};

impl Checkouts {
    /// Gives out a worktree for an agent, on a branch, clean and ready.
    pub(crate) async fn worktree(
        &self,
        branch: &BranchName,
        start: Option<&CommitId>,
        base: &CommitId,
        must_contain: &[CommitId],
        turn: &Turn,
    ) -> Result<Worktree, NotReady> {
        let mut start = start;
        loop {
            let worktree = self.checked_out(branch, start, base, must_contain).await?;
            let path = worktree.path().to_owned();
            let was_used = self.known().contains_key(&path);
            match Box::pin(self.made_ready(worktree, turn)).await {
                Err(NotReady::StepError(trouble)) if was_used => self.leave(&path, &trouble),
                ready => return ready,
            }
            start = Some(base);
        }
    }

    /// Gives out a worktree on a branch, clean, and as ready as it was left.
    async fn checked_out(
        &self,
        branch: &BranchName,
        start: Option<&CommitId>,
        base: &CommitId,
        must_contain: &[CommitId],
    ) -> Result<Worktree, StepError> {
        let (checkouts, branch, start) = (self.clone(), branch.clone(), start.cloned());
        let (commit, must_contain) = (base.clone(), must_contain.to_vec());
        blocking(move || {
            let kept = |path: &Path, lister: &Lister| {
                let known = checkouts.known_of(path);
                checkouts.preparation.kept(&known, || lister.untracked())
            };
            let pool = &checkouts.pool;
            pool.check_out(&branch, start.as_ref(), &commit, &must_contain, kept)
        })
        .await
    }

    /// Takes over a worktree that an earlier process made ready and gave out.
    ///
    /// # Errors
    /// It is not of this pool, or it is gone.
    pub fn take_over(
        &self,
        path: &Path,
        branch: &BranchName,
        base: &CommitId,
    ) -> Result<Worktree, tm_worktrees::Error> {
        let worktree = self.pool.take_over(path, branch, base)?;
        // It is torn down, and prepared anew before anybody else gets it.
        self.known()
            .insert(worktree.path().to_owned(), Prepared::default());
        Ok(worktree)
    }

    /// Moves a worktree in which nobody has worked yet to another base, and makes it ready for that.
    pub(crate) async fn moved_to_base(
        &self,
        mut worktree: Worktree,
        base: &CommitId,
        turn: &Turn,
    ) -> Result<Worktree, NotReady> {
        let base = base.clone();
        let worktree = blocking(move || worktree.move_to_base(&base).map(|()| worktree)).await?;
        Box::pin(self.made_ready(worktree, turn)).await
    }

    /// Makes a worktree of an agent's ready that stands on its base.
    async fn made_ready(&self, mut worktree: Worktree, turn: &Turn) -> Result<Worktree, NotReady> {
        if !self.preparation.is_needed() {
            return Ok(worktree);
        }
        let mut state = self.known().remove(worktree.path()).unwrap_or_default();
        let place = self.place((worktree.path(), Role::Agent), worktree.lister(), turn);
        let base = worktree.base().clone();
        let named = self.named_files(&base)?;
        let runs_commands = self.preparation.has_setup();
        let (source, tree) = self.source(&base, &named)?;
        if runs_commands {
            let source = Some(source).filter(|source| **source != base).cloned();
            worktree = blocking(move || {
                source.map_or(Ok(()), |source| worktree.go_back_to(&source))?;
                worktree.seal().map(|()| worktree)
            })
            .await?;
        }
        let is_moved = runs_commands && *source != base;
        let report = self
            .preparation
            .prepare(&place, &mut state, &named, tree)
            .await
            .map_err(|error| not_ready(error, tree == TreeOf::User))?;
        self.look_at_hooks();
        self.tell(worktree.path(), Role::Agent, &report);
        let (preparation, known) = (self.preparation.clone(), state.clone());
        worktree = blocking(move || {
            if runs_commands {
                worktree.show_at_branch()?;
            }
            let kept = preparation.kept(&known, || worktree.lister().untracked())?;
            worktree.keep(&kept)?;
            if is_moved || report != PrepareReport::WasReady {
                worktree.go_back_to(&base)?;
            }
            Ok::<_, tm_worktrees::Error>(worktree)
        })
        .await?;
        self.known().insert(worktree.path().to_owned(), state);
        Ok(worktree)
    }
}
