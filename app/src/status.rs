//! Where a run stands, and what its journal says has landed against git, for every call that says what has landed.

use crate::error::Error;
use crate::project::{KnownRun, Project};
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
    if replayed.scheduler.ended().is_none() {
        match (liveness, replayed.scheduler.is_paused()) {
            (Liveness::Over, _) => "interrupted".clone_into(&mut summary.status),
            (Liveness::Live, true) => "paused".clone_into(&mut summary.status),
            (Liveness::Live, false) => {}
        }
    }
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
    let holder = || RunLock::holder(&project.directory).ok().flatten();
    let is_its_own = |holder: Holder| {
        let held = holder.run_id;
        held.is_none_or(|held| held == replayed.header.run_id)
    };
    if replayed.scheduler.ended().is_none() && holder().is_some_and(is_its_own) {
        Liveness::Live
    } else {
        Liveness::Over
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
    let Replayed {
        scheduler, header, ..
    } = &run.replayed;
    let summary = whole_summary(project, scheduler, header, ended_at);
    match liveness {
        Liveness::Live => summary,
        Liveness::Over => with_doubts(summary, doubts(project, run)),
    }
}

fn doubts(project: &Project, run: &KnownRun) -> Vec<DoubtSummary> {
    let header = &run.replayed.header;
    let seen = doubts_of_looks(
        &project.repository,
        &header.base_commit,
        &header.integration_branch,
        &run.replayed.scheduler,
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
