//! Measures and judges a GREEN: its own results, then with everything as before that it may not turn to its advantage,
//! then RED without it, then tests that can't pass.

use super::files::{Brought, changed_tests};
use super::{Prover, RedCommit};
use crate::step_error::StepError;
use tm_executors::testing::told_by_exit_status;
use tm_scheduler::verdict::{
    AsBefore, Change, ChangeKind, GreenWork, RedFacts, brought_by_red, is_fixture, is_test_path,
    judge_green, names_path, with_files_as_before,
};
use tm_scheduler::{Proof, TestReport};

impl Prover<'_> {
    pub(super) async fn green(&self) -> Result<(Proof, TestReport), StepError> {
        let base = self.base().await;
        let changes = self.changes(&self.work.base).await?;
        let Some(red) = &self.work.red else {
            return self.green_without_red(&base, &changes).await;
        };
        let brought = self.brought(red).await?;
        let (mut facts, tampered) = (
            facts(red, &brought),
            self.tampered(&brought, &changes).await?,
        );
        let closure = self.closure(&changes, &brought.test_files).await?;
        let runner = self.changed_settings(&changes, &closure).await?;
        let without_red = self.without_red(red).await?;
        let after = self.measure("work").await?;
        let rerun = self.rerun(&base, &after).await?;
        // A command without names has to pass as a whole, whatever it did before.
        facts
            .new_tests
            .extend(told_by_exit_status(self.command, &after));
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
        if proof.holds() {
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

    /// A GREEN of which no RED is known is held to what was there before.
    async fn green_without_red(
        &self,
        base: &TestReport,
        changes: &[Change],
    ) -> Result<(Proof, TestReport), StepError> {
        let closure = self.closure(changes, &[]).await?;
        let runner = self.changed_settings(changes, &closure).await?;
        let after = self.measure("work").await?;
        let rerun = self.rerun(base, &after).await?;
        let green = GreenWork {
            base,
            without_red: base,
            after: &after,
            rerun: rerun.as_ref(),
            red: &RedFacts::default(),
            tampered: &[],
            runner: &runner,
        };
        let proof = judge_green(&green, self.work.rules);
        let files = AsBefore {
            tests: changed_tests(changes, &closure),
            frozen: Vec::new(),
        };
        let proof = if proof.holds() {
            self.as_before(proof, &green, &files).await?
        } else {
            proof
        };
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
    pub(super) async fn without_red(&self, red: &RedCommit) -> Result<TestReport, StepError> {
        let commit = if self.work.base == red.commit {
            red.base.clone()
        } else {
            let base = self.work.base.clone();
            let parent = self
                .git(move |repository| repository.first_parent(&base))
                .await?;
            parent.unwrap_or_else(|| red.base.clone())
        };
        Ok(self.result_cache.at(&commit, self.command).await)
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
        } else if is_fixture(path)
            && !is_test_path(path)
            && brought
                .tests
                .iter()
                .any(|(test, text)| names_path(test, text, path))
        {
            frozen.push((path.clone(), "read by RED's tests".to_owned()));
        }
    }
    let is_frozen = |path: &String| frozen.iter().any(|(frozen, _)| frozen == path);
    let tests = tests.into_iter().filter(|path| !is_frozen(path)).collect();
    AsBefore { tests, frozen }
}

fn facts(red: &RedCommit, brought: &Brought) -> RedFacts {
    let files = brought.tests.iter().map(|(path, _)| path.clone()).collect();
    RedFacts {
        new_tests: red.tests.clone(),
        unloaded: red.unloaded.clone(),
        files,
    }
}
