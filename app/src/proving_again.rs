//! Before a run is taken up: what its journal says has landed is what git has, and after an unclean end it is proven
//! again, since nobody watched over the journal while tm was gone.

use crate::error::Error;
use crate::judging::{checkouts, parallel, result_cache};
use crate::notice::Notice;
use crate::project::{KnownRun, Project};
use crate::setup::{by_id, parts};
use std::collections::BTreeMap;
use tm_reports::DoubtSummary;
use tm_runtime::audit::{AuditOrder, AuditTests, doubts, landed_since, proven_tips};
use tm_runtime::{JournalHeader, Replayed, rules};
use tm_scheduler::{AuditItem, State, TaskId};
use tm_store::run::{RunDirectory, write_json};
use tm_worktrees::{Repository, WorktreePool};

/// Whether the tests of what a journal says was proven are run again after an unclean end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JournalTrust {
    /// They are.
    Proven,
    /// The user says that they need not be.
    Trusted,
}

/// Refuses a run of which something that is said to have landed, or to be proven, can't be shown again.
pub(crate) async fn prove_again(
    project: &Project,
    run: &KnownRun,
    trust: JournalTrust,
) -> Result<(), Error> {
    let KnownRun {
        directory,
        replayed,
    } = run;
    let (header, scheduler) = (&replayed.header, &replayed.scheduler);
    let pool = project.worktrees(header.run_id.as_str())?;
    refuse_doubted_journal(pool.repository(), replayed)?;
    let proven = scheduler.tasks().filter(|view| is_proven(view.state));
    let tasks = proven.count();
    // A journal that tells of an end which no process reported may have been written by anybody.
    let ended_cleanly = scheduler.ended().is_some() && directory.summary_json().exists();
    let is_trusted = trust == JournalTrust::Trusted;
    if is_trusted && directory.doubts().exists() {
        // The user knows why it could not be shown.
        remember(directory, &[])?;
    }
    if tasks == 0 || ended_cleanly || is_trusted {
        return Ok(());
    }
    let run_id = &header.run_id;
    project.tell(&Notice::ProvesAgain { run: run_id, tasks });
    let found = not_shown(project, run, pool).await?;
    remember(directory, &found)?;
    Error::refuse(found.into_iter().next(), |item| Error::NotShownAgain {
        header: Box::new(header.clone()),
        item: Box::new(item),
    })
}

/// What the journal says has landed has to be what git has.
fn refuse_doubted_journal(repository: &Repository, run: &Replayed) -> Result<(), Error> {
    let doubts = doubts(repository, &run.header.base_commit, &run.scheduler)?;
    Error::refuse(doubts.into_iter().next(), |doubt| Error::JournalDoubted {
        header: Box::new(run.header.clone()),
        doubt: Box::new(doubt),
    })
}

/// Writes down what could not be shown, so that no report says of it that it has landed.
fn remember(directory: &RunDirectory, found: &[AuditItem]) -> Result<(), Error> {
    let doubt = |item: &AuditItem| DoubtSummary {
        task: item.task.as_ref().map(ToString::to_string),
        commit: item.commit.to_string(),
        why: format!(
            "its work can't be shown again ({}): {}",
            item.outcome, item.what
        ),
    };
    let doubts: Vec<DoubtSummary> = found.iter().map(doubt).collect();
    Ok(write_json(&directory.doubts(), &doubts)?)
}

const fn is_proven(state: &State) -> bool {
    matches!(state, State::Committing) || state.commit().is_some()
}

async fn not_shown(
    project: &Project,
    KnownRun {
        directory,
        replayed,
    }: &KnownRun,
    pool: WorktreePool,
) -> Result<Vec<AuditItem>, Error> {
    let (base, run) = (&replayed.header.base_commit, &replayed.scheduler);
    let tips = proven_tips(pool.repository(), base, run)?;
    let scratch = directory.path().join("proven-again");
    let checkouts = checkouts(project, pool, base.clone(), directory.path())?;
    let result_cache = result_cache(project, checkouts, &scratch);
    let order = AuditOrder {
        from: base.clone(),
        to: tips.first().unwrap_or(base).clone(),
        command: parts(project)?.all(),
        rules: rules(&project.loaded.settings),
        tests: AuditTests::All,
        parallel: parallel(project, None),
        scratch,
    };
    let own = own_commands(project, &replayed.header)?;
    let found = landed_since(&order, &tips, run, &own, &result_cache).await;
    found.map_err(Error::unjudged("prove again what has landed"))
}

fn own_commands(
    project: &Project,
    header: &JournalHeader,
) -> Result<BTreeMap<TaskId, String>, Error> {
    let tasks = by_id(&project.backlog_of(header)?.1.tasks).into_iter();
    let own = tasks.filter_map(|(id, task)| Some((id, task.test_command?)));
    Ok(own.collect())
}
