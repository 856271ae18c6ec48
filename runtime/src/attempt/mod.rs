//! Starts the agent of an attempt, or sees one to its end that another process started, and looks at what changed
//! meanwhile that is none of its business. The one way to an agent, for waves, gates and loops.
//!
//! Knows recipes and folders of attempts, neither tasks nor what a prompt says; what follows from a report is decided in
//! the scheduler.

mod concurrent;
mod launch;

use concurrent::ConcurrentAttempt;
pub(crate) use concurrent::ConcurrentAttempts;
pub(crate) use launch::{Launch, told_folder};

use crate::{StepError, blocking, in_background, now};
use itertools::Itertools as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_config::Escape;
use tm_executors::agent::{AgentCommand, Progress, adopt_attempt, run_attempt};
use tm_presets::Recipe;
use tm_scheduler::{AgentReport, AttemptNumber, Ended, StopMode, TaskId};
use tm_worktrees::{
    CheckoutChanges, CheckoutSnapshot, GitFolders, OtherWorktrees, Repository, TracedCommands,
};
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
    /// Elsewhere: what it changes in the user's checkout is an escape.
    Elsewhere,
    /// Elsewhere too, but it writes in the folder where tm's settings are.
    BesideSettings,
}

/// Whether an agent is started, or taken over.
#[derive(Clone, Copy, Debug)]
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
    pub(crate) command: Box<AgentCommand>,
    pub(crate) orders: watch::Receiver<Option<StopMode>>,
}

/// What there was before an agent began.
type Before = (Option<Arc<CheckoutSnapshot>>, Option<Arc<OtherWorktrees>>);

/// What is known of an agent when it is over.
struct Seen {
    is_held: bool,
    before: Before,
    traced: TracedCommands,
    at_work: ConcurrentAttempt,
}

/// What came of an agent.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its report, with what it changed elsewhere and what was noticed of it.
    pub(crate) report: AgentReport,
    /// Changes of the user's checkout that fail nobody and that no other attempt has told.
    pub(crate) warning: Option<String>,
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
            mut command,
            orders,
        } = attempt;
        let traced = TracedCommands::new(command.identity_file.with_file_name("git-commands"));
        let is_held = command.held.is_some();
        if self.escape == Escape::Traced && !is_held && self.workplace != Workplace::Checkout {
            command.tree.environment.extend(traced.begin()?);
        }
        // What is done before and after has a room of its own while it lasts, since hundreds of agents wait for hours.
        let before = async { tokio::join!(self.checkout(is_held), self.elsewhere(is_held)) };
        let before = Box::pin(before).await;
        let at_work = self.concurrent.begin((task, number));
        let ended = match start {
            Start::New => run_attempt(command, orders, progress).await,
            Start::Adopt => adopt_attempt(command, orders, progress).await,
        };
        let seen = Seen {
            is_held,
            before,
            traced,
            at_work,
        };
        Box::pin(self.after(ended?, seen, afterwards)).await
    }

    /// Looks what changed while an agent worked, and adds that to its report.
    async fn after(
        &self,
        mut report: AgentReport,
        seen: Seen,
        afterwards: impl FnOnce(&AgentReport) + Send,
    ) -> Result<Ran, StepError> {
        let Seen {
            is_held,
            before: (checkout, elsewhere),
            traced,
            at_work,
        } = seen;
        let put_right = self.put_git_right(checkout.clone(), is_held).await;
        let (put_right, folders) = put_right.unzip();
        let (changes, changed_elsewhere, ()) = tokio::join!(
            self.changes_since(checkout, folders, is_held),
            self.changed_elsewhere(elsewhere, is_held),
            async { afterwards(&report) }
        );
        let meanwhile = at_work.end();
        report.noticed.extend(meanwhile.noticed);
        let CheckoutChanges { work, settings } = changes.unwrap_or_default();
        let settings = [put_right.unwrap_or_default(), settings].concat();
        let own_command = if work.is_empty() {
            None
        } else {
            self.own_command(traced).await
        };
        let (charged, told) = match (self.escape, &own_command) {
            (Escape::Warn, _) => (Vec::new(), [work, settings].concat()),
            (Escape::Traced, None) => (settings, work),
            (Escape::Traced, Some(_)) | (Escape::Fail, _) => {
                ([work, settings].concat(), Vec::new())
            }
        };
        match own_command {
            Some(command) => report
                .noticed
                .push(format!("it changed the checkout itself: `{command}`")),
            None if charged.is_empty() || meanwhile.others.is_empty() => {}
            None => report.noticed.push(suspects(&meanwhile.others)),
        }
        let warning = self.concurrent.news(&charged, told);
        report.escape = charged;
        report.noticed.extend(warning.clone());
        report.noticed.extend(changed_elsewhere);
        Ok(Ran { report, warning })
    }

    /// A command of the agent's that changed the user's checkout, as far as git was asked to tell.
    async fn own_command(&self, traced: TracedCommands) -> Option<String> {
        let repository = self.repository.clone();
        seen("the checkout", move || traced.on_the_users(&repository)).await?
    }

    /// The user's checkout as it is now; `None` when it is not looked at, or can't be.
    ///
    /// What is held changes nothing of the user's but where it works, and there what decides how git works for the user.
    async fn checkout(&self, is_held: bool) -> Option<Arc<CheckoutSnapshot>> {
        let own = self.clone();
        match (self.workplace, is_held) {
            (Workplace::Checkout, true) => {
                let settings = move || CheckoutSnapshot::of_settings(&own.repository);
                seen("the checkout", settings).await.map(Arc::new)
            }
            (Workplace::BesideSettings, true) => {
                let settings = move || Ok(CheckoutSnapshot::of_settings_of_tm(&own.repository));
                seen("the checkout", settings).await.map(Arc::new)
            }
            (Workplace::Elsewhere | Workplace::BesideSettings, false) => {
                let all = move || CheckoutSnapshot::take(&own.repository, &own.own_files);
                let look = seen("the checkout", all);
                self.concurrent.checkout.next(look).await
            }
            (Workplace::Checkout, false) | (Workplace::Elsewhere, true) => None,
        }
    }

    /// Has git's folders hold nothing, where somebody held may write them, that git can't be let come by.
    async fn put_git_right(
        &self,
        before: Option<Arc<CheckoutSnapshot>>,
        is_held: bool,
    ) -> Option<(Vec<String>, GitFolders)> {
        let before = before.filter(|_| is_held)?;
        let repository = self.repository.clone();
        let put_right = in_background(move || before.put_git_right(&repository));
        put_right.await.ok().flatten()
    }

    async fn changes_since(
        &self,
        before: Option<Arc<CheckoutSnapshot>>,
        folders: Option<GitFolders>,
        is_held: bool,
    ) -> Option<CheckoutChanges> {
        let before = before?;
        let after = match folders {
            Some(folders) => self.settings_in(folders).await,
            None => self.checkout(is_held).await,
        }?;
        let repository = self.repository.clone();
        let changes = in_background(move || before.changes(&after, &repository));
        changes.await.ok()
    }

    /// What decides how git works, where its folders were just looked through.
    async fn settings_in(&self, folders: GitFolders) -> Option<Arc<CheckoutSnapshot>> {
        let repository = self.repository.clone();
        let settings = move || CheckoutSnapshot::of_settings_in(&repository, &folders);
        seen("the checkout", settings).await.map(Arc::new)
    }

    /// The user's other worktrees as they are now; `None` when they can't be looked at.
    async fn elsewhere(&self, is_held: bool) -> Option<Arc<OtherWorktrees>> {
        if is_held {
            return None;
        }
        let own = self.clone();
        let look = move || OtherWorktrees::take(&own.repository, &own.own_folder);
        let look = seen("other worktrees", look);
        self.concurrent.elsewhere.next(look).await
    }

    /// What changed there since, one sentence.
    async fn changed_elsewhere(
        &self,
        before: Option<Arc<OtherWorktrees>>,
        is_held: bool,
    ) -> Option<String> {
        let (before, after) = (before?, self.elsewhere(is_held).await?);
        let changes = before.changes(&after);
        let words = format!(
            "while it worked, other worktrees changed: {}",
            changes.join(", ")
        );
        (!changes.is_empty()).then_some(words)
    }
}

/// What a look shows; `None` where nothing can be seen.
async fn seen<T: Send + 'static>(
    place: &str,
    look: impl FnOnce() -> Result<T, tm_worktrees::Error> + Send + 'static,
) -> Option<T> {
    let seen = blocking(look).await;
    seen.inspect_err(|error| tracing::warn!(%error, "nobody sees what agents change in {place}"))
        .ok()
}

/// Says who else may have changed the user's checkout.
fn suspects(others: &[(TaskId, AttemptNumber)]) -> String {
    let names = others
        .iter()
        .map(|(task, attempt)| format!("`{task}` attempt {attempt}"))
        .join(", ");
    format!(
        "it can't be told which agent changed the checkout: at work in the same time were {names}"
    )
}

/// The report of an agent that could not be started.
pub(crate) fn not_started(recipe: &Recipe, why: String) -> AgentReport {
    AgentReport::new(recipe.name.clone(), now(), now(), Ended::NotStarted(why))
}
