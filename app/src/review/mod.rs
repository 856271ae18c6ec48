//! The work of a run branch after branch, and what becomes of a decision about it: the decision is kept, a rejected task
//! is open again, and whoever does it next is told why.

mod autopilot;
mod branch;
mod doubted;

pub(crate) use autopilot::refuse_under_way;
pub use branch::{ReviewedRun, TaskBranch};
pub(crate) use doubted::Doubted;
pub use doubted::DoubtedWork;

use crate::error::Error;
use crate::holding::{Waiting, lock};
use crate::notice::Notice;
use crate::starting::start_commit;
use std::collections::BTreeSet;
use tm_runtime::standing::{Ledger, Rejected, RejectedCommit, standing};
use tm_runtime::{RunBacklog, now};
use tm_scheduler::{Phase, RunStatus, Status, TaskId, Work};
use tm_store::backlog::{BacklogSource, StatusChange, stamp};
use tm_store::run::{Decision, HeldFor, Rejection, Review};
use tm_worktrees::PastCommit;

/// What becomes of the tests of a pair whose implementation is rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tests {
    /// They are done again too, unless somebody approved them.
    AsReviewed,
    /// They stay as they are.
    Kept,
    /// They are done again too.
    Again,
}

impl ReviewedRun {
    /// Returns the branches of these tasks, all before anything is decided about one.
    ///
    /// # Errors
    /// There is no such task, or none of its work is proven.
    pub fn named(&self, tasks: &[String]) -> Result<Vec<TaskBranch>, Error> {
        tasks.iter().map(|task| self.branch_of(task)).collect()
    }

    /// Approves work; returns what this decides.
    ///
    /// # Errors
    /// The decision can't be kept.
    pub fn approve(&self, branches: &[TaskBranch]) -> Result<Vec<TaskBranch>, Error> {
        let approve = |branch| self.approve_one(branch);
        without_twins(branches.iter().map(approve).collect())
    }

    fn approve_one(&self, branch: &TaskBranch) -> Result<Vec<TaskBranch>, Error> {
        if branch.is_rejected() {
            self.take_back(branch)?;
        }
        let decided = match branch.task.phase {
            Phase::Red | Phase::None if !branch.is_rejected() => vec![branch.clone()],
            Phase::Red | Phase::Green | Phase::None => self.both_halves(branch)?,
        };
        self.decide(decided, &Decision::Approved)
    }

    /// Rejects work: with a pair both halves, since both are to be done again, unless its tests are kept. Returns what
    /// this decides.
    ///
    /// # Errors
    /// There is no reason, a run is live, or the decision can't be kept.
    pub fn reject(
        &self,
        branches: &[TaskBranch],
        reason: &str,
        tests: Tests,
    ) -> Result<Vec<TaskBranch>, Error> {
        let reject = |branch| self.reject_one(branch, reason.trim(), tests);
        without_twins(branches.iter().map(reject).collect())
    }

    fn reject_one(
        &self,
        branch: &TaskBranch,
        reason: &str,
        tests: Tests,
    ) -> Result<Vec<TaskBranch>, Error> {
        if reason.is_empty() {
            return Err(Error::NoReason);
        }
        let halves = self.both_halves(branch)?;
        let kept = kept_tests(branch, &halves, tests)?;
        let _lock = lock(&self.project, Waiting::Refuse, HeldFor::Waves)?;
        self.refuse_unfinished()?;
        let mut decided = halves.clone();
        decided.retain(|half| kept.is_none_or(|kept| kept.task.id != half.task.id));
        // What is rejected, and why, is kept before the task is open again: nobody can begin it without being told.
        self.rejected(&decided, kept, reason)?
            .keep(&self.project.repository)?;
        for half in &decided {
            self.tell_the_next(half, reason)?;
        }
        self.set_statuses(&halves, &Status::Pending)?;
        let reason = reason.to_owned();
        self.decide(decided, &Decision::Rejected { reason })
    }

    /// Keeps a rejection for whoever does the task again.
    fn tell_the_next(&self, half: &TaskBranch, reason: &str) -> Result<(), Error> {
        let header = &self.replayed.header;
        let rejection = Rejection {
            run: header.run_id.clone(),
            task: half.id(),
            branch: half.branch.to_string(),
            commit: half.commit.clone(),
            reason: reason.to_owned(),
            at: stamp(now()),
        };
        let (directory, task) = (&self.project.directory, self.backlog_id(half));
        Ok(directory.add_rejection(&header.tag, &task, rejection)?)
    }

    /// The rejection as the repository keeps it.
    fn rejected(
        &self,
        decided: &[TaskBranch],
        kept: Option<&TaskBranch>,
        reason: &str,
    ) -> Result<Rejected, Error> {
        // The newest first: what was done on top of the tests, then the tests.
        let mut newest_first: Vec<&TaskBranch> = decided.iter().collect();
        newest_first.sort_by_key(|half| half.task.phase == Phase::Red);
        let named_by = *newest_first.first().ok_or(Error::NothingToReject)?;
        let mut rejects = Vec::new();
        for half in newest_first {
            rejects.extend(self.commits(half)?);
        }
        let header = &self.replayed.header;
        Ok(Rejected {
            reference: String::new(),
            record: named_by.commit.clone(),
            task: self.backlog_id(named_by),
            title: named_by.task.title.clone(),
            tag: header.tag.clone(),
            run: header.run_id.clone(),
            rejects,
            keeps: kept.map(|red| RejectedCommit {
                commit: red.commit.clone(),
                task: red.id(),
            }),
            reason: reason.to_owned(),
            at: stamp(now()),
        })
    }

    fn commits(&self, branch: &TaskBranch) -> Result<Vec<RejectedCommit>, Error> {
        let own = self.own_commits(branch)?.into_iter();
        let rejected = |past: PastCommit| RejectedCommit {
            commit: past.id,
            task: branch.id(),
        };
        Ok(own.map(rejected).collect())
    }

    /// The commits of a branch's own work, the newest first: one, or two where the code was improved on top.
    pub(crate) fn own_commits(&self, branch: &TaskBranch) -> Result<Vec<PastCommit>, Error> {
        let repository = &self.project.repository;
        let (task, run) = (&*branch.task.id, self.replayed.header.run_id.as_str());
        let mut found = Vec::new();
        let mut next = Some(branch.commit.clone());
        while let Some(commit) = next {
            let past = repository.past(&commit)?;
            let is_own = past.says("Task", task) && past.says("Run", run) && past.has("Phase");
            if commit != branch.commit && !is_own {
                break;
            }
            next = past.parents.first().cloned();
            found.push(past);
        }
        Ok(found)
    }

    /// A run that can be taken up owns the statuses of its tasks, and would not do a task again that has landed.
    fn refuse_unfinished(&self) -> Result<(), Error> {
        let run = &self.replayed;
        let is_live = self.project.directory.live()?.as_ref() == Some(&run.header.run_id);
        match run.scheduler.ended() {
            Some(RunStatus::Interrupted | RunStatus::Stopped) | None if is_live => {
                Err(Error::RunUnfinished(run.header.run_id.clone()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Takes a rejection back. Work that was taken back meanwhile does not come back by that: it is done again.
    fn take_back(&self, branch: &TaskBranch) -> Result<(), Error> {
        let _lock = lock(&self.project, Waiting::Refuse, HeldFor::Waves)?;
        let (header, repository) = (&self.replayed.header, &self.project.repository);
        let (tag, run) = (&header.tag, &header.run_id);
        let halves = self.both_halves(branch)?;
        let ledger = Ledger::read(repository)?;
        for id in self.backlog_ids(&halves) {
            let directory = &self.project.directory;
            directory.forget_rejections(tag, &id, |kept| kept.run == *run)?;
            ledger.forget(repository, tag, &id, run)?;
        }
        if !branch.task.landed {
            return Ok(());
        }
        if self.stands(branch)? {
            return self.set_statuses(&halves, &Status::Done);
        }
        self.project.tell(&Notice::StaysOpen(&branch.task.id));
        Ok(())
    }

    /// Whether landed work is part of what the next run would start from.
    fn stands(&self, branch: &TaskBranch) -> Result<bool, Error> {
        let header = &self.replayed.header;
        // Where it is not clear where that is, nothing can have been taken back there.
        let project = self.project.for_looking();
        let Ok((start, _)) = start_commit(&project, &header.tag) else {
            return Ok(true);
        };
        let works = standing(&project.repository, &start)?;
        let is_it = |work: &Work| (&work.run, &work.task) == (&header.run_id, &branch.id());
        Ok(works.iter().any(is_it) || !project.repository.is_ancestor(&branch.commit, &start)?)
    }

    fn backlog_ids(&self, halves: &[TaskBranch]) -> BTreeSet<TaskId> {
        halves.iter().map(|half| self.backlog_id(half)).collect()
    }

    fn backlog_id(&self, branch: &TaskBranch) -> TaskId {
        let view = self.replayed.scheduler.task(&branch.id());
        view.map_or_else(|| branch.id(), |view| view.placed.task.backlog_id.clone())
    }

    fn set_statuses(&self, halves: &[TaskBranch], status: &Status) -> Result<(), Error> {
        let header = &self.replayed.header;
        let source = BacklogSource::at(header.backlog.as_ref())?;
        let changes = self.backlog_ids(halves).into_iter().map(|id| StatusChange {
            id,
            status: status.clone(),
        });
        let (changes, now): (Vec<_>, _) = (changes.collect(), stamp(now()));
        let source = &source;
        // What is not there any more has no status.
        RunBacklog { source, header }.set_statuses(&changes, &now)?;
        Ok(())
    }

    /// The task, and the other half of its pair as far as there is work of it.
    fn both_halves(&self, branch: &TaskBranch) -> Result<Vec<TaskBranch>, Error> {
        let mut halves = self.branches()?;
        halves.retain(|candidate| Some(&candidate.task.id) == branch.task.pair.as_ref());
        halves.insert(0, branch.clone());
        Ok(halves)
    }

    fn decide(
        &self,
        mut branches: Vec<TaskBranch>,
        decision: &Decision,
    ) -> Result<Vec<TaskBranch>, Error> {
        for branch in &mut branches {
            let review = Review {
                task: branch.id(),
                commit: branch.commit.clone(),
                at: stamp(now()),
                decision: decision.clone(),
            };
            self.directory.set_review(&review)?;
            branch.review = Some(review);
        }
        Ok(branches)
    }
}

/// The branch with the tests that stay, where they do.
fn kept_tests<'b>(
    branch: &TaskBranch,
    halves: &'b [TaskBranch],
    tests: Tests,
) -> Result<Option<&'b TaskBranch>, Error> {
    let red = halves
        .iter()
        .find(|half| half.task.phase == Phase::Red)
        .filter(|_| branch.task.phase == Phase::Green);
    let why = match (tests, red, branch.task.phase) {
        (Tests::Again, ..) => return Ok(None),
        (Tests::AsReviewed, ..) => return Ok(red.filter(|red| red.is_approved())),
        (Tests::Kept, Some(red), _) => return Ok(Some(red)),
        (Tests::Kept, None, Phase::Red) => "they are what is rejected",
        (Tests::Kept, None, Phase::Green | Phase::None) => "it is no pair",
    };
    Err(Error::TestsNotKept(branch.task.id.clone(), why))
}

/// Both halves of a pair may have been named.
fn without_twins(decided: Result<Vec<Vec<TaskBranch>>, Error>) -> Result<Vec<TaskBranch>, Error> {
    let mut branches = decided?.concat();
    let mut seen = BTreeSet::new();
    branches.retain(|branch| seen.insert(branch.task.id.clone()));
    Ok(branches)
}
