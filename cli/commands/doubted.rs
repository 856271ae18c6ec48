//! What a journal says has landed, against git, for every command that says what has landed.

use super::reporting::whole_summary;
use crate::display::print_line;
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use tm_reports::{DoubtSummary, Summary, with_doubts};
use tm_runtime::Replayed;
use tm_runtime::audit::doubts_of_looks;
use tm_scheduler::Timestamp;
use tm_store::run::{RunDirectory, read_json};

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
    if is_live { summary } else { with_doubts(summary, doubts(project, directory, replayed)) }
}

fn doubts(project: &Project, directory: &RunDirectory, replayed: &Replayed) -> Vec<DoubtSummary> {
    let header = &replayed.header;
    let seen =
        doubts_of_looks(&project.repository, &header.base_commit, &header.integration_branch, &replayed.scheduler);
    let seen = seen.into_iter().map(|doubt| DoubtSummary {
        task: doubt.task.map(|task| task.to_string()),
        commit: doubt.commit.to_string(),
        why: doubt.why,
    });
    // Without the file nothing was refused; one that nobody can read says nothing.
    let refused: Vec<DoubtSummary> = read_json(&directory.doubts()).unwrap_or_default();
    seen.chain(refused).collect()
}

/// Says on stderr what is in doubt; returns the exit code of whoever reports it.
pub(crate) fn tell_doubts(summary: &Summary) -> u8 {
    if summary.doubts.is_empty() {
        return 0;
    }
    print_line(&format!(
        "warning: the journal of the run {} says of work that it has landed, and git does not show it",
        summary.run_id
    ));
    print_line(&format!("hint: {}", next(summary)));
    ExitCode::Refused.number()
}

/// Refuses to pass on the work of a run of which something is in doubt.
pub(crate) fn refuse_doubted(summary: &Summary) -> Result<(), CommandFailure> {
    let Some(doubt) = summary.doubts.first() else { return Ok(()) };
    let failure = CommandFailure::new(format!(
        "pass on the work of the run {}: its journal and git do not agree about `{}`: {}",
        summary.run_id, doubt.commit, doubt.why
    ));
    Err(failure.code(ExitCode::Refused).hint(next(summary)))
}

fn next(summary: &Summary) -> String {
    format!("`git log --first-parent {}` shows what is there", summary.integration_branch)
}
