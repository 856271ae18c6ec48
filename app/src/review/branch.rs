//! The branches of a run as a reviewer wants to see them: in landing order, with verdict, claim beside proof, size and
//! conflicts ahead. Reads; decides and prints nothing.

use super::autopilot::known;
use super::doubted::{Doubted, DoubtedWork};
use crate::error::Error;
use crate::project::Project;
use crate::report::{liveness, shown_summary};
use std::collections::BTreeSet;
use tm_reports::{Summary, TaskSummary};
use tm_runtime::Replayed;
use tm_runtime::standing::{rejected_in, standing};
use tm_scheduler::{BranchName, CommitId, Half, Phase, TaskId};
use tm_store::run::{Decision, Review, RunDirectory};
use tm_worktrees::{Conflicts, Landing, Repository};

/// A run whose branches are looked at.
#[derive(Debug)]
pub struct ReviewedRun {
    /// Its project.
    pub project: Project,
    /// Its folder.
    pub directory: RunDirectory,
    /// Where it stands, as its journal tells.
    pub replayed: Replayed,
    /// What it did, as far as git shows it.
    pub summary: Summary,
    doubted: Doubted,
}

/// The branch of a task with proven work.
#[derive(Clone, Debug)]
pub struct TaskBranch {
    /// The task.
    pub task: TaskSummary,
    /// The branch.
    pub branch: BranchName,
    /// What the work was built on.
    pub base: CommitId,
    /// The work.
    pub commit: CommitId,
    /// What was decided; nothing where what it was built on was rejected since.
    pub review: Option<Review>,
    /// The rejected tasks that it was built on, unless somebody has looked at it since.
    pub built_on_rejected: Vec<String>,
}

impl TaskBranch {
    /// Returns the id of the task.
    pub fn id(&self) -> TaskId {
        TaskId::from(self.task.id.as_str())
    }

    /// Returns what the whole work on the task was built on: for a GREEN upon its RED, what that one was.
    pub fn base_of_pair<'a>(&'a self, red: Option<&'a Self>) -> &'a CommitId {
        let below = red.filter(|red| red.commit == self.base);
        below.map_or(&self.base, |red| &red.base)
    }

    fn decision(&self) -> Option<&Decision> {
        self.review.as_ref().map(|review| &review.decision)
    }

    /// Tells whether somebody rejected it.
    pub fn is_rejected(&self) -> bool {
        matches!(self.decision(), Some(Decision::Rejected { .. }))
    }

    pub(super) fn is_approved(&self) -> bool {
        self.decision() == Some(&Decision::Approved)
    }
}

impl Half for TaskBranch {
    fn id(&self) -> &str {
        self.task.id()
    }

    fn partner(&self) -> Option<&str> {
        self.task.partner()
    }

    fn phase(&self) -> Phase {
        self.task.phase
    }
}

impl ReviewedRun {
    /// Returns the repository to look at work with: the pager and the like are those of when the run began.
    ///
    /// # Errors
    /// git refused.
    pub fn viewed(&self) -> Result<Repository, Error> {
        let kept = self.directory.kept_settings();
        Ok(self.project.repository.with_settings_of(&kept)?)
    }

    /// Opens a run, the live or last one when none is named.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn open(project: Project, run: Option<&str>) -> Result<Self, Error> {
        let run = known(&project, run)?;
        let liveness = liveness(&project, &run.replayed);
        let summary = shown_summary(&project, &run, run.replayed.last_input_at, liveness);
        Ok(Self {
            doubted: Doubted::of(&project, &run.replayed.header),
            project,
            directory: run.directory,
            replayed: run.replayed,
            summary,
        })
    }

    /// Returns the run as it is after a decision.
    ///
    /// # Errors
    /// It can't be read.
    pub fn reread(self) -> Result<Self, Error> {
        let id = self.replayed.header.run_id.to_string();
        Self::open(self.project, Some(&id))
    }

    /// Says what of the run's branch was built on work that was rejected since, and that nobody has looked at since.
    pub fn doubted(&self) -> Vec<DoubtedWork> {
        self.doubted.works(&self.project)
    }

    /// Returns the branches with proven work in the order in which they landed, those that did not at the end.
    ///
    /// # Errors
    /// A review can't be read.
    pub fn branches(&self) -> Result<Vec<TaskBranch>, Error> {
        let mut branches = Vec::new();
        for task in in_landing_order(&self.summary.tasks) {
            branches.extend(self.branch(task)?);
        }
        Ok(branches)
    }

    /// Returns the branch of one task.
    ///
    /// # Errors
    /// There is no such task, or none of its work is proven.
    pub fn branch_of(&self, id: &str) -> Result<TaskBranch, Error> {
        let task = self.summary.tasks.iter().find(|task| task.id == id);
        let task = task.ok_or_else(|| Error::UnknownTask {
            task: id.to_owned(),
            run: self.summary.run_id.clone(),
        })?;
        self.branch(task)?.ok_or_else(|| Error::Unproven {
            task: id.to_owned(),
            state: task.state.clone(),
        })
    }

    /// Returns the branch of a GREEN's RED.
    ///
    /// # Errors
    /// A review can't be read.
    pub fn red_of(&self, branch: &TaskBranch) -> Result<Option<TaskBranch>, Error> {
        let is_green = branch.task.phase == Phase::Green;
        let red = branch.task.pair.as_ref().filter(|_| is_green);
        let tasks = &self.summary.tasks;
        let red = red.and_then(|red| tasks.iter().find(|task| task.id == *red));
        red.map_or(Ok(None), |red| self.branch(red))
    }

    fn branch(&self, task: &TaskSummary) -> Result<Option<TaskBranch>, Error> {
        let (Some(branch), Some(base), Some(commit)) =
            (&task.branch, &task.base_commit, &task.commit)
        else {
            return Ok(None);
        };
        let id = TaskId::from(task.id.as_str());
        let (run, review) = (&self.replayed.header.run_id, self.directory.review(&id)?);
        let built_on_rejected = self.doubted.of_task(&id, run, review.as_ref());
        let is_over =
            |review: &Review| built_on_rejected.is_empty() || review.decision != Decision::Approved;
        Ok(Some(TaskBranch {
            branch: branch.clone(),
            base: CommitId::new(base.clone()),
            commit: CommitId::new(commit.clone()),
            review: review.filter(is_over),
            built_on_rejected,
            task: task.clone(),
        }))
    }

    /// Returns the tasks whose work stands in the history of a commit although somebody rejected it, in this run or in
    /// another one.
    ///
    /// # Errors
    /// git refused.
    pub fn rejected_in(&self, tip: &CommitId) -> Result<Vec<String>, Error> {
        let repository = &self.project.repository;
        let mut rejected: BTreeSet<String> = rejected_in(repository, tip)?
            .into_iter()
            .map(|(rejected, _)| rejected.task.to_string())
            .collect();
        // Reviews of before rejections were kept in the repository.
        let mut own = self.branches()?;
        own.retain(TaskBranch::is_rejected);
        if rejected.is_empty() && !own.is_empty() {
            let works = standing(repository, tip)?;
            own.retain(|branch| works.iter().any(|work| work.commit == branch.commit));
            rejected.extend(own.into_iter().map(|branch| branch.task.id));
        }
        Ok(rejected.into_iter().collect())
    }

    /// Returns the branch that the user is on, or the commit where that is none.
    ///
    /// # Errors
    /// git refused.
    pub fn onto(&self) -> Result<String, Error> {
        let head = self.project.repository.head()?;
        Ok(head.branch.unwrap_or_else(|| head.commit.to_string()))
    }

    /// Returns the files in which a branch conflicts with the branch that the user is on.
    ///
    /// # Errors
    /// git refused.
    pub fn conflicts(&self, branch: &TaskBranch) -> Result<Vec<String>, Error> {
        let repository = &self.project.repository;
        match repository.land(&repository.head()?.commit, &branch.commit)? {
            Landing::AlreadyLanded | Landing::Clean(_) => Ok(Vec::new()),
            Landing::Conflict(conflict) => Ok(conflict.files),
        }
    }

    /// Returns, for each branch, the files in which it conflicts when all are merged one after the other into the branch
    /// that the user is on; one that conflicts is left out of what follows.
    ///
    /// # Errors
    /// git refused.
    pub fn conflicts_in_turn(&self, branches: &[TaskBranch]) -> Result<Vec<Vec<String>>, Error> {
        let repository = self.project.repository.unsigned();
        let mut merged = repository.head()?.commit;
        let mut all = Vec::new();
        for branch in branches {
            let both = [merged.clone(), branch.commit.clone()];
            let words = "tm: conflicts ahead\n";
            all.push(match repository.combine(&both, words, Conflicts::United)? {
                Ok(commit) => {
                    merged = commit;
                    Vec::new()
                }
                Err(conflict) => conflict.files,
            });
        }
        Ok(all)
    }
}

/// RED comes before its GREEN, with which it lands; what has not landed comes last.
fn in_landing_order(tasks: &[TaskSummary]) -> Vec<&TaskSummary> {
    let mut ordered: Vec<&TaskSummary> = tasks.iter().collect();
    ordered.sort_by_cached_key(|task| {
        let is_no_red = task.phase != Phase::Red;
        (!task.landed, ended(task, tasks), is_no_red, task.wave)
    });
    ordered
}

/// When the last attempt at a task ended, or at the GREEN with which it lands.
fn ended(task: &TaskSummary, tasks: &[TaskSummary]) -> Option<String> {
    task.pair
        .as_ref()
        .filter(|_| task.phase == Phase::Red)
        .and_then(|green| tasks.iter().find(|other| other.id == *green))
        .unwrap_or(task)
        .attempts
        .last()?
        .ended_at
        .clone()
}
