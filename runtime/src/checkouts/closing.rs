//! The end of what a run keeps of its checkouts: tear-downs, copies, the folders themselves.

use super::preparation::{PreparedPlace, Role};
use super::{BUILT, Checkouts};
use crate::describe;
use crate::test_queue::{Turn, Urgency};
use futures_util::future::join_all;
use std::path::Path;
use std::sync::Arc;
use tm_executors::environment::remove_folder;
use tokio::sync::Semaphore;

/// Closed once nobody waits for tear-downs any more.
static WAITED_FOR: Semaphore = Semaphore::const_new(0);

/// Ends the tear-downs that are under way, and all that would come: for whoever wants this process to end.
pub fn end_tear_downs() {
    WAITED_FOR.close();
}

impl Checkouts {
    /// Runs the tear-down in every checkout that is ready, and removes the copies; returns what people should know.
    pub async fn close(&self) -> Vec<String> {
        let known = std::mem::take(&mut *self.known());
        let mut warnings = std::mem::take(&mut *self.noticed.lock());
        warnings.extend(self.pool.take_notes());
        if self.preparation.has_teardown() {
            let pool = self.pool.clone();
            // What is not sealed now is not the user's settings either.
            let _sealed = tokio::task::spawn_blocking(move || pool.seal_idle()).await;
            let torn_down = join_all(known.keys().map(|folder| self.torn_down(folder)));
            tokio::select! {
                biased;
                torn_down = torn_down => warnings.extend(torn_down.into_iter().flatten()),
                _nobody_waits = WAITED_FOR.acquire() => {
                    warnings.push("tear-downs were ended before they were done".to_owned());
                }
            }
        }
        // What can't be removed now goes with the run's folder.
        for copies in ["copies", BUILT] {
            let _with_the_folder = std::fs::remove_dir_all(self.folder.join(copies));
        }
        remove_folder(&self.folder.join("layers"));
        let pool = self.pool.clone();
        let closed = tokio::task::spawn_blocking(move || pool.close()).await;
        let trouble = closed.ok().and_then(Result::err);
        warnings.extend(trouble.map(|error| format!("failed to {error}")));
        warnings
    }

    /// Tears one down, and returns what went wrong.
    async fn torn_down(&self, folder: &Path) -> Option<String> {
        let place = PreparedPlace {
            folder: folder.to_owned(),
            role: Role::Agent,
            log: self.log_of("teardown", folder),
            untracked: Arc::new(|| Ok(Vec::new())),
            variables: self.variables(folder),
            turn: Turn::new(Urgency::Ahead),
            layers: self.layers_of(folder),
        };
        let torn_down = self.preparation.tear_down(&place).await;
        torn_down.err().map(|error| describe(&error))
    }
}
