//! Tries what a GREEN that holds rests on: RED without it, and tests that can't pass. Files of tests, and what runs them,
//! have to be as they were checked out when a run of them has ended.

use super::files::Brought;
use super::{Prover, RedCommit};
use crate::{StepError, briefly};
use std::hash::{BuildHasher as _, RandomState};
use tm_executors::testing::{Canary as Changed, canary, is_tool_settings};
use tm_scheduler::verdict::{
    AsBefore, Canary, ChangeKind, GreenWork, RedAgain, canary_was_missed, control_tells, is_source,
    is_test_path, names_path, only_settings_pass, red_again, red_does_not_fail, tells_of_canary,
    tests_were_rewritten,
};
use tm_scheduler::{CommitId, Proof, TestReport};

/// What came of tests that can't pass.
pub(super) enum CanaryRun {
    /// None was tried, and why.
    Not(&'static str),
    Tried {
        results: Box<TestReport>,
        changed: Vec<(String, Changed)>,
    },
}

impl Prover<'_> {
    /// RED's tests have to fail still without GREEN's work, and with nothing of it but files that are no code.
    pub(super) async fn red_again(
        &self,
        proof: Proof,
        red: &RedCommit,
        green: &GreenWork<'_>,
        judged: &AsBefore,
        brought: &Brought,
    ) -> Result<Proof, StepError> {
        let then = self.result_cache.at(&red.commit, self.command).await;
        let judged = judged.paths();
        let others = self.changes()?.into_iter().map(|change| change.path);
        let others = others.filter(|path| !is_source(path) && !judged.contains(path));
        let others: Vec<String> = others.collect();
        let mut with_others = None;
        // Where RED's tests pass at GREEN's base already, something else that landed has turned them.
        if !others.is_empty() && red_again(green.red, &then, green.base) == RedAgain::Fails {
            let now = self.measure_base_with(&others, "red-with-settings").await?;
            match red_again(green.red, &then, &now) {
                RedAgain::Fails => return Ok(proof),
                RedAgain::Passes(_) => with_others = Some(now),
                RedAgain::Differs(_) | RedAgain::CannotRun(_) => {}
            }
        }
        let now = self.measure_at(&red.commit, "red-again").await?;
        let proof = red_does_not_fail(proof, &red_again(green.red, &then, &now), &now);
        let Some(with_others) = with_others.filter(|_| proof.holds()) else {
            return Ok(proof);
        };
        // What RED's tests name is what they test.
        let (settings, data): (Vec<String>, Vec<String>) = others
            .into_iter()
            .partition(|path| is_tool_settings(path) && !brought.names(path));
        Ok(only_settings_pass(
            proof,
            &settings,
            &data,
            &with_others,
            self.work.rules,
        ))
    }

    /// The results of the base, but for some files, which are as in the work.
    async fn measure_base_with(
        &self,
        files: &[String],
        name: &str,
    ) -> Result<TestReport, StepError> {
        let repository = self.repository();
        let commit = briefly(|| {
            repository.with_files_of(&repository.tree_of(&self.work.base)?, files, &self.commit)
        })?;
        self.measure_at(&commit, name).await
    }

    /// The results with RED's tests changed until they can't pass.
    pub(super) async fn canary(&self, brought: &Brought) -> Result<CanaryRun, StepError> {
        if self.work.rules.canary == Canary::Off {
            return Ok(CanaryRun::Not(
                "tests that can't pass were not tried (`tdd.canary: off`)",
            ));
        }
        let changed = self.changed_tests_of_red(brought)?;
        if changed.is_empty() {
            return Ok(CanaryRun::Not(
                "no test of RED could be changed into one that can't pass, so none was tried",
            ));
        }
        let text = |(path, canary): &(String, Changed)| (path.clone(), canary.text.clone());
        let texts: Vec<_> = changed.iter().map(text).collect();
        let results = self.measure_texts(None, &texts, "canary").await?;
        Ok(CanaryRun::Tried {
            results: Box::new(results),
            changed,
        })
    }

    /// Tests of RED that can't pass have to be told of.
    pub(super) async fn canary_is_told_of(
        &self,
        mut proof: Proof,
        red: &RedCommit,
        green: &GreenWork<'_>,
        canary: CanaryRun,
    ) -> Result<Proof, StepError> {
        let (results, changed) = match canary {
            CanaryRun::Not(why) => {
                proof.notes.push(why.to_owned());
                return Ok(proof);
            }
            CanaryRun::Tried { results, .. } if tells_of_canary(green.after, &results) => {
                return Ok(proof);
            }
            CanaryRun::Tried { results, changed } => (results, changed),
        };
        let missed = self.seen_without_work(red, &changed).await?;
        if missed.is_empty() {
            let note = "tests that can't pass were tried, and nothing could be told by them";
            proof.notes.push(note.to_owned());
            return Ok(proof);
        }
        Ok(canary_was_missed(proof, &results, &missed))
    }

    /// RED's test files as they are in the work, changed until they can't pass; one that others of them use is left.
    fn changed_tests_of_red(&self, brought: &Brought) -> Result<Vec<(String, Changed)>, StepError> {
        let nonce = nonce();
        let mut changed = Vec::new();
        for (path, _) in &brought.tests {
            let text = briefly(|| self.repository().text_in_tree(&self.work.tree, path))?;
            let canary = text.and_then(|text| canary(path, &text, &nonce));
            changed.extend(canary.map(|canary| (path.clone(), canary)));
        }
        let is_used = |path: &str| {
            brought
                .tests
                .iter()
                .any(|(other, text)| other != path && names_path(other, text, path))
        };
        let (used, own): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|(path, _)| is_used(path));
        Ok(if own.is_empty() { used } else { own })
    }

    /// The files in whose place the runner sees a test that fails, as it was before RED: there the work alone can keep
    /// it from being seen.
    async fn seen_without_work(
        &self,
        red: &RedCommit,
        changed: &[(String, Changed)],
    ) -> Result<Vec<String>, StepError> {
        let before = self.result_cache.at(&red.base, self.command).await;
        let mut seen = Vec::new();
        for (path, canary) in changed.iter().filter(|(_, canary)| canary.is_certain) {
            let Some(text) = self.control(red, path, canary)? else {
                continue;
            };
            let (base, texts) = (Some(&red.base), [(path.clone(), text)]);
            let control = self.measure_texts(base, &texts, "canary-control").await?;
            if control_tells(&before, &control) {
                seen.push(path.clone());
            }
        }
        Ok(seen)
    }

    /// A file that does nothing but fail; a file of code stays, with a test that fails besides those that it has.
    fn control(
        &self,
        red: &RedCommit,
        path: &str,
        changed: &Changed,
    ) -> Result<Option<String>, StepError> {
        if is_test_path(path) {
            return Ok(Some(changed.control.clone()));
        }
        let text = briefly(|| self.repository().text_at(&red.base, path))?;
        let changed = text.and_then(|text| canary(path, &text, &nonce()));
        Ok(changed.map(|canary| canary.text))
    }

    /// The results of a commit, or of the work, with other texts in some files.
    async fn measure_texts(
        &self,
        commit: Option<&CommitId>,
        texts: &[(String, String)],
        name: &str,
    ) -> Result<TestReport, StepError> {
        let (repository, work) = (self.repository(), self.work);
        let made = briefly(|| {
            let tree = commit.map_or(Ok(work.tree.clone()), |commit| repository.tree_of(commit))?;
            repository.with_texts(&tree, texts, &work.base)
        })?;
        self.measure_at(&made, name).await
    }
}

/// A word that nobody knows beforehand.
fn nonce() -> String {
    format!("n{:016x}", RandomState::new().hash_one(std::process::id()))
}

impl Prover<'_> {
    /// What a proof is worth where tests, or what runs them, were written to while they ran. What is written to without
    /// the work, too, is no doing of the work's, and its own new files are its own to write.
    pub(super) async fn of_tests_as_checked_out(&self, proof: Proof) -> Result<Proof, StepError> {
        let mut files = std::mem::take(&mut *self.rewritten.lock());
        if !proof.holds() || files.is_empty() {
            return Ok(proof);
        }
        for change in self.changes()? {
            if change.kind == ChangeKind::Added {
                files.remove(&change.path);
            }
        }
        if files.is_empty() {
            return Ok(proof);
        }
        let base = self.measure_at(&self.work.base, "base-again").await?;
        files.retain(|path| !base.rewritten.contains(path));
        if files.is_empty() {
            return Ok(proof);
        }
        let files: Vec<String> = files.into_iter().collect();
        Ok(tests_were_rewritten(proof, &files, self.work.rules))
    }
}
