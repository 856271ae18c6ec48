//! The integration branch of a run: a chain of tm's own merges and nothing else.
//!
//! tm alone moves it. When somebody deletes it, it is made again; when it is anywhere else than where tm put it, nothing
//! more is built on it until that is seen to: what others put there nobody has proven.

use crate::Error;
use crate::trailers::Claims;
use parking_lot::Mutex;
use tm_scheduler::{BranchName, CommitId};
use tm_worktrees::{CheckedObjects, ObjectCheck, Repository};

/// The integration branch of a run.
#[derive(Debug)]
pub struct Integration {
    repository: Repository,
    branch: BranchName,
    known: Mutex<Known>,
    /// What was checked of all that came after the commit which the run started from.
    checked: Mutex<CheckedObjects>,
}

/// What tm knows of the branch.
#[derive(Debug)]
struct Known {
    /// The newest merge that is known to have landed, or what the run started from.
    landed: CommitId,
    /// Where the branch is: at a merge of tm's that was made when a process died and that nobody remembers, else there.
    at: CommitId,
}

/// Where the branch is.
#[derive(Debug)]
pub struct Tip {
    /// The newest commit that has landed.
    pub commit: CommitId,
    /// Whether it had been deleted, and was made again.
    pub was_deleted: bool,
}

impl Integration {
    /// Opens the branch of a run in which these merges have landed; makes it where it is not there.
    ///
    /// A process that died while one of `landing` landed may have left the branch at that very merge; it lands anew then.
    ///
    /// # Errors
    /// It is anywhere else than where tm left it, a commit of it is gone, or git refused.
    pub fn open(
        repository: Repository,
        branch: BranchName,
        base: &CommitId,
        landed: &[CommitId],
        landing: &[CommitId],
    ) -> Result<(Self, Tip), Error> {
        let newest = repository.newest(base, landed)?;
        let found = repository.branch_tip(&branch)?;
        let is_new = landed.is_empty() && found.is_none();
        let at = match found {
            Some(found) if is_unfinished(&repository, &newest, &found, landing)? => found,
            Some(_) | None => newest.clone(),
        };
        let integration = Self {
            checked: Mutex::new(CheckedObjects::since(base.clone())),
            ..Self::lost(repository, branch, newest)
        };
        integration.known.lock().at = at;
        let tip = integration.tip()?;
        let was_deleted = tip.was_deleted && !is_new;
        Ok((integration, Tip { was_deleted, ..tip }))
    }

    /// Takes the branch of a run whose newest merge is gone, to end what is under way: it is not made again, and whatever
    /// asks where it is learns that it can't be.
    pub fn lost(repository: Repository, branch: BranchName, gone: CommitId) -> Self {
        let at = gone.clone();
        Self {
            repository,
            branch,
            checked: Mutex::new(CheckedObjects::since(at.clone())),
            known: Mutex::new(Known { landed: gone, at }),
        }
    }

    /// Returns its name.
    pub const fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// Returns where it is.
    ///
    /// # Errors
    /// It is not where tm put it, or git refused.
    pub fn tip(&self) -> Result<Tip, Error> {
        let mut known = self.known.lock();
        let Some(found) = self.repository.branch_tip(&self.branch)? else {
            self.repository.create_branch(&self.branch, &known.landed)?;
            known.at = known.landed.clone();
            return Ok(Tip {
                commit: known.landed.clone(),
                was_deleted: true,
            });
        };
        if found != known.at {
            let branch = self.branch.clone();
            return Err(Error::IntegrationMoved {
                branch,
                found,
                landed: known.landed.clone(),
            });
        }
        Ok(Tip {
            commit: known.landed.clone(),
            was_deleted: false,
        })
    }

    /// Makes sure that nothing of a merge, or of what landed before, was written over since it was judged. What was read
    /// before is read again where its file is another one, and all of it as often as the number of landings has doubled.
    ///
    /// # Errors
    /// Something was (`tm_worktrees::Error::ObjectsNotAsNamed`), or git can't read it.
    pub(crate) fn check(&self, merge: &CommitId) -> Result<(), tm_worktrees::Error> {
        let mut checked = self.checked.lock();
        self.repository.check_objects_since(merge, &mut checked)
    }

    /// Makes sure of it once more before the run ends, by reading all that landed.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn check_all(&self) -> Result<(), tm_worktrees::Error> {
        let landed = self.known.lock().landed.clone();
        let base = self.checked.lock().known().clone();
        if landed == base {
            return Ok(());
        }
        let names = ObjectCheck::Names;
        self.repository.check_new_objects(&landed, &base, names)
    }

    /// Moves the branch from where tm put it to a merge on top of what has landed.
    ///
    /// # Errors
    /// Somebody else moved it (`tm_worktrees::Error::Moved`), it is protected, or git refused.
    pub(crate) fn advance(&self, merge: &CommitId) -> Result<(), tm_worktrees::Error> {
        let mut known = self.known.lock();
        let start = Some(&known.at);
        self.repository.move_branch(&self.branch, merge, start)?;
        // Another git may have collected what nothing held until now.
        let names = ObjectCheck::Names;
        if let Err(error) = self.repository.check_new_objects(merge, &known.at, names) {
            self.repository
                .move_branch(&self.branch, &known.at, Some(merge))?;
            return Err(error);
        }
        known.at = merge.clone();
        known.landed = merge.clone();
        drop(known);
        Ok(())
    }
}

/// Tells whether a commit is the very merge that tm makes when one of these lands on top of `newest`.
fn is_unfinished(
    repository: &Repository,
    newest: &CommitId,
    found: &CommitId,
    landing: &[CommitId],
) -> Result<bool, Error> {
    let past = repository.past(found)?;
    let [first, second] = past.parents.as_slice() else {
        return Ok(false);
    };
    if first != newest || !landing.contains(second) {
        return Ok(false);
    }
    let claims = Claims::of(&past.trailers).unwrap_or_default();
    let merged = repository.merged_tree(newest, second, &past.tree, claims.resolution)?;
    Ok(merged.is_what_parents_give())
}
