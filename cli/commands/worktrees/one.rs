//! `tm worktrees show|diff|log|open|merge`: the branch of one task.

use crate::arguments::{MergeArguments, OpenArguments, ShowBranch, TaskOfRun};
use crate::commands::landing::merge_into_checkout;
use crate::commands::review::{as_json, as_text};
use crate::display::{json_text, print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use std::io::IsTerminal as _;
use std::path::Path;
use tm_app::{ReviewedRun, TaskBranch, user_branch};
use tm_executors::process::run_attended;
use tm_store::run::safe_name;
use tm_worktrees::{InspectionWorktree, Pruned};

pub(crate) fn show(start: &Path, arguments: &ShowBranch) -> Result<u8, CommandFailure> {
    let (run, branch) = branch(start, &arguments.task)?;
    let conflicts = run.conflicts(&branch)?;
    print_data(&if arguments.json {
        json_text(&as_json(&branch, &conflicts))?
    } else {
        as_text(&branch, &conflicts, &run.onto()?)
    });
    Ok(0)
}

pub(crate) fn diff(start: &Path, choice: &TaskOfRun) -> Result<u8, CommandFailure> {
    let (run, branch) = branch(start, choice)?;
    run.viewed()?.show_diff(&branch.base, &branch.commit)?;
    Ok(0)
}

pub(crate) fn log(start: &Path, choice: &TaskOfRun) -> Result<u8, CommandFailure> {
    let (run, branch) = branch(start, choice)?;
    run.viewed()?.show_log(&branch.base, &branch.commit)?;
    Ok(0)
}

fn branch(start: &Path, choice: &TaskOfRun) -> Result<(ReviewedRun, TaskBranch), CommandFailure> {
    let run = ReviewedRun::open(
        crate::project::open(start, Vec::new())?,
        choice.run.as_deref(),
    )?;
    let branch = run.branch_of(&choice.task)?;
    Ok((run, branch))
}

/// What is opened in a worktree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tool {
    /// `$SHELL`.
    Shell,
    /// `$VISUAL` or `$EDITOR`.
    Editor,
}

impl Tool {
    /// The command, as `sh` runs it: both variables may hold arguments.
    fn command(self) -> Result<String, CommandFailure> {
        let set = |name: &str| {
            std::env::var(name)
                .ok()
                .filter(|value| !value.trim().is_empty())
        };
        match self {
            Self::Shell => Ok(set("SHELL").unwrap_or_else(|| "sh".to_owned())),
            Self::Editor => set("VISUAL")
                .or_else(|| set("EDITOR"))
                .map(|editor| format!("{editor} ."))
                .ok_or_else(|| {
                    CommandFailure::new("find your editor").hint("set VISUAL or EDITOR")
                }),
        }
    }
}

pub(crate) async fn open(start: &Path, arguments: &OpenArguments) -> Result<u8, CommandFailure> {
    let (run, branch) = branch(start, &arguments.task)?;
    if arguments.print {
        print_data(&format!("{}\n", worktree(&run, &branch)?.path().display()));
        return Ok(0);
    }
    if !std::io::stdin().is_terminal() {
        let failure =
            CommandFailure::new("open a shell: there is no terminal").code(ExitCode::Usage);
        return Err(failure.hint("`--print` makes the worktree and prints its folder"));
    }
    open_branch(
        &run,
        &branch,
        if arguments.editor {
            Tool::Editor
        } else {
            Tool::Shell
        },
    )
    .await?;
    Ok(0)
}

/// Opens a worktree on the branch, waits until the person is done, and removes it unless something is left in it.
pub(crate) async fn open_branch(
    run: &ReviewedRun,
    branch: &TaskBranch,
    tool: Tool,
) -> Result<(), CommandFailure> {
    let command = tool.command()?;
    let opened = worktree(run, branch)?;
    print_line(&format!(
        "`{}` is checked out in {}",
        branch.branch,
        opened.path().display()
    ));
    // However the shell ended, its last command decided that.
    let _last_command = run_attended("sh", &["-c", &command], opened.path()).await?;
    let closed = run.project.repository.close_worktree(&opened);
    if closed.outcome == Pruned::Kept && matches!(opened, InspectionWorktree::Made(_)) {
        print_line(&format!(
            "the worktree stays, {}; `tm worktrees prune` removes it later",
            closed.why
        ));
    }
    if run.project.repository.branch_tip(&branch.branch)?.as_ref() != Some(&branch.commit) {
        print_line(&format!(
            "`{}` has moved; `tm worktrees merge {}` merges it as it is now",
            branch.branch, branch.task.id
        ));
    }
    Ok(())
}

fn worktree(run: &ReviewedRun, branch: &TaskBranch) -> Result<InspectionWorktree, CommandFailure> {
    let folder = run
        .project
        .directory
        .worktrees_folder()
        .join("opened")
        .join(&run.summary.run_id);
    let opened = run
        .project
        .repository
        .open_worktree(&branch.branch, &folder.join(safe_name(&branch.id())));
    opened.map_err(|error| {
        CommandFailure::from(error).hint(format!(
            "`git branch {} {}` brings a branch back",
            branch.branch, branch.commit
        ))
    })
}

fn refuse_rejected(run: &ReviewedRun, branch: &TaskBranch) -> Result<(), CommandFailure> {
    let rejected = run.rejected_in(&branch.commit)?;
    if rejected.is_empty() {
        return Ok(());
    }
    let failure = CommandFailure::new(format!(
        "merge what the review rejected: `{}`",
        rejected.join("`, `")
    ));
    Err(failure
        .code(ExitCode::Refused)
        .hint("`tm review approve ID` changes your mind, `tm waves run` does it again"))
}

pub(crate) fn merge(start: &Path, arguments: &MergeArguments) -> Result<u8, CommandFailure> {
    let (run, branch) = branch(start, &arguments.task)?;
    let onto = user_branch(&run.project)?;
    refuse_rejected(&run, &branch)?;
    print_data(&as_text(&branch, &run.conflicts(&branch)?, &onto));
    merge_into_checkout(
        &run.project,
        &branch.branch,
        &onto,
        (arguments.yes, arguments.no_ff),
    )?;
    Ok(0)
}
