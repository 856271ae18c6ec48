//! The arguments of `tm worktrees`.

use super::{JsonOutput, RunChoice};
use clap::{Args, Subcommand};

/// Commands on worktrees and branches.
#[derive(Debug, Subcommand)]
pub(crate) enum Worktrees {
    /// List the branches of a run with what became of them.
    List(RunChoice),
    /// Show a task's branch: verdict, claim and proof, the size of the change, conflicts ahead.
    Show(ShowBranch),
    /// Show what a task changed, through the pager that git uses.
    Diff(TaskOfRun),
    /// Show the commits of a task's branch, through the pager that git uses.
    Log(TaskOfRun),
    /// Open a shell, or an editor, in a worktree on a task's branch.
    Open(OpenArguments),
    /// Merge a task's branch into the branch that you are on, after asking.
    Merge(MergeArguments),
    /// List the work of failed and interrupted attempts that is kept, or bring one of them back as a branch.
    Salvage(SalvageArguments),
    /// Remove worktrees whose work is safe on a branch; says for each what it did and why.
    Prune(JsonOutput),
}

/// A task of a run.
#[derive(Args, Debug)]
pub(crate) struct TaskOfRun {
    /// The task; `ID:red` for the tests of a pair.
    #[arg(value_name = "ID")]
    pub(crate) task: String,
    /// The run; the live or last one when not given.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
}

/// `tm worktrees show`.
#[derive(Args, Debug)]
pub(crate) struct ShowBranch {
    /// The task.
    #[command(flatten)]
    pub(crate) task: TaskOfRun,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm worktrees open`.
#[derive(Args, Debug)]
pub(crate) struct OpenArguments {
    /// The task.
    #[command(flatten)]
    pub(crate) task: TaskOfRun,
    /// Open `$VISUAL` or `$EDITOR` instead of `$SHELL`.
    #[arg(long, conflicts_with = "print")]
    pub(crate) editor: bool,
    /// Only make the worktree and print its folder; `tm worktrees prune` removes it.
    #[arg(long)]
    pub(crate) print: bool,
}

/// `tm worktrees merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeArguments {
    /// The task.
    #[command(flatten)]
    pub(crate) task: TaskOfRun,
    /// Make a merge commit even where your branch could just move forward.
    #[arg(long)]
    pub(crate) no_ff: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

/// `tm worktrees salvage`.
#[derive(Args, Debug)]
pub(crate) struct SalvageArguments {
    /// What to bring back: RUN/TASK/ATTEMPT as listed, or a task, whose last kept work is taken; everything is listed
    /// when not given.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The branch to make; `salvage/TASK-ATTEMPT` when not given.
    #[arg(long, value_name = "BRANCH", requires = "name")]
    pub(crate) branch: Option<String>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}
