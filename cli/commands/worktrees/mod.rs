//! `tm worktrees`: the branches of a run, one of them, the work of failed attempts, and cleaning up.

mod one;

use super::Perform;
use crate::display::print_json;
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use one::{DiffArguments, LogArguments, MergeArguments, OpenArguments, ShowBranch};
pub(crate) use one::{Tool, open_branch};
use serde_json::json;
use std::path::Path;
use tm_app::{Project, facts};
use tm_reports::{TaskSummary, summarize};
use tm_scheduler::TaskId;
use tm_worktrees::{BranchName, Kept, PruneOutcome, Pruned};

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
#[derive(Args)]
pub(crate) struct ListBranches {
    /// The run; the live or last one when not given.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm worktrees prune`.
#[derive(Args)]
pub(crate) struct PruneArguments {
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
        let project = open(start)?;
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

/// Where work is kept that did not land.
const SALVAGE: &str = "refs/tm/salvage/";

/// `tm worktrees salvage`.
#[derive(Args)]
pub(crate) struct SalvageArguments {
    /// What to bring back: RUN/TASK/ATTEMPT as listed, or a task, whose last kept work is taken; everything is listed
    /// when not given.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The branch to make; `salvage/TASK-ATTEMPT` when not given.
    #[arg(long, value_name = "BRANCH", requires = "name")]
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
    for one in kept {
        let files = match repository.first_parent(&one.commit)? {
            Some(parent) => repository.changed_files(&parent, &one.commit)?.len(),
            None => 0,
        };
        data!(
            "{:40}  {}  {files} files  {}\n",
            short_name(one),
            one.at,
            one.subject
        );
    }
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
    let exact = kept.iter().find(|one| short_name(one) == name);
    exact.or_else(|| kept.iter().rev().find(is_of_task))
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
