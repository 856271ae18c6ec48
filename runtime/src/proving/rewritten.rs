//! Files of tests, and what runs them, have to be as they were checked out when a run of them has ended.

use super::Prover;
use crate::step_error::StepError;
use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use tm_scheduler::Proof;
use tm_scheduler::verdict::{ChangeKind, tests_were_rewritten};

impl Prover<'_> {
    pub(super) fn rewritten(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.rewritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What a proof is worth where tests, or what runs them, were written to while they ran. What is written to without
    /// the work, too, is no doing of the work's, and its own new files are its own to write.
    pub(super) async fn of_tests_as_checked_out(&self, proof: Proof) -> Result<Proof, StepError> {
        let mut files = std::mem::take(&mut *self.rewritten());
        if !proof.holds() || files.is_empty() {
            return Ok(proof);
        }
        for change in self.changes(&self.work.base).await? {
            if change.kind == ChangeKind::Added {
                files.remove(&change.path);
            }
        }
        if files.is_empty() {
            return Ok(proof);
        }
        let base = self.measure_at(&self.work.base, "base-again").await?;
        let files: Vec<String> = files
            .into_iter()
            .filter(|path| !base.rewritten.contains(path))
            .collect();
        if files.is_empty() {
            return Ok(proof);
        }
        Ok(tests_were_rewritten(proof, &files, self.work.rules))
    }
}
