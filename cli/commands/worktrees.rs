//! `tm worktrees`: the branches of a run, what a task changed, and cleaning up.

use super::reporting::facts;
use crate::arguments::{RunChoice, TaskOfRun};
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use serde_json::json;
use std::path::Path;
use tm_reports::summarize;
use tm_scheduler::TaskId;
use tm_store::run::RunLock;
use tm_worktrees::Pruned;

pub(crate) fn list(start: &Path, choice: &RunChoice) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    let (_, replayed) = project.replayed(choice.run.as_deref())?;
    let summary = summarize(&replayed.scheduler, &facts(&project, &replayed.header, replayed.last_input_at));
    if choice.json {
        print_data(&format!("{}\n", serde_json::to_string_pretty(&summary.tasks)?));
        return Ok(0);
    }
    for task in summary.tasks.iter().filter(|task| task.branch.is_some()) {
        let landed = if task.landed { "landed" } else { task.state.as_str() };
        let branch = task.branch.as_deref().unwrap_or_default();
        print_data(&format!("{:8}  {:8}  {landed:10}  {branch}\n", task.id, task.verdict.as_str()));
    }
    print_data(&format!("{:8}  {:8}  {:10}  {}\n", "all", "", "", summary.integration_branch));
    Ok(0)
}

pub(crate) fn diff(start: &Path, choice: &TaskOfRun) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    let (_, replayed) = project.replayed(choice.run.as_deref())?;
    let task = TaskId::from(choice.task.as_str());
    let Some(view) = replayed.scheduler.task(&task) else {
        return Err(CommandFailure::new(format!("find the task `{task}` in the run {}", replayed.header.run_id))
            .hint("`tm worktrees list` lists its tasks"));
    };
    let place = view.attempts.iter().rev().find_map(|record| record.place.as_ref());
    let (Some(place), Some(commit)) = (place, view.state.commit()) else {
        return Err(CommandFailure::new(format!("show what `{task}` changed: it has no proven work"))
            .hint(format!("`tm waves logs {task}` shows what its agent printed")));
    };
    print_data(&format!("{}\n", project.repository.diff(&place.base, commit)?));
    Ok(0)
}

pub(crate) fn prune(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    if let Some(holder) = RunLock::holder(&project.directory)? {
        return Err(CommandFailure::new(format!("clean up while a run is live: {holder}"))
            .code(ExitCode::Busy)
            .hint("wait for its end, or `tm waves stop`"));
    }
    let outcomes = project.repository.prune(&project.directory.worktrees_folder())?;
    if json {
        let rows: Vec<_> = outcomes
            .iter()
            .map(|one| json!({"path": one.path, "removed": one.outcome == Pruned::Removed, "why": one.why}))
            .collect();
        print_data(&format!("{}\n", serde_json::to_string_pretty(&rows)?));
        return Ok(0);
    }
    for one in &outcomes {
        let done = if one.outcome == Pruned::Removed { "removed" } else { "kept   " };
        print_data(&format!("{done}  {}  {}\n", one.path.display(), one.why));
    }
    if outcomes.is_empty() {
        print_line("there is no worktree of tm's");
    }
    Ok(0)
}
