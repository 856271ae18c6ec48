//! `tm worktrees`: the branches of a run, one of them, the work of failed attempts, and cleaning up.

mod one;

pub(crate) use one::{Tool, diff, log, merge, open, open_branch, show};

use crate::arguments::{RunChoice, SalvageArguments};
use crate::display::{print_data, print_json, print_line};
use crate::failure::CommandFailure;
use crate::project::open as open_project;
use serde_json::json;
use std::path::Path;
use tm_app::{Project, facts};
use tm_reports::summarize;
use tm_scheduler::TaskId;
use tm_worktrees::{BranchName, Kept, Pruned};

pub(crate) fn list(start: &Path, choice: &RunChoice) -> Result<u8, CommandFailure> {
    let project = open_project(start, Vec::new())?;
    let (_, replayed) = project.replayed(choice.run.as_deref())?;
    let summary = summarize(
        &replayed.scheduler,
        &facts(&project, &replayed.header, replayed.last_input_at),
    );
    if choice.json {
        print_json(&summary.tasks)?;
        return Ok(0);
    }
    for task in summary.tasks.iter().filter(|task| task.branch.is_some()) {
        let landed = if task.landed {
            "landed"
        } else {
            task.state.as_str()
        };
        let branch = task.branch.as_deref().unwrap_or_default();
        print_data(&format!(
            "{:8}  {:8}  {landed:10}  {branch}\n",
            task.id,
            task.verdict.as_str()
        ));
    }
    print_data(&format!(
        "{:8}  {:8}  {:10}  {}\n",
        "all", "", "", summary.integration_branch
    ));
    Ok(0)
}

/// Where work is kept that did not land.
const SALVAGE: &str = "refs/tm/salvage/";

pub(crate) fn salvage(start: &Path, arguments: &SalvageArguments) -> Result<u8, CommandFailure> {
    let project = open_project(start, Vec::new())?;
    let kept = project.repository.kept(SALVAGE)?;
    match &arguments.name {
        Some(name) => bring_back(&project, &kept, name, arguments),
        None => list_kept(&project, &kept, arguments.json),
    }
}

fn short_name(kept: &Kept) -> &str {
    kept.reference
        .strip_prefix(SALVAGE)
        .unwrap_or(&kept.reference)
}

fn list_kept(project: &Project, kept: &[Kept], json: bool) -> Result<u8, CommandFailure> {
    if json {
        let rows: Vec<_> = kept
            .iter()
            .map(|one| json!({"name": short_name(one), "commit": one.commit, "at": one.at, "subject": one.subject}))
            .collect();
        print_json(&rows)?;
        return Ok(0);
    }
    for one in kept {
        let files = match project.repository.first_parent(&one.commit)? {
            Some(parent) => project
                .repository
                .changed_files(&parent, &one.commit)?
                .len(),
            None => 0,
        };
        print_data(&format!(
            "{:40}  {}  {files} files  {}\n",
            short_name(one),
            one.at,
            one.subject
        ));
    }
    if kept.is_empty() {
        print_line("nothing is kept: all work has landed, or was never done");
    } else {
        print_line("`tm worktrees salvage NAME` brings one back as a branch");
    }
    Ok(0)
}

fn bring_back(
    project: &Project,
    kept: &[Kept],
    name: &str,
    arguments: &SalvageArguments,
) -> Result<u8, CommandFailure> {
    let task = tm_store::run::safe_name(&TaskId::from(name));
    let is_of_task = |one: &&Kept| short_name(one).split('/').nth(1) == Some(task.as_str());
    let found = kept
        .iter()
        .find(|one| short_name(one) == name)
        .or_else(|| kept.iter().rev().find(is_of_task));
    let Some(found) = found else {
        return Err(CommandFailure::new(format!("find kept work of `{name}`"))
            .hint("`tm worktrees salvage` lists what is kept"));
    };
    let parts: Vec<&str> = short_name(found).split('/').skip(1).collect();
    let wanted = arguments
        .branch
        .clone()
        .unwrap_or_else(|| format!("salvage/{}", parts.join("-")));
    let branch = project.repository.free_branch(&BranchName::new(wanted)?)?;
    project.repository.create_branch(&branch, &found.commit)?;
    if arguments.json {
        let document =
            json!({"name": short_name(found), "commit": found.commit, "branch": branch.as_str()});
        print_json(&document)?;
    } else {
        print_line(&format!(
            "`{branch}` is at {}; `git log -p -1 {branch}` shows it",
            found.commit
        ));
    }
    Ok(0)
}

pub(crate) fn prune(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let project = open_project(start, Vec::new())?;
    tm_app::refuse_live(&project, "clean up while a run")?;
    let outcomes = project
        .repository
        .prune(&project.directory.worktrees_folder())?;
    if json {
        let rows: Vec<_> = outcomes
            .iter()
            .map(|one| json!({"path": one.path, "removed": one.outcome == Pruned::Removed, "why": one.why}))
            .collect();
        print_json(&rows)?;
        return Ok(0);
    }
    for one in &outcomes {
        let done = if one.outcome == Pruned::Removed {
            "removed"
        } else {
            "kept   "
        };
        print_data(&format!("{done}  {}  {}\n", one.path.display(), one.why));
    }
    if outcomes.is_empty() {
        print_line("there is no worktree of tm's");
    }
    Ok(0)
}
