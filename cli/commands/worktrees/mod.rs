//! `tm worktrees`: the branches of a run, one of them, the work of failed attempts, and cleaning up.

mod one;
mod salvage;

pub(crate) use one::{Tool, open_branch};

use super::Perform;
use crate::display::print_json;
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use one::{DiffArguments, LogArguments, MergeArguments, OpenArguments, ShowBranch};
use salvage::SalvageArguments;
use serde_json::json;
use std::path::Path;
use tm_app::facts;
use tm_reports::{TaskSummary, summarize};
use tm_worktrees::{PruneOutcome, Pruned};

commands! {
    /// Commands on worktrees and branches.
    Worktrees {
        /// List the branches of a run with what became of them.
        List(ListBranches),
        /// Show a task's branch: verdict, claim and proof, the size of the change, conflicts ahead.
        Show(ShowBranch),
        /// Show what a task changed, through the pager that git uses.
        Diff(DiffArguments),
        /// Show the commits of a task's branch, through the pager that git uses.
        Log(LogArguments),
        /// Open a shell, or an editor, in a worktree on a task's branch.
        Open(OpenArguments),
        /// Merge a task's branch into the branch that you are on, after asking.
        Merge(MergeArguments),
        /// List the work of failed and interrupted attempts that is kept, or bring one of them back as a branch.
        Salvage(SalvageArguments),
        /// Remove worktrees whose work is safe on a branch; says for each what it did and why.
        Prune(PruneArguments),
    }
}

/// `tm worktrees list`.
#[derive(Args, Debug)]
pub(crate) struct ListBranches {
    /// The run; the live or last one when not given.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm worktrees prune`.
#[derive(Args, Debug)]
pub(crate) struct PruneArguments {
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for ListBranches {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start, Vec::new())?;
        let (_, replayed) = project.replayed(self.run.as_deref())?;
        let facts = facts(&project, &replayed.header, replayed.last_input_at);
        let summary = summarize(&replayed.scheduler, &facts);
        if self.json {
            return print_json(&summary.tasks);
        }
        for task in &summary.tasks {
            if let Some(branch) = &task.branch {
                let verdict = task.verdict.as_str();
                data!(
                    "{:8}  {verdict:8}  {:10}  {branch}\n",
                    task.id,
                    landed(task)
                );
            }
        }
        data!(
            "{:8}  {:8}  {:10}  {}\n",
            "all",
            "",
            "",
            summary.integration_branch
        );
        Ok(0)
    }
}

/// Whether a task has landed, else where it stands.
pub(crate) fn landed(task: &TaskSummary) -> &str {
    if task.landed { "landed" } else { &task.state }
}

impl Perform for PruneArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start, Vec::new())?;
        tm_app::refuse_live(&project, "clean up while a run")?;
        let folder = project.directory.worktrees_folder();
        let outcomes = project.repository.prune(&folder)?;
        let is_removed = |one: &PruneOutcome| one.outcome == Pruned::Removed;
        if self.json {
            let rows = outcomes
                .iter()
                .map(|one| json!({"path": one.path, "removed": is_removed(one), "why": one.why}));
            return print_json(&rows.collect_vec());
        }
        for one in &outcomes {
            let done = if is_removed(one) { "removed" } else { "kept" };
            data!("{done:7}  {}  {}\n", one.path.display(), one.why);
        }
        if outcomes.is_empty() {
            say!("there is no worktree of tm's");
        }
        Ok(0)
    }
}
