//! Where a run stands, and what its journal says has landed against git, for every call that says what has landed.

use crate::error::Error;
use crate::project::Project;
use crate::report::whole_summary;
use tm_reports::{DoubtSummary, Summary, with_doubts};
use tm_runtime::audit::doubts_of_looks;
use tm_runtime::{Replayed, now};
use tm_scheduler::Timestamp;
use tm_store::run::{Holder, RunDirectory, RunLock, read_json};

/// Returns the run that is named, or the live or last one, with its summary.
///
/// # Errors
/// There is none, or its journal can't be read.
pub fn status(project: &Project, name: Option<&str>) -> Result<(RunDirectory, Summary), Error> {
    let (directory, replayed) = project.replayed(name)?;
    let summary = summary(project, &directory, &replayed);
    Ok((directory, summary))
}

/// Returns the summary of a run as its journal tells it; the time of one that goes on runs until now.
pub fn summary(project: &Project, directory: &RunDirectory, replayed: &Replayed) -> Summary {
    let is_live = is_live(project, replayed);
    let ended_at = if is_live {
        now()
    } else {
        replayed.last_input_at
    };
    let mut summary = shown_summary(project, directory, replayed, ended_at, is_live);
    if replayed.scheduler.ended().is_none() {
        match (is_live, replayed.scheduler.is_paused()) {
            (false, _) => "interrupted".clone_into(&mut summary.status),
            (true, true) => "paused".clone_into(&mut summary.status),
            (true, false) => {}
        }
    }
    summary
}

/// Tells whether a process carries the run out now: that of another home may be live.
pub fn is_live(project: &Project, replayed: &Replayed) -> bool {
    let holder = || RunLock::holder(&project.directory).ok().flatten();
    let is_its_own = |holder: Holder| {
        holder
            .run_id
            .is_none_or(|held| held == replayed.header.run_id)
    };
    replayed.scheduler.ended().is_none() && holder().is_some_and(is_its_own)
}

/// The summary of a run as its journal tells it, without what git does not show. A run that is live is watched by its
/// own process, and is not looked into.
pub(crate) fn shown_summary(
    project: &Project,
    directory: &RunDirectory,
    replayed: &Replayed,
    ended_at: Timestamp,
    is_live: bool,
) -> Summary {
    let summary = whole_summary(project, &replayed.scheduler, &replayed.header, ended_at);
    if is_live {
        summary
    } else {
        with_doubts(summary, doubts(project, directory, replayed))
    }
}

fn doubts(project: &Project, directory: &RunDirectory, replayed: &Replayed) -> Vec<DoubtSummary> {
    let header = &replayed.header;
    let seen = doubts_of_looks(
        &project.repository,
        &header.base_commit,
        &header.integration_branch,
        &replayed.scheduler,
    );
    let seen = seen.into_iter().map(|doubt| DoubtSummary {
        task: doubt.task.map(|task| task.to_string()),
        commit: doubt.commit.to_string(),
        why: doubt.why,
    });
    // Without the file nothing was refused; one that nobody can read says nothing.
    let refused: Vec<DoubtSummary> = read_json(&directory.doubts()).unwrap_or_default();
    seen.chain(refused).collect()
}

/// Refuses to pass on the work of a run of which something is in doubt.
pub(crate) fn refuse_doubted(summary: &Summary) -> Result<(), Error> {
    let Some(doubt) = summary.doubts.first() else {
        return Ok(());
    };
    Err(Error::WorkDoubted {
        run: summary.run_id.clone(),
        branch: summary.integration_branch.clone(),
        commit: doubt.commit.clone(),
        why: doubt.why.clone(),
    })
}
