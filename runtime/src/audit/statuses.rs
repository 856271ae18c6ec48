//! Tells whether a commit sets statuses of a backlog and does nothing else. Runs no test.

use crate::trailers::values;
use tm_scheduler::CommitId;
use tm_store::backlog::is_same_but_for_statuses;
use tm_worktrees::{Error, PastCommit, Repository};

/// What the trailer `Phase` says of a commit that sets statuses.
pub const STATUSES_PHASE: &str = "statuses";

/// Why a commit that says so does more than to set statuses; `None` where it does not.
pub(super) fn other_than_statuses(
    repository: &Repository,
    commit: &PastCommit,
    base: &CommitId,
) -> Result<Option<String>, Error> {
    let Some(path) = values(&commit.trailers, "Backlog").next() else {
        let why = "no trailer `Backlog` says which file it changes";
        return Ok(Some(why.to_owned()));
    };
    let changed = repository.changed_between(base, &commit.id)?;
    if let Some(other) = changed.iter().find(|other| *other != path) {
        let why = format!("it changes `{other}`, which is not the backlog");
        return Ok(Some(why));
    }
    let (before, after) = (
        repository.regular_file_at(base, path)?,
        repository.regular_file_at(&commit.id, path)?,
    );
    let is_same = before.zip(after).is_some_and(|(before, after)| {
        before.0 == after.0 && is_same_but_for_statuses(path, &before.1, &after.1)
    });
    Ok((!is_same).then(|| format!("it changes more than statuses of a backlog in `{path}`")))
}
