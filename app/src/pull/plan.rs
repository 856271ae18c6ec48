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
    let branches = run.branches()?;
    let whole: Vec<&TaskBranch> = branches
        .iter()
        .filter(|branch| branch.task.phase != Phase::Red)
        .collect();
    let mut planned = Vec::new();
    for (position, branch) in whole.iter().enumerate() {
        if rejected == Rejected::LeftOut && !run.rejected_in(&branch.commit)?.is_empty() {
            continue;
        }
        let mut below = None;
        for earlier in whole[..position].iter().rev() {
            if run
                .project
                .repository
                .is_ancestor(&earlier.commit, &branch.commit)?
            {
                below = Some(earlier.branch.to_string());
                break;
            }
        }
        planned.push(PullRequest {
            branch: branch.branch.clone(),
            tasks: branch
                .task
                .pair
                .iter()
                .chain([&branch.task.id])
                .cloned()
                .collect(),
            text: task_pull_request(
                &run.summary,
                &branch.task,
                below.as_deref().unwrap_or(base),
                below.as_deref(),
            ),
            base: below.unwrap_or_else(|| base.to_owned()),
            body_file: PathBuf::new(),
            url: None,
        });
    }
    Ok(planned)
}
