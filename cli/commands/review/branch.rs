//! The branches of a run as a reviewer wants to see them: in landing order, with verdict, claim beside proof, size and
//! conflicts ahead. Reads; decides and prints nothing.

use super::doubted::Doubted;
use crate::commands::doubted::shown_summary;
use crate::commands::looking::is_live;
use crate::failure::CommandFailure;
use crate::project::Project;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tm_reports::{Summary, TaskSummary};
use tm_runtime::Replayed;
use tm_runtime::standing::{rejected_in, standing};
use tm_scheduler::{CommitId, Phase, TaskId};
use tm_store::run::{Decision, Review, RunDirectory};
use tm_worktrees::{BranchName, Conflicts, Landing, MergeOutcome, Repository};

/// A run whose branches are looked at.
#[derive(Debug)]
pub(crate) struct ReviewedRun {
    pub(crate) project: Project,
    pub(crate) directory: RunDirectory,
    pub(crate) replayed: Replayed,
    pub(crate) summary: Summary,
    doubted: Doubted,
}

/// The branch of a task with proven work.
#[derive(Clone, Debug)]
pub(crate) struct TaskBranch {
    pub(crate) task: TaskSummary,
    pub(crate) branch: BranchName,
    pub(crate) base: CommitId,
    pub(crate) commit: CommitId,
    /// What was decided; nothing where what it was built on was rejected since.
    pub(crate) review: Option<Review>,
    /// The rejected tasks that it was built on, unless somebody has looked at it since.
    pub(crate) built_on_rejected: Vec<String>,
}

impl TaskBranch {
    pub(crate) fn id(&self) -> TaskId {
        TaskId::from(self.task.id.as_str())
    }

    pub(crate) fn is_rejected(&self) -> bool {
        matches!(&self.review, Some(Review { decision: Decision::Rejected { .. }, .. }))
    }
}

impl ReviewedRun {
    /// Returns the repository to look at work with: the pager and the like are those of when the run began.
    pub(crate) fn viewed(&self) -> Result<Repository, CommandFailure> {
        Ok(self.project.repository.with_settings_of(&self.directory.kept_settings())?)
    }

    /// Opens a run, the live or last one when none is named.
    pub(crate) fn open(project: Project, run: Option<&str>) -> Result<Self, CommandFailure> {
        let (directory, replayed) = project.replayed(run)?;
        let is_live = is_live(&project, &replayed);
        let summary = shown_summary(&project, &directory, &replayed, replayed.last_input_at, is_live);
        let doubted = Doubted::of(&project, &replayed.header);
        Ok(Self { project, directory, replayed, summary, doubted })
    }

    /// Returns the run as it is after a decision.
    pub(crate) fn reread(self) -> Result<Self, CommandFailure> {
        let id = self.replayed.header.run_id.to_string();
        Self::open(self.project, Some(&id))
    }

    /// Says what of the run's branch was built on work that was rejected since, and that nobody has looked at since.
    pub(crate) fn doubted(&self) -> Vec<String> {
        self.doubted.lines(&self.project)
    }

    /// Returns the branches with proven work in the order in which they landed, those that did not at the end.
    pub(crate) fn branches(&self) -> Result<Vec<TaskBranch>, CommandFailure> {
        let mut branches = Vec::new();
        for task in in_landing_order(&self.summary.tasks) {
            branches.extend(self.branch(task)?);
        }
        Ok(branches)
    }

    /// Returns the branch of one task.
    pub(crate) fn branch_of(&self, id: &str) -> Result<TaskBranch, CommandFailure> {
        let run = &self.summary.run_id;
        let Some(task) = self.summary.tasks.iter().find(|task| task.id == id) else {
            return Err(CommandFailure::new(format!("find the task `{id}` in the run {run}"))
                .hint("`tm worktrees list` lists its tasks; a test task is `<id>:red`"));
        };
        self.branch(task)?.ok_or_else(|| {
            CommandFailure::new(format!("look at the work of `{id}`: none of it is proven, it is {}", task.state))
                .hint(format!("`tm waves logs {id}` shows what its agent printed, `tm worktrees salvage` what is kept"))
        })
    }

    fn branch(&self, task: &TaskSummary) -> Result<Option<TaskBranch>, CommandFailure> {
        let (Some(branch), Some(base), Some(commit)) = (&task.branch, &task.base_commit, &task.commit) else {
            return Ok(None);
        };
        let id = TaskId::from(task.id.as_str());
        let review = self.directory.review(&id)?;
        let built_on_rejected = self.doubted.of_task(&id, &self.replayed.header.run_id, review.as_ref());
        let is_over = |review: &Review| built_on_rejected.is_empty() || review.decision != Decision::Approved;
        Ok(Some(TaskBranch {
            branch: BranchName::new(branch.clone())?,
            base: CommitId::new(base.clone()),
            commit: CommitId::new(commit.clone()),
            review: review.filter(is_over),
            built_on_rejected,
            task: task.clone(),
        }))
    }

    /// Returns the tasks whose work stands in the history of a commit although somebody rejected it, in this run or in
    /// another one.
    pub(crate) fn rejected_in(&self, tip: &CommitId) -> Result<Vec<String>, CommandFailure> {
        let repository = &self.project.repository;
        let mut rejected: BTreeSet<String> =
            rejected_in(repository, tip)?.into_iter().map(|(rejected, _)| rejected.task.to_string()).collect();
        // Reviews of before rejections were kept in the repository.
        let own: Vec<TaskBranch> = self.branches()?.into_iter().filter(TaskBranch::is_rejected).collect();
        if rejected.is_empty() && !own.is_empty() {
            let works = standing(repository, tip)?;
            let stands = |branch: &TaskBranch| works.iter().any(|work| work.commit == branch.commit);
            rejected.extend(own.into_iter().filter(stands).map(|branch| branch.task.id));
        }
        Ok(rejected.into_iter().collect())
    }

    /// Returns the branch that the user is on, or the commit where that is none.
    pub(crate) fn onto(&self) -> Result<String, CommandFailure> {
        let head = self.project.repository.head()?;
        Ok(head.branch.unwrap_or_else(|| head.commit.to_string()))
    }

    /// Returns the files in which a branch conflicts with the branch that the user is on.
    pub(crate) fn conflicts(&self, branch: &TaskBranch) -> Result<Vec<String>, CommandFailure> {
        let head = self.project.repository.head()?.commit;
        Ok(match self.project.repository.land(&head, &branch.commit)? {
            Landing::AlreadyLanded | Landing::Clean(_) => Vec::new(),
            Landing::Conflict(conflict) => conflict.files,
        })
    }

    /// Returns, for each branch, the files in which it conflicts when all are merged one after the other into the branch
    /// that the user is on; one that conflicts is left out of what follows.
    pub(crate) fn conflicts_in_turn(&self, branches: &[TaskBranch]) -> Result<Vec<Vec<String>>, CommandFailure> {
        let repository = &self.project.repository;
        let mut merged = repository.head()?.commit;
        let mut all = Vec::new();
        for branch in branches {
            all.push(
                match repository.combine(
                    &[merged.clone(), branch.commit.clone()],
                    "tm: conflicts ahead\n",
                    Conflicts::United,
                )? {
                    MergeOutcome::Merged(commit) => {
                        merged = commit;
                        Vec::new()
                    }
                    MergeOutcome::Conflict(conflict) => conflict.files,
                },
            );
        }
        Ok(all)
    }
}

/// RED comes before its GREEN, with which it lands; what has not landed comes last.
fn in_landing_order(tasks: &[TaskSummary]) -> Vec<&TaskSummary> {
    let ended = |task: &TaskSummary| {
        let with = task.pair.as_ref().filter(|_| task.phase == Phase::Red);
        let of = with.and_then(|green| tasks.iter().find(|other| other.id == *green)).unwrap_or(task);
        of.attempts.last().and_then(|attempt| attempt.ended_at.clone()).unwrap_or_default()
    };
    let mut ordered: Vec<&TaskSummary> = tasks.iter().collect();
    ordered.sort_by_cached_key(|task| (!task.landed, ended(task), task.phase != Phase::Red));
    ordered
}

/// Returns the branch as JSON.
pub(crate) fn as_json(branch: &TaskBranch, conflicts: &[String]) -> Value {
    let last = branch.task.attempts.last();
    json!({
        "id": branch.task.id, "title": branch.task.title, "phase": branch.task.phase, "pair": branch.task.pair,
        "verdict": branch.task.verdict, "landed": branch.task.landed, "attempts": branch.task.attempts.len(),
        "branch": branch.branch, "base_commit": branch.base, "commit": branch.commit,
        "diffstat": branch.task.diffstat, "claim": last.map(|last| &last.claim),
        "differences": last.map(|last| &last.differences), "proof": last.map(|last| &last.proof),
        "conflicts_ahead": conflicts, "review": branch.review, "built_on_rejected": branch.built_on_rejected,
    })
}

/// Returns the branch as lines for a person.
pub(crate) fn as_text(branch: &TaskBranch, conflicts: &[String], onto: &str) -> String {
    let task = &branch.task;
    let phase = match task.phase {
        Phase::Red => " RED",
        Phase::Green => " GREEN",
        Phase::None => "",
    };
    let mut text = format!("{}{phase} · {}\n", task.id, task.title);
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:9} {value}");
    };
    let landed = if task.landed { "landed" } else { task.state.as_str() };
    row("branch", &format!("{}, {landed}", branch.branch));
    let attempts = task.attempts.len();
    row(
        "verdict",
        &format!("{} after {attempts} attempt{}", task.verdict.as_str(), if attempts == 1 { "" } else { "s" }),
    );
    if let Some(last) = task.attempts.last() {
        row("claim", &last.claim);
        row("proof", &proof(last.proof.as_ref()));
        last.differences.iter().for_each(|difference| row("but", difference));
        let noted = last.proof.iter().flat_map(|proof| &proof.notes).chain(&last.noticed);
        noted.for_each(|note| row("note", note));
    }
    if let Some(stat) = task.diffstat {
        row("change", &format!("{} file(s), +{} −{} lines", stat.files, stat.insertions, stat.deletions));
    }
    row(
        "conflicts",
        &match conflicts {
            [] => format!("none with `{onto}`"),
            files => format!("with `{onto}` in `{}`", files.join("`, `")),
        },
    );
    row(
        "review",
        &match &branch.review {
            None => "none yet".to_owned(),
            Some(Review { decision: Decision::Approved, at, .. }) => format!("approved {at}"),
            Some(Review { decision: Decision::Rejected { reason }, at, .. }) => {
                format!("rejected {at}: {}", reason.replace('\n', "\n            "))
            }
        },
    );
    text
}

fn proof(proof: Option<&tm_reports::ProofSummary>) -> String {
    let Some(proof) = proof else { return "no tests were run".to_owned() };
    let mut text = format!("{} passed, {} failed, {} new", proof.passed, proof.failed, proof.new.len());
    if proof.baseline_failed > 0 {
        let _ = write!(text, ", {} failed before", proof.baseline_failed);
    }
    if !proof.flaky.is_empty() {
        let _ = write!(text, ", {} flaky", proof.flaky.len());
    }
    if !proof.waived.is_empty() {
        let waived: Vec<&str> = proof.waived.iter().map(|reason| reason.as_str()).collect();
        let _ = write!(text, "; waived: {}", waived.join(", "));
    }
    text
}
