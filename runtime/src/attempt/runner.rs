//! Runs the agent of an attempt, or sees one to its end that another process started, and looks at what changed
//! meanwhile that is none of its business. The one way to an agent, for waves, gates and loops.
//!
//! Knows neither tasks nor prompts; what follows from a report is decided in the scheduler.

use super::concurrent::ConcurrentAttempts;
use crate::step_error::{StepError, blocking};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_config::Escape;
use tm_executors::agent::{AgentCommand, Progress, adopt_attempt, run_attempt};
use tm_scheduler::{AgentReport, AttemptNumber, StopMode, TaskId};
use tm_worktrees::{CheckoutSnapshot, OtherWorktrees, Repository};
use tokio::sync::watch;

/// What agents may not touch, and who else is at work.
#[derive(Clone, Debug)]
pub(crate) struct AttemptRunner {
    pub(crate) repository: Repository,
    /// Files in the user's checkout that tm itself writes.
    pub(crate) own_files: Vec<PathBuf>,
    /// The folder of the project, below which tm's own worktrees are.
    pub(crate) own_folder: PathBuf,
    pub(crate) workplace: Workplace,
    /// What follows when the user's checkout changed.
    pub(crate) escape: Escape,
    pub(crate) concurrent: Arc<ConcurrentAttempts>,
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Workplace {
    /// In the user's checkout: what changes there is its work.
    Checkout,
    /// Elsewhere: what changes in the user's checkout is an escape.
    Elsewhere,
}

/// Whether an agent is started, or taken over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Start {
    New,
    Adopt,
}

/// One agent that is to run.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) task: TaskId,
    pub(crate) number: AttemptNumber,
    pub(crate) start: Start,
    pub(crate) command: AgentCommand,
    pub(crate) orders: watch::Receiver<Option<StopMode>>,
}

/// What came of an agent.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its report, with what it changed elsewhere and what was noticed of it.
    pub(crate) report: AgentReport,
    /// Changes of the user's checkout that are told and fail nobody.
    pub(crate) warnings: Vec<String>,
}

impl AttemptRunner {
    /// Returns the folder of the project that a folder of a run or of a loop is in.
    pub(crate) fn project_of(directory: &Path) -> PathBuf {
        directory.ancestors().nth(2).unwrap_or(directory).to_owned()
    }

    /// Runs the agent to its end; `afterwards` is done with its report while it is looked what changed elsewhere.
    ///
    /// # Errors
    /// It could not be started, or its end not be seen; no process of it is left.
    pub(crate) async fn run(
        &self,
        attempt: Attempt,
        progress: impl FnMut(Progress) + Send,
        afterwards: impl FnOnce(&AgentReport) + Send,
    ) -> Result<Ran, StepError> {
        let Attempt {
            task,
            number,
            start,
            command,
            orders,
        } = attempt;
        let (checkout, elsewhere) = tokio::join!(self.checkout(), self.elsewhere());
        let at_work = self.concurrent.begin(&task, number);
        let ended = match start {
            Start::New => run_attempt(command, orders, progress).await,
            Start::Adopt => adopt_attempt(command, orders, progress).await,
        };
        let mut report = ended?;
        let (changes, changed_elsewhere, ()) = tokio::join!(
            self.changes_since(checkout),
            self.changed_elsewhere(elsewhere),
            async { afterwards(&report) }
        );
        let meanwhile = at_work.end();
        report.noticed.extend(meanwhile.noticed);
        let mut warnings = Vec::new();
        match self.escape {
            Escape::Fail => report.escape = changes,
            Escape::Warn => {
                warnings = changes
                    .iter()
                    .map(|what| format!("the user's checkout changed: {what}"))
                    .collect();
            }
        }
        if !report.escape.is_empty() && !meanwhile.others.is_empty() {
            report.noticed.push(suspects(&meanwhile.others));
        }
        report.noticed.extend(changed_elsewhere);
        Ok(Ran { report, warnings })
    }

    /// The user's checkout as it is now; `None` when it is not looked at, or can't be.
    async fn checkout(&self) -> Option<CheckoutSnapshot> {
        if self.workplace == Workplace::Checkout {
            return None;
        }
        let (repository, own_files) = (self.repository.clone(), self.own_files.clone());
        blocking(move || CheckoutSnapshot::take(&repository, &own_files))
            .await
            .inspect_err(
                |error| tracing::warn!(%error, "nobody sees what agents change in the checkout"),
            )
            .ok()
    }

    async fn changes_since(&self, before: Option<CheckoutSnapshot>) -> Vec<String> {
        let (Some(before), Some(after)) = (before, self.checkout().await) else {
            return Vec::new();
        };
        let repository = self.repository.clone();
        let changed =
            blocking(move || Ok::<_, std::io::Error>(before.changes(&after, &repository))).await;
        changed.unwrap_or_default()
    }

    /// The user's other worktrees as they are now; `None` when they can't be looked at.
    async fn elsewhere(&self) -> Option<OtherWorktrees> {
        let (repository, own) = (self.repository.clone(), self.own_folder.clone());
        blocking(move || OtherWorktrees::take(&repository, &own))
            .await
            .inspect_err(
                |error| tracing::warn!(%error, "nobody sees what agents change in other worktrees"),
            )
            .ok()
    }

    /// What changed there since, one sentence.
    async fn changed_elsewhere(&self, before: Option<OtherWorktrees>) -> Option<String> {
        let changes = before?.changes(&self.elsewhere().await?);
        let words = format!(
            "while it worked, other worktrees changed: {}",
            changes.join(", ")
        );
        (!changes.is_empty()).then_some(words)
    }
}

/// Says who else may have changed the user's checkout.
fn suspects(others: &[(TaskId, AttemptNumber)]) -> String {
    let names: Vec<String> = others
        .iter()
        .map(|(task, attempt)| format!("`{task}` attempt {attempt}"))
        .collect();
    format!(
        "it can't be told which agent changed the checkout: at work in the same time were {}",
        names.join(", ")
    )
}
