//! The work of a run into the branch that the user is on, and the merge of any branch.

use crate::committing::Statuses;
use crate::error::Error;
use crate::project::Project;
use crate::report::refuse_doubted;
use crate::review::{ReviewedRun, refuse_under_way};
use tm_scheduler::{BranchName, CommitId};
use tm_store::run::{RunLock, is_autopilot_run};
use tm_worktrees::{BroughtIn, Diffstat, FastForwardPolicy, Landing};

/// Whether work may be passed on that somebody rejected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rejected {
    /// It may.
    Included,
    /// It may not.
    LeftOut,
}

/// The branch of a run, and the one that is to have it.
#[derive(Debug)]
pub struct Homecoming {
    /// The run.
    pub run: ReviewedRun,
    /// Its branch.
    pub branch: BranchName,
    /// The user's branch.
    pub onto: String,
}

impl Homecoming {
    /// Makes sure that the work of a run can be passed on.
    ///
    /// # Errors
    /// A run is live, journal and git do not agree, the work was rejected, or HEAD is on no branch.
    pub fn of(project: Project, run: Option<&str>, rejected: Rejected) -> Result<Self, Error> {
        let run = passable(project, "land the work of a run while one", run)?;
        let branch = run.summary.integration_branch.clone();
        let onto = user_branch(&run.project)?;
        if rejected == Rejected::LeftOut {
            refuse_rejected(&run, &branch)?;
        }
        if is_autopilot_run(&run.replayed.header.run_id) && onto == branch.as_str() {
            return Err(Error::OnItsBranch(branch));
        }
        Ok(Self { run, branch, onto })
    }

    /// Commits the statuses of what has landed, where the user's branch has it.
    ///
    /// # Errors
    /// git or the disk refused.
    pub fn commit_statuses(&self) -> Result<(), Error> {
        Statuses::of(&self.run.project, &self.run.replayed.header).commit_at_head(&self.onto)
    }
}

/// Opens a run whose work can be passed on.
pub(crate) fn passable(
    project: Project,
    what: &'static str,
    run: Option<&str>,
) -> Result<ReviewedRun, Error> {
    refuse_live(&project, what)?;
    let run = ReviewedRun::open(project, run)?;
    refuse_under_way(&run.project, &run.replayed.header.run_id)?;
    refuse_doubted(&run.summary)?;
    Ok(run)
}

/// Refuses to do something while a run is live.
///
/// # Errors
/// One is.
pub fn refuse_live(project: &Project, what: &'static str) -> Result<(), Error> {
    let holder = RunLock::holder(&project.directory)?.map(Box::new);
    Error::refuse(holder, |holder| Error::RunLive { what, holder })
}

/// Refuses to pass on a branch of a run in which work stands that somebody rejected, in this run or before it.
pub(crate) fn refuse_rejected(run: &ReviewedRun, branch: &BranchName) -> Result<(), Error> {
    let Some(tip) = run.project.repository.branch_tip(branch)? else {
        return Ok(());
    };
    let rejected = Some(run.rejected_in(&tip)?);
    Error::refuse(rejected.filter(|ids| !ids.is_empty()), Error::WorkRejected)
}

/// Returns the branch that the user is on.
///
/// # Errors
/// There is none.
pub fn user_branch(project: &Project) -> Result<String, Error> {
    project.repository.head()?.branch.ok_or(Error::OnNoBranch)
}

/// Returns how much would come into the branch that the user is on; `None` where it has everything already.
///
/// # Errors
/// There is no such branch, or it conflicts.
pub fn foresee(
    project: &Project,
    branch: &BranchName,
    onto: &str,
) -> Result<Option<Diffstat>, Error> {
    let repository = &project.repository;
    let head = repository.head()?.commit;
    let tip: CommitId = repository
        .branch_tip(branch)?
        .ok_or_else(|| Error::NothingLanded(branch.clone()))?;
    match repository.land(&head, &tip)? {
        Landing::AlreadyLanded => Ok(None),
        Landing::Clean(_) => {
            let base = repository.merge_base(&head, &tip)?.unwrap_or(head);
            Ok(Some(repository.diffstat(&base, &tip)?))
        }
        Landing::Conflict(conflict) => Err(Error::LandingConflicts {
            branch: branch.clone(),
            onto: onto.to_owned(),
            files: conflict.files,
        }),
    }
}

/// Merges a branch into the one that the user is on.
///
/// # Errors
/// Something of the user's is in the way; nothing is changed then.
pub fn merge_into_checkout(
    project: &Project,
    branch: &BranchName,
    how: FastForwardPolicy,
) -> Result<BroughtIn, Error> {
    project
        .repository
        .merge_into_checkout(branch, how)
        .map_err(Error::NotBroughtIn)
}
