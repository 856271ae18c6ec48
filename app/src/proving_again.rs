//! Before a run is taken up: what its journal says has landed is what git has, and after an unclean end it is proven
//! again, since nobody watched over the journal while tm was gone.
//!
//! Nothing can be built on landed work whose commits are not in the repository any more, so such a run is not gone on with:
//! somebody deleted the integration branch, and git collected what nothing held then.

use crate::error::{Error, LostLandings};
use crate::interrupted::landed;
use crate::judging::{by_id, checkouts, parallel, parts, result_cache};
use crate::notice::Notice;
use crate::project::{KnownRun, Project};
use std::collections::BTreeMap;
use tm_reports::DoubtSummary;
use tm_runtime::audit::{AuditOrder, AuditTests, doubts, landed_since, proven_tips};
use tm_runtime::{JournalHeader, Replayed, rules};
use tm_scheduler::{
    AuditItem, BranchName, CommitId, Scheduler, State, TaskId, TaskRow, TaskView, task_rows,
};
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
    let views: Vec<TaskView<'_>> = scheduler.tasks().collect();
    let rows = task_rows(&views);
    let is_asked = |row: &&TaskRow<&TaskView<'_>>| row.halves().any(|half| is_proven(half.state));
    let tasks = rows.iter().filter(is_asked).count();
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
    let doubts: Vec<DoubtSummary> = found.iter().map(doubt).collect();
    Ok(write_json(&directory.doubts(), &doubts)?)
}

fn doubt(item: &AuditItem) -> DoubtSummary {
    let (outcome, what) = (item.outcome, &item.what);
    DoubtSummary {
        task: item.task.as_ref().map(ToString::to_string),
        commit: item.commit.to_string(),
        why: format!("its work can't be shown again ({outcome}): {what}"),
    }
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
    let executor = project.executor_of_run()?;
    let checkouts = checkouts(project, pool, base.clone(), (directory.path(), &executor))?;
    let result_cache = result_cache(checkouts, &scratch, executor);
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
    landed_since(&order, &tips, run, &own, &result_cache)
        .await
        .map_err(Error::unjudged("prove again what has landed"))
}

fn own_commands(
    project: &Project,
    header: &JournalHeader,
) -> Result<BTreeMap<TaskId, String>, Error> {
    Ok(by_id(&project.backlog_of(header)?.1.tasks)
        .into_iter()
        .filter_map(|(id, task)| Some((id, task.metadata.test_command.clone()?)))
        .collect())
}

/// Refuses to go on where landed work is gone, and says how to go on from what is left.
pub(crate) fn refuse_lost_landings(
    repository: &Repository,
    replayed: &Replayed,
) -> Result<(), Error> {
    let landed = landed(&replayed.scheduler);
    let Some(gone) = repository.missing(&landed)?.pop() else {
        return Ok(());
    };
    let kept = branches_with_work(repository, &replayed.scheduler)?;
    let ids = replayed
        .scheduler
        .tasks()
        .filter(|view| view.state.commit().is_some())
        .map(|view| view.placed.task.backlog_id.clone());
    Err(Error::LandingsLost(Box::new(LostLandings {
        branch: replayed.header.integration_branch.clone(),
        gone,
        needed: without_parts(repository, &kept)?,
        kept: kept.into_iter().map(|(branch, _)| branch).collect(),
        ids: ids.collect(),
    })))
}

/// The branches of tasks that hold proven work, in the order in which they were proven.
fn branches_with_work(
    repository: &Repository,
    scheduler: &Scheduler,
) -> Result<Vec<(BranchName, CommitId)>, Error> {
    let mut found = Vec::new();
    let done = scheduler
        .tasks()
        .filter_map(|view| view.attempts.last())
        .filter_map(|record| Some((record, record.place()?, record.commit()?)));
    for (record, place, commit) in done {
        let branch = &place.branch;
        if let Some(tip) = repository.branch_tip(branch)?
            && repository.is_ancestor(commit, &tip)?
        {
            found.push((record.ended_at(), branch.clone(), tip));
        }
    }
    found.sort_by_key(|(ended_at, ..)| *ended_at);
    Ok(found
        .into_iter()
        .map(|(_, branch, tip)| (branch, tip))
        .collect())
}

/// The branches that no later one contains.
fn without_parts(
    repository: &Repository,
    kept: &[(BranchName, CommitId)],
) -> Result<Vec<BranchName>, Error> {
    let mut needed: Vec<&(BranchName, CommitId)> = Vec::new();
    for candidate in kept.iter().rev() {
        let mut is_in_another = false;
        for (_, tip) in &needed {
            is_in_another = is_in_another || repository.is_ancestor(&candidate.1, tip)?;
        }
        if !is_in_another {
            needed.push(candidate);
        }
    }
    Ok(needed
        .into_iter()
        .rev()
        .map(|(branch, _)| branch.clone())
        .collect())
}
