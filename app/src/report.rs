//! What a run leaves when it is over: the summary in all its forms, and the facts that those need.

use crate::committing::Statuses;
use crate::error::{Error, with_causes};
use crate::notice::Notice;
use crate::project::Project;
use crate::review::Doubted;
use crate::run::RunOf;
use std::path::Path;
use tm_config::CommitBacklog;
use tm_reports::{
    DiffstatSummary, REPORTS, RunFacts, SetupSummary, Summary, TaskSummary, summarize,
};
use tm_runtime::{JournalHeader, Outcome};
use tm_scheduler::{CommitId, Phase, Scheduler, State, TaskView, Timestamp};
use tm_store::run::{read_json, write_json};

/// Writes the summary in all its forms, and the statuses where they are committed each time.
pub(crate) fn report(of: &RunOf, outcome: &Outcome) -> Result<Summary, Error> {
    let RunOf {
        project,
        header,
        directory,
        after,
    } = of;
    let summary = whole_summary(project, &outcome.scheduler, header, outcome.ended_at);
    forget_rejections(project, outcome, header)?;
    write_reports(&summary, directory.path())
        .map_err(|error| Error::RunBrokenOff(Box::new(error)))?;
    if project.loaded.settings.git.commit_backlog == CommitBacklog::Each {
        Statuses::of(project, header).commit_on_branch(&outcome.scheduler)?;
    }
    if let Some(folder) = &after.report_dir
        && let Err(error) = std::fs::create_dir_all(folder)
            .map_err(Into::into)
            .and_then(|()| write_reports(&summary, folder))
    {
        project.tell(&Notice::Failed(&format!(
            "write reports into `{}`: {}",
            folder.display(),
            with_causes(&error)
        )));
    }
    Ok(summary)
}

/// What was rejected and has been done again since is evidence for nobody any more.
fn forget_rejections(
    project: &Project,
    outcome: &Outcome,
    header: &JournalHeader,
) -> Result<(), Error> {
    let is_done = |view: &TaskView<'_>| {
        view.placed.task.phase != Phase::Red
            && matches!(view.state, State::Landed { .. } | State::Held { .. })
    };
    for view in outcome.scheduler.tasks().filter(is_done) {
        let task = &view.placed.task.backlog_id;
        project
            .directory
            .forget_rejections(&header.tag, task, |kept| kept.run != header.run_id)?;
        project.directory.close_again(&header.tag, task)?;
    }
    Ok(())
}

/// Writes the summary in all its forms.
///
/// # Errors
/// The folder can't be written.
pub fn write_reports(summary: &Summary, folder: &Path) -> Result<(), Error> {
    write_json(&folder.join("summary.json"), summary)?;
    for (name, layout) in REPORTS {
        tm_store::atomic::replace_own(&folder.join(name), layout(summary).as_bytes())?;
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
    let pair = |task: &TaskSummary| {
        Some((
            CommitId::new(task.base_commit.as_deref()?),
            CommitId::new(task.commit.as_deref()?),
        ))
    };
    let pairs: Vec<(CommitId, CommitId)> = summary.tasks.iter().filter_map(pair).collect();
    let stats = project.repository.diffstats(&pairs).unwrap_or_default();
    let changed = summary.tasks.iter_mut();
    let changed = changed.filter(|task| pair(task).is_some());
    for (task, stat) in changed.zip(stats) {
        // A commit that the user has had collected has no size any more.
        task.diffstat = stat.map(|stat| DiffstatSummary {
            files: stat.files,
            insertions: stat.insertions,
            deletions: stat.deletions,
        });
    }
    Doubted::of(project, header).tell(project, &header.run_id, &mut summary);
    summary
}

/// Returns the facts of a run for its summary.
pub fn facts(project: &Project, header: &JournalHeader, ended_at: Timestamp) -> RunFacts {
    let integration = project.repository.resolve(&header.integration_branch);
    let directory = project.directory.run(&header.run_id).ok();
    RunFacts {
        run_id: header.run_id.clone(),
        tag: header.tag.clone(),
        base_commit: header.base_commit.clone(),
        integration_branch: header.integration_branch.clone(),
        integration_commit: integration.unwrap_or_else(|_| header.base_commit.clone()),
        started_at: header.started_at,
        ended_at,
        preflight: directory
            .as_ref()
            .and_then(|directory| read_json(&directory.preflight()).ok()),
        setups: directory
            .map(|directory| setups(&directory.activity()))
            .unwrap_or_default(),
    }
}

/// An activity log is read so far.
const ACTIVITY_BYTES: u64 = 256 * 1024 * 1024;

/// The set-ups that a run's activity tells of.
fn setups(activity: &Path) -> SetupSummary {
    let text = tm_untrusted::read(activity, ACTIVITY_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let events = text
        .lines()
        .filter(|line| line.contains("\"setup:done\"") || line.contains("\"base:measured\""));
    let took = events.filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        event["took_ms"]
            .as_u64()
            .or_else(|| event["setup_ms"].as_u64())
    });
    took.fold(SetupSummary::default(), SetupSummary::and)
}
