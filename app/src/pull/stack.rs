//! The work of each task as a branch with its own change alone, on top of what it depends on: as it was proven where
//! nothing else is in it, else put together anew. What can't be has a reason. Moves nothing.

use crate::error::Error;
use crate::review::{ReviewedRun, TaskBranch};
use std::collections::BTreeSet;
use tm_reports::TaskSummary;
use tm_scheduler::{BranchName, CommitId, Phase, quoted, quoted_files};
use tm_worktrees::{Conflict, PastCommit, Repository};

/// What stands behind the name of a task's branch for one that was put together.
const ALONE: &str = "-alone";

/// The work of a task as a branch of its own.
#[derive(Clone, Debug)]
pub(super) struct Stacked {
    /// Its name.
    pub(super) branch: BranchName,
    /// Where it is.
    pub(super) tip: CommitId,
    /// The branches that have to be merged before, the one that it is shown against last.
    pub(super) on: Vec<BranchName>,
    /// Whether it was put together anew.
    pub(super) is_put_together: bool,
}

/// Why there is no branch.
pub(super) enum Left {
    /// For a reason that people are told.
    Out(String),
    /// Something failed.
    Failed(Box<Error>),
}

impl<E: Into<Error>> From<E> for Left {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

/// The branches of the tasks of a run, as far as they are made, in landing order.
pub(super) struct Stack<'r> {
    run: &'r ReviewedRun,
    made: Vec<(String, Stacked)>,
}

impl<'r> Stack<'r> {
    pub(super) const fn new(run: &'r ReviewedRun) -> Self {
        Self {
            run,
            made: Vec::new(),
        }
    }

    /// Lets others stand on a branch.
    pub(super) fn add(&mut self, branch: &TaskBranch, stacked: Stacked) {
        self.made.push((branch.task.id.clone(), stacked));
    }

    /// Returns the branch of a task, to be merged into `base`; those of what it depends on were added before.
    pub(super) fn branch(&self, branch: &TaskBranch, base: &str) -> Result<Stacked, Left> {
        let red = self.run.red_of(branch)?;
        let below = self.below(branch, red.as_ref())?;
        // The oldest first.
        let mut commits = self.run.own_commits(branch)?;
        if let Some(red) = &red {
            commits.extend(self.run.own_commits(red)?);
        }
        commits.reverse();
        let repository = self.repository();
        let mut tip = match below.split_first() {
            Some((first, rest)) => self.together(&first.tip, rest, &commits[0])?,
            None => self.bottom(base)?,
        };
        for commit in &commits {
            tip = on_top(repository, &tip, commit)?;
        }
        let is_put_together = tip != branch.commit;
        let there = repository.branch_tip(&branch.branch)?;
        if there.is_some_and(|there| there != branch.commit) {
            let why = "its branch has moved since it was proven";
            return Err(Left::Out(why.to_owned()));
        }
        let name = if is_put_together {
            BranchName::new(format!("{}{ALONE}", branch.branch))?
        } else {
            branch.branch.clone()
        };
        Ok(Stacked {
            branch: name,
            tip,
            on: below
                .into_iter()
                .map(|below| below.branch.clone())
                .collect(),
            is_put_together,
        })
    }

    fn repository(&self) -> &'r Repository {
        &self.run.project.repository
    }

    /// The branches of what a task depends on, without those that are in others of them.
    fn below(&self, branch: &TaskBranch, red: Option<&TaskBranch>) -> Result<Vec<&Stacked>, Left> {
        let tasks = &self.run.summary.tasks;
        let halves = red.into_iter().chain([branch]);
        let named = halves.flat_map(|half| &half.task.dependencies);
        let mut wanted: BTreeSet<&String> = named.map(|id| whole(tasks, id)).collect();
        wanted.remove(&branch.task.id);
        let made = self.made.iter().filter(|(id, _)| wanted.contains(id));
        let made: Vec<&(String, Stacked)> = made.collect();
        wanted.retain(|id| !made.iter().any(|(made, _)| made == *id));
        if !wanted.is_empty() {
            let missing = quoted(wanted);
            return Err(Left::Out(format!(
                "it builds on {missing}, which has no pull request"
            )));
        }
        let mut below: Vec<&Stacked> = Vec::new();
        for (_, stacked) in made.iter().rev() {
            let mut is_within = false;
            for other in &below {
                is_within |= self.repository().is_ancestor(&stacked.tip, &other.tip)?;
            }
            if !is_within {
                below.insert(0, stacked);
            }
        }
        Ok(below)
    }

    /// The commit on which stands what depends on nothing: what the run began with, where `base` has that.
    fn bottom(&self, base: &str) -> Result<CommitId, Left> {
        let (repository, start) = (self.repository(), &self.run.replayed.header.base_commit);
        let ends = format!("/{base}");
        let references = repository.branch_references()?;
        for reference in references.iter().filter(|name| name.ends_with(&ends)) {
            if repository.is_ancestor(start, &repository.resolve(reference)?)? {
                return Ok(start.clone());
            }
        }
        Err(Left::Out(format!(
            "its run began with work that `{base}` does not have: land that first"
        )))
    }

    /// A commit that holds several branches.
    fn together(
        &self,
        first: &CommitId,
        rest: &[&Stacked],
        like: &PastCommit,
    ) -> Result<CommitId, Left> {
        let repository = self.repository();
        let mut tip = first.clone();
        for Stacked {
            branch, tip: other, ..
        } in rest
        {
            let merged = repository.merged_as_far(&tip, other)?;
            let tree = merged.map_err(|conflict| conflicts(&conflict))?;
            let message = format!("Merge {branch}, which this builds on\n");
            tip = repository.commit_like(&tree, &[&tip, other], &message, like)?;
        }
        Ok(tip)
    }
}

/// Puts a task's own commit on top of others: the commit itself where it was made on just that.
fn on_top(repository: &Repository, tip: &CommitId, own: &PastCommit) -> Result<CommitId, Left> {
    if let Some(before) = own.parents.first() {
        let is_same = repository.tree_of(before)? == repository.tree_of(tip)?;
        if is_same && repository.is_ancestor(tip, before)? {
            return Ok(own.id.clone());
        }
    }
    let brought = repository.brought_again(tip, &own.id)?;
    let tree = brought.map_err(|conflict| conflicts(&conflict))?;
    Ok(repository.commit_like(&tree, &[tip], &own.message, own)?)
}

fn conflicts(conflict: &Conflict) -> Left {
    let files = quoted_files(&conflict.files);
    Left::Out(format!(
        "without the other work of its run it conflicts in {files}; `tm pr` has all of it"
    ))
}

/// The task of a pair that its tests are for, by either.
fn whole<'t>(tasks: &'t [TaskSummary], id: &'t String) -> &'t String {
    let red = |task: &&TaskSummary| task.id == *id && task.phase == Phase::Red;
    let red = tasks.iter().find(red);
    red.and_then(|red| red.pair.as_ref()).unwrap_or(id)
}
