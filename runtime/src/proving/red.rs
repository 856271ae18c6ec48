//! Measures and judges a RED, and finds out what a commit is as one.

use super::files::kind;
use super::{Prover, TestResultCache};
use crate::step_error::{StepError, blocking};
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{
    Change, RedWork, Strictness, judge_red, old_tests_got_worse, test_files_of_red,
};
use tm_scheduler::{AttemptRecord, CommitId, Proof, TestReport};
use tm_worktrees::Error;

/// The RED that a GREEN has to satisfy.
#[derive(Clone, Debug)]
pub struct RedCommit {
    /// What RED started from.
    pub base: CommitId,
    /// Its commit.
    pub commit: CommitId,
    /// The names of its tests, as far as they are known.
    pub tests: Vec<String>,
    /// The files of its tests that could not be loaded.
    pub unloaded: Vec<String>,
}

impl RedCommit {
    /// Returns that of an attempt, as it is written down; `None` before it was proven and committed.
    pub fn of(attempt: &AttemptRecord) -> Option<Self> {
        let proof = attempt.proof()?;
        Some(Self {
            base: attempt.place()?.base.clone(),
            commit: attempt.commit()?.clone(),
            tests: proof.new.clone(),
            unloaded: proof.unloaded.clone(),
        })
    }
}

/// Finds out what a commit is as a RED: the tests that it adds, and the files of tests that don't load yet.
///
/// # Errors
/// git refused.
pub async fn red_commit(
    commit: &CommitId,
    command: &TestCommand,
    result_cache: &TestResultCache,
) -> Result<RedCommit, StepError> {
    let (repository, red) = (result_cache.repository().clone(), commit.clone());
    let (base, changes) = blocking(move || {
        let base = repository
            .first_parent(&red)?
            .unwrap_or_else(|| red.clone());
        let changes = repository.changed_files(&base, &red)?;
        Ok::<_, Error>((base, changes))
    })
    .await?;
    let changes: Vec<Change> = changes
        .into_iter()
        .map(|file| Change {
            kind: kind(file.change),
            path: file.path,
        })
        .collect();
    let (before, after) = (
        result_cache.at(&base, command).await,
        result_cache.at(commit, command).await,
    );
    let test_files = test_files_of_red(&changes);
    let work = RedWork {
        base: &before,
        after: &after,
        rerun: None,
        without_tests: None,
        test_files: &test_files,
    };
    let proof = judge_red(&work, Strictness::Relaxed);
    Ok(RedCommit {
        base,
        commit: commit.clone(),
        tests: proof.new,
        unloaded: proof.unloaded,
    })
}

impl Prover<'_> {
    pub(super) async fn red(&self) -> Result<(Proof, TestReport), StepError> {
        let changes = self.changes(&self.work.base).await?;
        let test_files = self.red_files(&changes, &self.work.base).await?;
        let base = self.base().await;
        let after = self.measure("work").await?;
        let rerun = if old_tests_got_worse(&base, &after) {
            Some(self.measure("again").await?)
        } else {
            None
        };
        let is_only_tests = changes
            .iter()
            .all(|change| test_files.contains(&change.path));
        let without_tests = if after.load_errors.is_empty() || is_only_tests {
            None
        } else {
            Some(self.measure_with(&test_files, "without-tests").await?)
        };
        let red = RedWork {
            base: &base,
            after: &after,
            rerun: rerun.as_ref(),
            without_tests: without_tests.as_ref(),
            test_files: &test_files,
        };
        Ok((judge_red(&red, self.work.rules.strictness), after))
    }
}
