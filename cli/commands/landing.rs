//! `tm waves land`: the work of a run into the branch that the user is on, after asking.

use super::reporting::whole_summary;
use crate::arguments::LandArguments;
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_reports::Summary;
use tm_scheduler::CommitId;
use tm_store::run::RunLock;
use tm_worktrees::{BranchName, BringHow, Landing};

pub(crate) fn land(start: &Path, arguments: &LandArguments) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    if let Some(holder) = RunLock::holder(&project.directory)? {
        return Err(CommandFailure::new(format!("land the work of a run while one is live: {holder}"))
            .code(ExitCode::Busy)
            .hint("wait for its end, or `tm waves stop`"));
    }
    let (_, replayed) = project.replayed(arguments.run.as_deref())?;
    let summary = whole_summary(&project, &replayed.scheduler, &replayed.header, replayed.last_input_at);
    let branch = BranchName::new(&summary.integration_branch)?;
    let head = project.repository.head()?;
    let Some(onto) = head.branch else {
        return Err(
            CommandFailure::new("land: HEAD is on no branch").hint("`git switch` to the branch that is to have it")
        );
    };
    let Some(tip) = project.repository.branch_tip(&branch)? else {
        return Err(
            CommandFailure::new(format!("land: there is no branch `{branch}`")).hint("nothing landed in that run")
        );
    };
    if !foreseen(&project, &head.commit, &tip, &branch, &onto)? {
        print_line(&format!("`{onto}` has everything of `{branch}` already"));
        return Ok(0);
    }
    show(&project, &summary, &head.commit, &tip, &onto)?;
    if !confirmed(arguments, &onto)? {
        print_line("nothing was changed");
        return Ok(0);
    }
    let how = if arguments.no_ff { BringHow::MergeCommit } else { BringHow::ForwardOrMerge };
    let commit = project.repository.bring_in(&branch, how).map_err(|error| {
        CommandFailure::from(error).hint("commit or stash what is in the way, then try again; nothing was changed")
    })?;
    print_line(&format!("`{onto}` is at {commit}"));
    Ok(0)
}

/// Tells whether there is anything to bring in.
///
/// # Errors
/// It conflicts.
fn foreseen(
    project: &Project,
    head: &CommitId,
    tip: &CommitId,
    branch: &BranchName,
    onto: &str,
) -> Result<bool, CommandFailure> {
    match project.repository.land(head, tip)? {
        Landing::AlreadyLanded => Ok(false),
        Landing::Clean(_) => Ok(true),
        Landing::Conflict(conflict) => {
            let files = conflict.files.join("`, `");
            Err(CommandFailure::new(format!("land `{branch}` on `{onto}`: they conflict in `{files}`"))
                .hint(format!("`git merge {branch}` lets you resolve it")))
        }
    }
}

fn show(
    project: &Project,
    summary: &Summary,
    head: &CommitId,
    tip: &CommitId,
    onto: &str,
) -> Result<(), CommandFailure> {
    for task in summary.tasks.iter().filter(|task| task.landed) {
        print_data(&format!("{:8}  {:8}  {}\n", task.id, task.verdict.as_str(), task.title));
    }
    let base = project.repository.merge_base(head, tip)?.unwrap_or_else(|| head.clone());
    let stat = project.repository.diffstat(&base, tip)?;
    print_data(&format!(
        "{} files, {} lines more, {} lines less, from `{}` to `{onto}`\n",
        stat.files, stat.insertions, stat.deletions, summary.integration_branch
    ));
    Ok(())
}

fn confirmed(arguments: &LandArguments, onto: &str) -> Result<bool, CommandFailure> {
    if arguments.yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let failure = CommandFailure::new("ask whether to land: there is no terminal").code(ExitCode::Usage);
        return Err(failure.hint("`--yes` lands without asking"));
    }
    Ok(dialoguer::Confirm::new().with_prompt(format!("Merge this into `{onto}`?")).default(false).interact()?)
}
