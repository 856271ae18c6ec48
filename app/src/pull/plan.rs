//! Which pull requests there are to be: branch, base, title and body of each. Reads; pushes and opens nothing.

use super::PullRequest;
use crate::error::Error;
use crate::landing::Rejected;
use crate::review::{ReviewedRun, TaskBranch};
use std::path::PathBuf;
use tm_reports::{run_pull_request, task_pull_request};
use tm_scheduler::Phase;
use tm_worktrees::BranchName;

/// Returns the one pull request of the run.
pub(crate) fn of_run(run: &ReviewedRun, base: &str) -> Result<Vec<PullRequest>, Error> {
    let landed = run.summary.tasks.iter().filter(|task| task.landed);
    let tasks: Vec<String> = landed.map(|task| task.id.clone()).collect();
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![PullRequest {
        branch: BranchName::new(&run.summary.integration_branch)?,
        base: base.to_owned(),
        tasks,
        text: run_pull_request(&run.summary, base),
        body_file: PathBuf::new(),
        url: None,
    }])
}

/// Returns a pull request a task, in landing order. A GREEN's branch holds its RED's commits, so a pair is one. What
/// was built on other tasks' work goes on top of the last of those.
pub(crate) fn per_task(
    run: &ReviewedRun,
    base: &str,
    rejected: Rejected,
) -> Result<Vec<PullRequest>, Error> {
    let mut whole = run.branches()?;
    whole.retain(|branch| branch.task.phase != Phase::Red);
    let mut planned = Vec::new();
    for (position, branch) in whole.iter().enumerate() {
        if rejected == Rejected::LeftOut && !run.rejected_in(&branch.commit)?.is_empty() {
            continue;
        }
        let below = below(run, &whole[..position], branch)?;
        let base = below.unwrap_or(base);
        let task = &branch.task;
        planned.push(PullRequest {
            branch: branch.branch.clone(),
            tasks: task.pair.iter().chain([&task.id]).cloned().collect(),
            text: task_pull_request(&run.summary, task, base, below),
            base: base.to_owned(),
            body_file: PathBuf::new(),
            url: None,
        });
    }
    Ok(planned)
}

/// The last of the earlier branches that the work was built on.
fn below<'b>(
    run: &ReviewedRun,
    earlier: &'b [TaskBranch],
    branch: &TaskBranch,
) -> Result<Option<&'b str>, Error> {
    let repository = &run.project.repository;
    for earlier in earlier.iter().rev() {
        if repository.is_ancestor(&earlier.commit, &branch.commit)? {
            return Ok(Some(earlier.branch.as_str()));
        }
    }
    Ok(None)
}
