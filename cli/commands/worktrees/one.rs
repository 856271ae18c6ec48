//! `tm worktrees show|diff|log|open|merge`: the branch of one task.

use crate::commands::Perform;
use crate::commands::landing::MergeChoice;
use crate::commands::review::{as_json, as_text};
use crate::display::{json_text, print_data};
use crate::failure::{CommandFailure, ExitCode, Result};
use clap::Args;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_app::{ReviewedRun, TaskBranch, user_branch};
use tm_executors::process::run_attended;
use tm_store::run::safe_name;
use tm_worktrees::{InspectionWorktree, Pruned};

/// A task of a run.
#[derive(Args)]
struct TaskOfRun {
    /// The task; `ID:red` for the tests of a pair.
    #[arg(value_name = "ID")]
    task: String,
    /// The run; the live or last one when not given.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

/// `tm worktrees show`.
#[derive(Args)]
pub(crate) struct ShowBranch {
    /// The task.
    #[command(flatten)]
    task: TaskOfRun,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm worktrees diff`.
#[derive(Args)]
pub(crate) struct DiffArguments {
    /// The task.
    #[command(flatten)]
    of: TaskOfRun,
}

/// `tm worktrees log`.
#[derive(Args)]
pub(crate) struct LogArguments {
    /// The task.
    #[command(flatten)]
    of: TaskOfRun,
}

/// `tm worktrees open`.
#[derive(Args)]
pub(crate) struct OpenArguments {
    /// The task.
    #[command(flatten)]
    task: TaskOfRun,
    /// Open `$VISUAL` or `$EDITOR` instead of `$SHELL`.
    #[arg(long, conflicts_with = "print")]
    editor: bool,
    /// Only make the worktree and print its folder; `tm worktrees prune` removes it.
    #[arg(long)]
    print: bool,
}

/// `tm worktrees merge`.
#[derive(Args)]
pub(crate) struct MergeArguments {
    /// The task.
    #[command(flatten)]
    task: TaskOfRun,
    /// How it is merged.
    #[command(flatten)]
    merge: MergeChoice,
}

impl Perform for ShowBranch {
    async fn perform(self, start: &Path) -> Result {
        let (run, branch) = self.task.branch(start)?;
        let conflicts = run.conflicts(&branch)?;
        print_data(&if self.json {
            json_text(&as_json(&branch, &conflicts))?
        } else {
            as_text(&branch, &conflicts, &run.onto()?)
        });
        Ok(0)
    }
}

impl Perform for DiffArguments {
    async fn perform(self, start: &Path) -> Result {
        let (run, branch) = self.of.branch(start)?;
        run.viewed()?.show_diff(&branch.base, &branch.commit)?;
        Ok(0)
    }
}

impl Perform for LogArguments {
    async fn perform(self, start: &Path) -> Result {
        let (run, branch) = self.of.branch(start)?;
        run.viewed()?.show_log(&branch.base, &branch.commit)?;
        Ok(0)
    }
}

impl TaskOfRun {
    fn branch(&self, start: &Path) -> Result<(ReviewedRun, TaskBranch)> {
        let project = crate::project::open(start)?;
        let run = ReviewedRun::open(project, self.run.as_deref())?;
        let branch = run.branch_of(&self.task)?;
        Ok((run, branch))
    }
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
    fn command(self) -> Result<String> {
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
                .ok_or_else(|| failure!("find your editor").hint("set VISUAL or EDITOR")),
        }
    }
}

impl Perform for OpenArguments {
    async fn perform(self, start: &Path) -> Result {
        let (run, branch) = self.task.branch(start)?;
        if self.print {
            data!("{}\n", worktree(&run, &branch)?.path().display());
            return Ok(0);
        }
        if !std::io::stdin().is_terminal() {
            return Err(failure!("open a shell: there is no terminal")
                .code(ExitCode::Usage)
                .hint("`--print` makes the worktree and prints its folder"));
        }
        let tool = if self.editor {
            Tool::Editor
        } else {
            Tool::Shell
        };
        open_branch(&run, &branch, tool).await?;
        Ok(0)
    }
}

/// Opens a worktree on the branch, waits until the person is done, and removes it unless something is left in it.
pub(crate) async fn open_branch(run: &ReviewedRun, branch: &TaskBranch, tool: Tool) -> Result<()> {
    let command = tool.command()?;
    let opened = worktree(run, branch)?;
    let (repository, name) = (&run.project.repository, &branch.branch);
    say!("`{name}` is checked out in {}", opened.path().display());
    // However the shell ended, its last command decided that.
    let _last_command = run_attended("sh", &["-c", &command], opened.path()).await?;
    let closed = repository.close_worktree(&opened);
    if closed.outcome == Pruned::Kept && matches!(opened, InspectionWorktree::Made(_)) {
        let why = closed.why;
        say!("the worktree stays, {why}; `tm worktrees prune` removes it later");
    }
    if repository.branch_tip(name)?.as_ref() != Some(&branch.commit) {
        let task = &branch.task.id;
        say!("`{name}` has moved; `tm worktrees merge {task}` merges it as it is now");
    }
    Ok(())
}

fn worktree(run: &ReviewedRun, branch: &TaskBranch) -> Result<InspectionWorktree> {
    let folder = run.project.directory.worktrees_folder();
    let folder = folder.join("opened").join(&run.summary.run_id);
    let place = folder.join(safe_name(&branch.id()));
    let name = &branch.branch;
    run.project
        .repository
        .open_worktree(name, &place)
        .map_err(|error| {
            let commit = &branch.commit;
            CommandFailure::from(error)
                .hint(format!("`git branch {name} {commit}` brings a branch back"))
        })
}

fn refuse_rejected(run: &ReviewedRun, branch: &TaskBranch) -> Result<()> {
    let rejected = run.rejected_in(&branch.commit)?;
    if rejected.is_empty() {
        return Ok(());
    }
    Err(failure!(
        "merge what the review rejected: `{}`",
        rejected.join("`, `")
    )
    .code(ExitCode::Refused)
    .hint("`tm review approve ID` changes your mind, `tm waves run` does it again"))
}

impl Perform for MergeArguments {
    async fn perform(self, start: &Path) -> Result {
        let (run, branch) = self.task.branch(start)?;
        let onto = user_branch(&run.project)?;
        refuse_rejected(&run, &branch)?;
        print_data(&as_text(&branch, &run.conflicts(&branch)?, &onto));
        self.merge.merge(&run.project, &branch.branch, &onto)?;
        Ok(0)
    }
}
