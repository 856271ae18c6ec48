//! Which pull requests there are to be: branch, base, title and body of each. Reads; pushes and opens nothing.

use crate::commands::review::{ReviewedRun, TaskBranch};
use crate::failure::CommandFailure;
use tm_reports::{PullRequestText, run_pull_request, task_pull_request};
use tm_scheduler::Phase;
use tm_worktrees::BranchName;

/// One pull request.
#[derive(Clone, Debug)]
pub(crate) struct PullRequest {
    pub(crate) branch: BranchName,
    /// The branch that is to have the work.
    pub(crate) base: String,
    pub(crate) tasks: Vec<String>,
    pub(crate) text: PullRequestText,
}

/// Returns the one pull request of the run.
pub(crate) fn of_run(run: &ReviewedRun, base: &str) -> Result<Vec<PullRequest>, CommandFailure> {
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
    }])
}

/// Whether rejected work may be part of a pull request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rejected {
    /// It may.
    Included,
    /// What was rejected is left out, and what holds it too.
    LeftOut,
}

/// Returns a pull request a task, in landing order. A GREEN's branch holds its RED's commits, so a pair is one. What
/// was built on other tasks' work goes on top of the last of those.
pub(crate) fn per_task(run: &ReviewedRun, base: &str, rejected: Rejected) -> Result<Vec<PullRequest>, CommandFailure> {
    let branches = run.branches()?;
    let whole: Vec<&TaskBranch> = branches.iter().filter(|branch| branch.task.phase != Phase::Red).collect();
    let mut planned = Vec::new();
    for (position, branch) in whole.iter().enumerate() {
        if rejected == Rejected::LeftOut && !run.rejected_in(&branch.commit)?.is_empty() {
            continue;
        }
        let mut below = None;
        for earlier in whole[..position].iter().rev() {
            if run.project.repository.is_ancestor(&earlier.commit, &branch.commit)? {
                below = Some(earlier.branch.to_string());
                break;
            }
        }
        planned.push(PullRequest {
            branch: branch.branch.clone(),
            tasks: branch.task.pair.iter().chain([&branch.task.id]).cloned().collect(),
            text: task_pull_request(&run.summary, &branch.task, below.as_deref().unwrap_or(base), below.as_deref()),
            base: below.unwrap_or_else(|| base.to_owned()),
        });
    }
    Ok(planned)
}
