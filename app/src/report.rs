//! Where a run stands and what it leaves when it is over: the summary in all its forms, the facts that those need, and
//! what the journal says has landed against git, for every call that says what has landed.

use crate::agent_places::AgentPlaces;
use crate::error::Error;
use crate::excerpts::{ends, with_excerpts};
use crate::notice::Notice;
use crate::project::{KnownRun, Project};
use crate::review::Doubted;
use serde_json::Value;
use std::path::Path;
use tm_executors::engine::Whereabouts;
use tm_reports::{
    AttemptSummary, DiffstatSummary, DoubtSummary, REPORTS, RunFacts, SetupSummary, Summary,
    TaskSummary, summarize, with_doubts,
};
use tm_runtime::audit::{Landings, doubts_of_looks};
use tm_runtime::{JournalHeader, Replayed, now};
use tm_scheduler::{CommitId, Phase, Scheduler, State, TaskView, Timestamp, with_causes};
use tm_store::run::{Holder, RunDirectory, RunLock, is_autopilot_run, read_json, write_json};

/// What was rejected and has been done again since is evidence for nobody any more.
pub(crate) fn forget_rejections(
    project: &Project,
    scheduler: &Scheduler,
    JournalHeader { tag, run_id, .. }: &JournalHeader,
) -> Result<(), Error> {
    for view in scheduler.tasks().filter(is_done) {
        let (directory, task) = (&project.directory, &view.placed.task.backlog_id);
        directory.forget_rejections(tag, task, |kept| kept.run != *run_id)?;
        directory.close_again(tag, task)?;
    }
    Ok(())
}

fn is_done(view: &TaskView<'_>) -> bool {
    let holds = matches!(view.state, State::Landed { .. } | State::Held { .. });
    holds && view.placed.task.phase != Phase::Red
}

/// Writes the reports where the user wants them too; trouble with that is told.
pub(crate) fn write_besides(
    project: &Project,
    directory: &RunDirectory,
    summary: &Summary,
    folder: &Path,
) {
    let made = std::fs::create_dir_all(folder).map_err(Error::from);
    if let Err(error) = made.and_then(|()| write_into(project, directory, summary, folder)) {
        let (folder, why) = (folder.display(), with_causes(&error));
        project.tell(&Notice::Failed(&format!(
            "write reports into `{folder}`: {why}"
        )));
    }
}

/// Writes the summary in all its forms into the folder of its run.
///
/// # Errors
/// The folder can't be written.
pub fn write_reports(
    project: &Project,
    directory: &RunDirectory,
    summary: &Summary,
) -> Result<(), Error> {
    write_into(project, directory, summary, directory.path())
}

fn write_into(
    project: &Project,
    directory: &RunDirectory,
    summary: &Summary,
    folder: &Path,
) -> Result<(), Error> {
    write_json(&folder.join("summary.json"), summary)?;
    let whole = with_excerpts(project, directory, summary);
    for report in &REPORTS {
        let text = (report.layout)(&whole);
        tm_store::atomic::replace_own(&folder.join(report.file), text.as_bytes())?;
    }
    Ok(())
}

/// The summary of a run, with what only git knows.
pub(crate) fn whole_summary(
    project: &Project,
    scheduler: &Scheduler,
    header: &JournalHeader,
    ended_at: Timestamp,
) -> Summary {
    let mut summary = summarize(scheduler, &facts(project, header, ended_at));
    measure(project, &mut summary.tasks);
    if let Ok(run) = project.directory.run(&header.run_id) {
        tell_places(&run, &mut summary.tasks);
    }
    Doubted::of(project, header).tell(project, &header.run_id, &mut summary);
    summary
}

/// Adds how much the work of each task changes.
fn measure(project: &Project, tasks: &mut [TaskSummary]) {
    let pairs: Vec<(CommitId, CommitId)> = tasks.iter().filter_map(ends).collect();
    let stats = project.repository.diffstats(&pairs).unwrap_or_default();
    let changed = tasks.iter_mut().filter(|task| ends(task).is_some());
    for (task, stat) in changed.zip(stats) {
        // A commit that the user has had collected has no size any more.
        task.diffstat = stat.map(|stat| DiffstatSummary {
            files: stat.files,
            insertions: stat.insertions,
            deletions: stat.deletions,
        });
    }
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns the facts of a run for its summary.
pub fn facts(project: &Project, header: &JournalHeader, ended_at: Timestamp) -> RunFacts {
    let integration = project
        .repository
        .resolve(header.integration_branch.as_str());
    let directory = project.directory.run(&header.run_id).ok();
    let directory = directory.as_ref();
    RunFacts {
        run_id: header.run_id.clone(),
        project: name_of(project.repository.checkout_root()),
        tag: header.tag.clone(),
        base_commit: header.base_commit.clone(),
        integration_branch: header.integration_branch.clone(),
        integration_commit: integration.unwrap_or_else(|_| header.base_commit.clone()),
        started_at: header.started_at,
        ended_at,
        preflight: directory.and_then(|directory| read_json(&directory.preflight()).ok()),
        setups: directory.map_or_else(SetupSummary::default, setups),
    }
}

/// An activity log is read so far.
const ACTIVITY_BYTES: u64 = 256 * 1024 * 1024;

/// Adds where attempts are that are not over, where that is another machine.
fn tell_places(run: &RunDirectory, tasks: &mut [TaskSummary]) {
    let goes_on =
        |attempt: &&mut AttemptSummary| attempt.ended.is_none() && attempt.ended_at.is_none();
    let mut places = AgentPlaces::default();
    let mut is_read = false;
    for task in tasks {
        let Some(attempt) = task.attempts.last_mut().filter(goes_on) else {
            continue;
        };
        if !std::mem::replace(&mut is_read, true) {
            places.read_on(&run.activity());
        }
        match places.of(&task.id, attempt.n) {
            Some(Whereabouts::Waiting(why)) => attempt.waits = Some(why.clone()),
            Some(Whereabouts::On(place)) => attempt.place = Some(place.clone()),
            None => {}
        }
    }
}

/// The set-ups that a run's activity tells of.
fn setups(run: &RunDirectory) -> SetupSummary {
    let text = tm_untrusted::read(&run.activity(), ACTIVITY_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(setup_ms)
        .fold(SetupSummary::default(), SetupSummary::and)
}

/// The milliseconds that a set-up took of which an event tells.
fn setup_ms(line: &str) -> Option<u64> {
    if !line.contains("\"setup:done\"") && !line.contains("\"base:measured\"") {
        return None;
    }
    let event: Value = serde_json::from_str(line).ok()?;
    event["took_ms"]
        .as_u64()
        .or_else(|| event["setup_ms"].as_u64())
}

/// Returns the run that is named, or the live or last one, with its summary.
///
/// # Errors
/// There is none, or its journal can't be read.
pub fn status(project: &Project, name: Option<&str>) -> Result<(RunDirectory, Summary), Error> {
    let run = project.replayed(name)?;
    let summary = summary(project, &run);
    Ok((run.directory, summary))
}

/// Returns the summary of a run as its journal tells it; the time of one that goes on runs until now.
pub fn summary(project: &Project, run: &KnownRun) -> Summary {
    let replayed = &run.replayed;
    let liveness = liveness(project, replayed);
    let ended_at = match liveness {
        Liveness::Live => now(),
        Liveness::Over => replayed.last_input_at,
    };
    let mut summary = shown_summary(project, run, ended_at, liveness);
    let status = match (replayed.scheduler.ended(), liveness) {
        (Some(_), _) => None,
        (None, Liveness::Over) => Some("interrupted"),
        (None, Liveness::Live) => replayed.scheduler.is_paused().then_some("paused"),
    };
    summary.status = status.map_or(summary.status, ToOwned::to_owned);
    summary
}

/// Whether a process carries a run out now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Liveness {
    Live,
    Over,
}

/// Tells whether a process carries the run out now: that of another home may be live.
pub(crate) fn liveness(project: &Project, replayed: &Replayed) -> Liveness {
    let id = &replayed.header.run_id;
    let is_its_own = |holder: &Holder| holder.run_id.as_ref().is_none_or(|held| held == id);
    if replayed.scheduler.ended().is_some() {
        return Liveness::Over;
    }
    match RunLock::holder(&project.directory) {
        Ok(Some(holder)) if is_its_own(&holder) => Liveness::Live,
        Ok(_) | Err(_) => Liveness::Over,
    }
}

/// The summary of a run as its journal tells it, without what git does not show. A run that is live is watched by its
/// own process, and is not looked into.
pub(crate) fn shown_summary(
    project: &Project,
    run: &KnownRun,
    ended_at: Timestamp,
    liveness: Liveness,
) -> Summary {
    let replayed = &run.replayed;
    let summary = whole_summary(project, &replayed.scheduler, &replayed.header, ended_at);
    match liveness {
        Liveness::Live => summary,
        Liveness::Over => with_doubts(summary, doubts(project, run)),
    }
}

fn doubts(project: &Project, run: &KnownRun) -> Vec<DoubtSummary> {
    let header = &run.replayed.header;
    let landings = if is_autopilot_run(&header.run_id) {
        Landings::Commits
    } else {
        Landings::Merges
    };
    let seen = doubts_of_looks(
        &project.repository,
        &header.base_commit,
        header.integration_branch.as_str(),
        &run.replayed.scheduler,
        landings,
    );
    let seen = seen.into_iter().map(|doubt| DoubtSummary {
        task: doubt.task.map(|task| task.to_string()),
        commit: doubt.commit.to_string(),
        why: doubt.why,
    });
    // Without the file nothing was refused; one that nobody can read says nothing.
    let refused: Vec<DoubtSummary> = read_json(&run.directory.doubts()).unwrap_or_default();
    seen.chain(refused).collect()
}

/// Refuses to pass on the work of a run of which something is in doubt.
pub(crate) fn refuse_doubted(summary: &Summary) -> Result<(), Error> {
    Error::refuse(summary.doubts.first(), |doubt| Error::WorkDoubted {
        run: summary.run_id.clone(),
        branch: summary.integration_branch.clone(),
        doubt: Box::new(doubt.clone()),
    })
}
