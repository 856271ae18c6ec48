//! `tm worktrees`: the branches of a run, one of them, the work of failed attempts, and cleaning up.

use super::Perform;
use super::landing::MergeChoice;
use super::prune::PruneWorktrees;
use super::review::{as_json, as_text};
use crate::display::{print_json, print_table, print_text};
use crate::environment::{colours_of_git, editor, shell};
use crate::failure::{CommandFailure, ExitCode, Result};
use crate::project::open;
use clap::{Args, Subcommand};
use itertools::Itertools as _;
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_app::{Project, ReviewedRun, TaskBranch, facts, user_branch};
use tm_executors::process::run_attended;
use tm_reports::{RowView, summarize};
use tm_scheduler::{BranchName, TaskId, counted, quoted};
use tm_store::run::safe_name;
use tm_worktrees::{InspectionWorktree, Kept, Pruned};

commands! {
    /// Commands on worktrees and branches.
    Worktrees {
        /// List the branches of a run with what became of them.
        List(ListBranches),
        /// Show a task's branch: verdict, claim and proof, the size of the change, conflicts ahead.
        Show(ShowBranch),
        /// What is seen through a pager.
        #[command(flatten)]
        Paged(PagedCommand),
        /// Open a shell, or an editor, in a worktree on a task's branch.
        Open(OpenArguments),
        /// Merge a task's branch into the branch that you are on, after asking.
        Merge(MergeArguments),
        /// List the work of failed and interrupted attempts that is kept, or bring one of them back as a branch.
        Salvage(SalvageArguments),
        /// Remove worktrees whose work is safe on a branch; says for each what it did and why.
        Prune(PruneWorktrees),
    }
}

/// `tm worktrees list`.
#[derive(Args)]
pub(crate) struct ListBranches {
    /// The run; the live or last one when not given.
    run: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for ListBranches {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let replayed = project.replayed(self.run.as_deref())?.replayed;
        let facts = facts(&project, &replayed.header, replayed.last_input_at);
        let summary = summarize(&replayed.scheduler, &facts);
        if self.json {
            return print_json(&summary.tasks);
        }
        let branch = |row: &RowView<'_>| Some(row.branched()?.branch.as_ref()?.to_string());
        print_text(&summary.task_table("BRANCH", branch));
        data!("all {}\n", summary.integration_branch);
        Ok(0)
    }
}

/// Where work is kept that did not land.
const SALVAGE: &str = "refs/tm/salvage/";

/// `tm worktrees salvage`.
#[derive(Args)]
pub(crate) struct SalvageArguments {
    /// What to bring back: RUN/TASK/ATTEMPT as listed, or a task, whose last kept work is taken; everything is listed
    /// when not given.
    name: Option<String>,
    /// The branch to make; `salvage/TASK-ATTEMPT` when not given.
    #[arg(long, requires = "name")]
    branch: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for SalvageArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let kept = project.repository.kept(SALVAGE)?;
        match self.name {
            Some(name) => {
                let found = kept_as(&kept, &name);
                let found = found.ok_or_else(|| {
                    failure!("find kept work of `{name}`")
                        .hint("`tm worktrees salvage` lists what is kept")
                })?;
                bring_back(&project, found, self.branch, self.json)
            }
            None => list_kept(&project, &kept, self.json),
        }
    }
}

fn short_name(kept: &Kept) -> &str {
    let name = &kept.reference;
    name.strip_prefix(SALVAGE).unwrap_or(name)
}

fn list_kept(project: &Project, kept: &[Kept], json: bool) -> Result {
    if json {
        let rows = kept
            .iter()
            .map(|one| json!({"name": short_name(one), "commit": one.commit, "at": one.at, "subject": one.subject}));
        return print_json(&rows.collect_vec());
    }
    let repository = &project.repository;
    let row = |one: &Kept| -> Result<[String; 4]> {
        let files = match repository.first_parent(&one.commit)? {
            Some(parent) => repository.changed_files(&parent, &one.commit)?.len(),
            None => 0,
        };
        let (name, at) = (short_name(one).to_owned(), one.at.clone());
        Ok([name, at, counted(files, "file"), one.subject.clone()])
    };
    print_table(&kept.iter().map(row).collect::<Result<Vec<_>>>()?);
    if kept.is_empty() {
        say!("nothing is kept: all work has landed, or was never done");
    } else {
        say!("`tm worktrees salvage NAME` brings one back as a branch");
    }
    Ok(0)
}

/// The kept work of that name, else the last of that task.
fn kept_as<'k>(kept: &'k [Kept], name: &str) -> Option<&'k Kept> {
    let task = tm_store::run::safe_name(&TaskId::from(name));
    let is_of_task = |one: &&Kept| short_name(one).split('/').nth(1) == Some(task.as_str());
    kept.iter()
        .find(|one| short_name(one) == name)
        .or_else(|| kept.iter().rev().find(is_of_task))
}

fn bring_back(project: &Project, found: &Kept, branch: Option<String>, json: bool) -> Result {
    let name = short_name(found);
    let wanted = branch.unwrap_or_else(|| format!("salvage/{}", name.split('/').skip(1).join("-")));
    let branch = project.repository.free_branch(&BranchName::new(wanted)?)?;
    let commit = &found.commit;
    project.repository.create_branch(&branch, commit)?;
    if json {
        return print_json(&json!({"name": name, "commit": commit, "branch": branch.as_str()}));
    }
    say!("`{branch}` is at {commit}; `git log -p -1 {branch}` shows it");
    Ok(0)
}

/// A task of a run.
#[derive(Args)]
pub(crate) struct TaskOfRun {
    /// The task; `ID:red` for the tests of a pair.
    #[arg(value_name = "ID")]
    task: String,
    /// The run; the live or last one when not given.
    #[arg(long)]
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

/// What is seen of a task's branch through the pager that git uses.
#[derive(Subcommand)]
pub(crate) enum PagedCommand {
    /// Show what a task changed, through the pager that git uses.
    Diff(TaskOfRun),
    /// Show the commits of a task's branch, through the pager that git uses.
    Log(TaskOfRun),
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
        if self.json {
            return print_json(&as_json(&branch, &run.conflicts(&branch)?));
        }
        print_text(&as_text(&run, &branch, &run.onto()?)?);
        Ok(0)
    }
}

impl Perform for PagedCommand {
    async fn perform(self, start: &Path) -> Result {
        let (Self::Diff(of) | Self::Log(of)) = &self;
        let (run, branch) = of.branch(start)?;
        let (viewed, range) = (run.viewed()?, (&branch.base, &branch.commit));
        match self {
            Self::Diff(_) => viewed.show_diff(range, colours_of_git())?,
            Self::Log(_) => viewed.show_log(range, colours_of_git())?,
        }
        Ok(0)
    }
}

impl TaskOfRun {
    fn branch(&self, start: &Path) -> Result<(ReviewedRun, TaskBranch)> {
        let run = ReviewedRun::open(open(start)?, self.run.as_deref())?;
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
        match self {
            Self::Shell => Ok(shell()),
            Self::Editor => editor()
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
            return Err(failure!("there is no terminal for a shell")
                .usage("`--print` makes the worktree and prints its folder"));
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
    let place = run
        .project
        .directory
        .worktrees_folder()
        .join("opened")
        .join(&run.summary.run_id)
        .join(safe_name(&branch.id()));
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
    let rejected = quoted(rejected);
    Err(failure!("merge what the review rejected: {rejected}")
        .code(ExitCode::Refused)
        .hint("`tm review approve ID` changes your mind, `tm waves run` does it again"))
}

impl Perform for MergeArguments {
    async fn perform(self, start: &Path) -> Result {
        let (run, branch) = self.task.branch(start)?;
        let onto = user_branch(&run.project)?;
        refuse_rejected(&run, &branch)?;
        print_text(&as_text(&run, &branch, &onto)?);
        self.merge.merge(&run.project, &branch.branch, &onto)?;
        Ok(0)
    }
}
