//! Measures and judges a RED; and a GREEN: its own results, then with everything as before that it may not turn to its
//! advantage, then RED without it, then tests that can't pass.

use super::files::{Brought, changed_tests};
use super::{Prover, TestResultCache};
use crate::{StepError, briefly};
use serde::{Deserialize, Serialize};
use tm_executors::testing::{TestCommand, told_by_exit_status};
use tm_scheduler::verdict::{
    AsBefore, Change, ChangeKind, GreenWork, RedFacts, RedWork, Strictness, brought_by_red,
    is_fixture, is_test_path, judge_green, judge_red, old_tests_got_worse, test_files_of_red,
    with_files_as_before,
};
use tm_scheduler::{AttemptRecord, CommitId, Proof, TestReport};
use tm_worktrees::Error;

impl Prover<'_> {
    pub(super) async fn green(&self) -> Result<(Proof, TestReport), StepError> {
        let base = self.base().await;
        let changes = self.changes()?;
        // A GREEN of which no RED is known is held to what was there before.
        let red = self.work.red.as_ref();
        let brought = self.brought(red)?;
        let tampered = self.tampered(&brought, &changes)?;
        let closure = self.closure(&changes, &brought.test_files)?;
        let runner = self.changed_settings(&changes, &closure)?;
        let without_red = match red {
            Some(red) => self.without_red(red).await?,
            None => base.clone(),
        };
        let after = self.measure("work").await?;
        let rerun = self.rerun(&base, &after).await?;
        let facts = red.map(|red| facts(red, &brought, told_by_exit_status(self.command, &after)));
        let facts = facts.unwrap_or_default();
        let green = GreenWork {
            base: &base,
            without_red: &without_red,
            after: &after,
            rerun: rerun.as_ref(),
            red: &facts,
            tampered: &tampered,
            runner: &runner,
        };
        let mut proof = judge_green(&green, self.work.rules);
        let tests = changed_tests(&changes, &closure);
        let files = as_before(&brought, &changes, tests);
        if proof.holds() {
            proof = self.as_before(proof, &green, &files).await?;
        }
        if let Some(red) = red.filter(|_| proof.holds()) {
            // Run before RED is: it differs from the work in tests alone, so that what is built for the work stays.
            // Judged after RED, which tells better which file bent the runner.
            let canary = self.canary(&brought).await?;
            proof = self.red_again(proof, red, &green, &files, &brought).await?;
            if proof.holds() {
                proof = self.canary_is_told_of(proof, red, &green, canary).await?;
            }
        }
        Ok((proof, after))
    }

    async fn as_before(
        &self,
        proof: Proof,
        green: &GreenWork<'_>,
        files: &AsBefore,
    ) -> Result<Proof, StepError> {
        if files.is_empty() {
            return Ok(proof);
        }
        let as_before = self.measure_with(&files.paths(), "tests-as-before").await?;
        let green = GreenWork {
            after: &as_before,
            rerun: None,
            ..*green
        };
        Ok(with_files_as_before(proof, &green, files, self.work.rules))
    }

    /// The results at GREEN's base without RED's work: at RED's own base, or at what RED's work was merged into.
    async fn without_red(&self, red: &RedCommit) -> Result<TestReport, StepError> {
        let mut parent = None;
        if self.work.base != red.commit {
            parent = briefly(|| self.repository().first_parent(&self.work.base))?;
        }
        let commit = parent.as_ref().unwrap_or(&red.base);
        Ok(self.result_cache.at(commit, self.command).await)
    }
}

/// The files that are as before when GREEN is judged once more: tests and their runner, what RED brought, what its links
/// lead to, and data for tests that RED's tests name.
fn as_before(brought: &Brought, changes: &[Change], tests: Vec<String>) -> AsBefore {
    let mut frozen = brought_by_red(&brought.files, &brought.tests, changes);
    for change in changes
        .iter()
        .filter(|change| change.kind != ChangeKind::Added)
    {
        let path = &change.path;
        let is_led_to = |target: &str| path == target || path.starts_with(&format!("{target}/"));
        if let Some((link, _)) = brought.led_to.iter().find(|(_, target)| is_led_to(target)) {
            frozen.push((path.clone(), format!("RED's `{link}` leads to it")));
        } else if is_fixture(path) && !is_test_path(path) && brought.names(path) {
            frozen.push((path.clone(), "read by RED's tests".to_owned()));
        }
    }
    let is_frozen = |path: &String| frozen.iter().any(|(frozen, _)| frozen == path);
    let tests = tests.into_iter().filter(|path| !is_frozen(path)).collect();
    AsBefore { tests, frozen }
}

/// What RED was. A command without names has to pass as a whole, whatever it did before.
fn facts(red: &RedCommit, brought: &Brought, without_names: Vec<String>) -> RedFacts {
    RedFacts {
        new_tests: [red.tests.clone(), without_names].concat(),
        unloaded: red.unloaded.clone(),
        files: brought.tests.iter().map(|(path, _)| path.clone()).collect(),
    }
}

/// The RED that a GREEN has to satisfy.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
        let proof = attempt.proof()?.clone();
        Some(Self {
            base: attempt.place()?.base.clone(),
            commit: attempt.commit()?.clone(),
            tests: proof.new,
            unloaded: proof.unloaded,
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
    let repository = result_cache.repository();
    let (base, changes) = briefly(|| {
        let base = repository.first_parent(commit)?;
        let base = base.unwrap_or_else(|| commit.clone());
        let changes = repository.changed_files(&base, commit)?;
        Ok::<_, Error>((base, changes))
    })?;
    let before = result_cache.at(&base, command).await;
    let after = result_cache.at(commit, command).await;
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
        let changes = self.changes()?;
        let test_files = self.red_files(&changes)?;
        let base = self.base().await;
        let after = self.measure("work").await?;
        let (mut rerun, mut without_tests) = (None, None);
        if old_tests_got_worse(&base, &after) {
            rerun = Some(self.measure("again").await?);
        }
        let is_other = |change: &Change| !test_files.contains(&change.path);
        if !after.load_errors.is_empty() && changes.iter().any(is_other) {
            without_tests = Some(self.measure_with(&test_files, "without-tests").await?);
        }
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
