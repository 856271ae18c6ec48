//! `tm waves land`: the work of a run into the branch that the user is on, after asking; and the merge of any branch.

use super::committing::Statuses;
use super::doubted::refuse_doubted;
use super::review::ReviewedRun;
use crate::arguments::LandArguments;
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_scheduler::CommitId;
use tm_store::run::RunLock;
use tm_worktrees::{BranchName, BringHow, Landing};

pub(crate) fn land(start: &Path, arguments: &LandArguments) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    refuse_live(&project, "land")?;
    let run = ReviewedRun::open(project, arguments.run.as_deref())?;
    refuse_doubted(&run.summary)?;
    let branch = BranchName::new(&run.summary.integration_branch)?;
    let onto = user_branch(&run.project)?;
    if !arguments.with_rejected {
        refuse_rejected(&run, &branch)?;
    }
    tell_doubted(&run);
    for task in run.summary.tasks.iter().filter(|task| task.landed) {
        print_data(&format!("{:8}  {:8}  {}\n", task.id, task.verdict.as_str(), task.title));
    }
    let asking = if arguments.yes { Asking::Never } else { Asking::AtTheTerminal };
    let how = if arguments.no_ff { BringHow::MergeCommit } else { BringHow::ForwardOrMerge };
    let code = bring_in(&run.project, &branch, &onto, asking, how)?;
    Statuses::of(&run.project, &run.replayed.header).commit_at_head(&onto)?;
    Ok(code)
}

/// Refuses to do something with the work of a run while one is live.
pub(crate) fn refuse_live(project: &Project, what: &str) -> Result<(), CommandFailure> {
    match RunLock::holder(&project.directory)? {
        None => Ok(()),
        Some(holder) => Err(CommandFailure::new(format!("{what} the work of a run while one is live: {holder}"))
            .code(ExitCode::Busy)
            .hint("wait for its end, or `tm waves stop`")),
    }
}

/// Refuses to pass on a branch of a run in which work stands that somebody rejected, in this run or before it.
pub(crate) fn refuse_rejected(run: &ReviewedRun, branch: &BranchName) -> Result<(), CommandFailure> {
    let Some(tip) = run.project.repository.branch_tip(branch)? else { return Ok(()) };
    let rejected = run.rejected_in(&tip)?;
    if rejected.is_empty() {
        return Ok(());
    }
    let failure = CommandFailure::new(format!("pass on what the review rejected: `{}`", rejected.join("`, `")));
    Err(failure.code(ExitCode::Refused).hint(
        "`tm waves run` takes it back and does it again, `tm review approve ID` changes your mind, `--with-rejected` goes \
         on",
    ))
}

/// Names the work that was built on work which was rejected since: a person is to judge it anew.
pub(crate) fn tell_doubted(run: &ReviewedRun) {
    run.doubted().iter().for_each(|line| print_line(&format!("warning: {line}")));
}

/// Returns the branch that the user is on.
///
/// # Errors
/// There is none.
pub(crate) fn user_branch(project: &Project) -> Result<String, CommandFailure> {
    project.repository.head()?.branch.ok_or_else(|| {
        CommandFailure::new("merge: HEAD is on no branch").hint("`git switch` to the branch that is to have it")
    })
}

/// Whether the user is asked before something of theirs changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asking {
    /// Yes; without a terminal that is an error.
    AtTheTerminal,
    /// They have said so already.
    Never,
}

/// Merges a branch into the one that the user is on.
pub(crate) fn bring_in(
    project: &Project,
    branch: &BranchName,
    onto: &str,
    asking: Asking,
    how: BringHow,
) -> Result<u8, CommandFailure> {
    let head = project.repository.head()?.commit;
    let Some(tip) = project.repository.branch_tip(branch)? else {
        return Err(CommandFailure::new(format!("merge: there is no branch `{branch}`")).hint("nothing landed in it"));
    };
    if !foreseen(project, &head, &tip, branch, onto)? {
        print_line(&format!("`{onto}` has everything of `{branch}` already"));
        return Ok(0);
    }
    let base = project.repository.merge_base(&head, &tip)?.unwrap_or(head);
    let stat = project.repository.diffstat(&base, &tip)?;
    print_data(&format!(
        "{} files, {} lines more, {} lines less, from `{branch}` to `{onto}`\n",
        stat.files, stat.insertions, stat.deletions
    ));
    if !confirmed(asking, onto)? {
        print_line("nothing was changed");
        return Ok(0);
    }
    let commit = project.repository.bring_in(branch, how).map_err(|error| {
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

fn confirmed(asking: Asking, onto: &str) -> Result<bool, CommandFailure> {
    if asking == Asking::Never {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let failure = CommandFailure::new("ask whether to land: there is no terminal").code(ExitCode::Usage);
        return Err(failure.hint("`--yes` lands without asking"));
    }
    Ok(dialoguer::Confirm::new().with_prompt(format!("Merge this into `{onto}`?")).default(false).interact()?)
}
