//! Before a run is taken up: what its journal says has landed is what git has, and after an unclean end it is proven
//! again, since nobody watched over the journal while tm was gone.

use super::audit::parallel;
use super::moved::now_at;
use super::setup::{by_id, checkouts, parts};
use crate::display::print_line;
use crate::failure::CommandFailure;
use crate::project::Project;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tm_reports::DoubtSummary;
use tm_runtime::audit::{AuditOrder, AuditTests, Doubt, doubts, landed_since, proven_tips};
use tm_runtime::{Measurements, Replayed, rules};
use tm_scheduler::{AuditItem, State, TaskId};
use tm_store::backlog::{BacklogSource, ReadOptions};
use tm_store::run::{RunDirectory, write_json};
use tm_worktrees::WorktreePool;

/// Whether the tests of what a journal says was proven are run again after an unclean end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JournalTrust {
    /// They are.
    Proven,
    /// The user says that they need not be.
    Trusted,
}

/// Refuses a run of which something that is said to have landed, or to be proven, can't be shown again.
pub(crate) fn prove_again(
    project: &Project,
    directory: &RunDirectory,
    replayed: &Replayed,
    trust: JournalTrust,
) -> Result<(), CommandFailure> {
    let header = &replayed.header;
    let worktrees = project.directory.worktrees_folder().join(header.run_id.as_str());
    let pool = WorktreePool::open(&project.repository, &worktrees)?;
    if let Some(doubt) = doubts(pool.repository(), &header.base_commit, &replayed.scheduler)?.first() {
        return Err(doubted(replayed, doubt));
    }
    let proven = replayed.scheduler.tasks().filter(|view| is_proven(view.state)).count();
    // A journal that tells of an end which no process reported may have been written by anybody.
    let ended_cleanly = replayed.scheduler.ended().is_some() && directory.summary_json().exists();
    if trust == JournalTrust::Trusted && directory.doubts().exists() {
        // The user knows why it could not be shown.
        remember(directory, &[])?;
    }
    if proven == 0 || ended_cleanly || trust == JournalTrust::Trusted {
        return Ok(());
    }
    print_line(&format!(
        "the run {} ended uncleanly: proving {proven} tasks again that landed or were about to \
         (`--trust-journal` leaves that out)",
        header.run_id
    ));
    let found = not_shown(project, directory, replayed, pool)?;
    remember(directory, &found)?;
    found.first().map_or(Ok(()), |item| Err(refused(replayed, item)))
}

/// Writes down what could not be shown, so that no report says of it that it has landed.
fn remember(directory: &RunDirectory, found: &[AuditItem]) -> Result<(), CommandFailure> {
    let doubt = |item: &AuditItem| DoubtSummary {
        task: item.task.as_ref().map(ToString::to_string),
        commit: item.commit.to_string(),
        why: format!("its work can't be shown again ({}): {}", item.outcome, item.what),
    };
    let doubts: Vec<DoubtSummary> = found.iter().map(doubt).collect();
    Ok(write_json(&directory.doubts(), &doubts)?)
}

const fn is_proven(state: &State) -> bool {
    matches!(state, State::Committing) || state.commit().is_some()
}

fn not_shown(
    project: &Project,
    directory: &RunDirectory,
    replayed: &Replayed,
    pool: WorktreePool,
) -> Result<Vec<AuditItem>, CommandFailure> {
    let (base, run) = (&replayed.header.base_commit, &replayed.scheduler);
    let tips = proven_tips(pool.repository(), base, run)?;
    let scratch = directory.path().join("proven-again");
    let executor = tm_runtime::executor(&project.directory);
    let checkouts = checkouts(project, pool, base.clone(), directory.path())?;
    let measurements = Arc::new(Measurements::new(checkouts, scratch.join("baselines"), executor));
    let order = AuditOrder {
        from: base.clone(),
        to: tips.first().unwrap_or(base).clone(),
        command: parts(project)?.all(),
        rules: rules(&project.loaded.settings),
        tests: AuditTests::All,
        parallel: parallel(project, None),
        scratch,
    };
    let own = own_commands(project, replayed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let found = runtime.block_on(landed_since(&order, &tips, run, &own, &measurements));
    found.map_err(|why| CommandFailure::new(format!("prove again what has landed: {why}")))
}

fn own_commands(project: &Project, replayed: &Replayed) -> Result<BTreeMap<TaskId, String>, CommandFailure> {
    let source = BacklogSource::at(&now_at(project, Path::new(&replayed.header.backlog))?)?;
    let options = ReadOptions { tag: Some(replayed.header.tag.clone()), ..ReadOptions::default() };
    let tasks = by_id(&source.read(&options)?.tasks);
    Ok(tasks.into_iter().filter_map(|(id, task)| Some((id, task.test_command?))).collect())
}

fn doubted(replayed: &Replayed, doubt: &Doubt) -> CommandFailure {
    let header = &replayed.header;
    let whose = doubt.task.as_ref().map_or_else(String::new, |task| format!("task `{task}` landed as it, but "));
    let failure = CommandFailure::new(format!(
        "take up the run {}: its journal and git do not agree about `{}`: {whose}{}",
        header.run_id, doubt.commit, doubt.why
    ));
    failure.hint(format!(
        "`git log --first-parent {}` shows what is there; {}",
        header.integration_branch,
        start_anew(replayed)
    ))
}

fn refused(replayed: &Replayed, item: &AuditItem) -> CommandFailure {
    let task = item.task.as_ref().map_or_else(|| "nobody".to_owned(), |task| format!("task `{task}`"));
    let evidence = if item.evidence.is_empty() { String::new() } else { format!("\n{}", item.evidence.trim_end()) };
    let failure = CommandFailure::new(format!(
        "take up the run {}, and to go on with its branch `{}`: the work of {task}, `{}`, can't be shown again ({}): \
         {}{evidence}",
        replayed.header.run_id, replayed.header.integration_branch, item.commit, item.outcome, item.what
    ));
    let failure = CommandFailure { message: tm_untrusted::clean(&failure.message), ..failure };
    failure.hint(format!(
        "`git show {}` shows it; where you know why its tests fail now, `tm waves resume --trust-journal` goes on; {}",
        item.commit,
        start_anew(replayed)
    ))
}

/// The command that goes on without what the run is said to have done.
fn start_anew(replayed: &Replayed) -> String {
    let base = &replayed.header.base_commit;
    format!(
        "`tm waves run --on-interrupted fresh --base {base}` leaves this run as it is and starts anew where it began"
    )
}
