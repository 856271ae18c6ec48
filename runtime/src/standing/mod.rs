//! What stands in a history, and what of that somebody rejected. The trailers of commits are the truth: no journal, no
//! folder of a run.

mod as_said;
mod by_landing;
mod kept;
mod ledger;
mod taking_back;

pub use as_said::takes_back_as_said;
pub use kept::{KeptTests, kept_tests};
pub use ledger::{Ledger, Rejected, RejectedCommit};
pub use taking_back::{CleanBase, NotTakenBack, RevertReason, TakenBack, Taking, clean_base};

use crate::audit::MADE_IN;
use tm_scheduler::{CommitId, PastMessage, Work, reverted, standing_work};
use tm_worktrees::{Error, PastCommit, Repository};

/// Words of which every message that matters has one.
const WORDS: [&str; 2] = ["Phase: ", "This reverts commit "];

/// Returns the work that stands in the history of a commit, the newest first.
///
/// # Errors
/// git refused.
pub fn standing(repository: &Repository, tip: &CommitId) -> Result<Vec<Work>, Error> {
    let mut past = Vec::new();
    for told in repository
        .told(tip, &WORDS)?
        .into_iter()
        .filter(|told| !is_of_agent(told))
    {
        past.push(past_message(repository, told)?);
    }
    standing_work(&past, |one, other| repository.is_ancestor(one, other))
}

/// Whether an agent made the commit, and tm kept it as the history of a task's: what it says is no word of tm's.
fn is_of_agent(told: &PastCommit) -> bool {
    let last = told
        .message
        .trim_end()
        .rsplit("\n\n")
        .next()
        .unwrap_or_default();
    last.lines().any(|line| {
        line.split_once(": ")
            .is_some_and(|(name, _)| name == MADE_IN)
    })
}

fn past_message(repository: &Repository, told: PastCommit) -> Result<PastMessage, Error> {
    let mut reverts = Vec::new();
    for named in reverted(&told.message) {
        // What is not here, since somebody rebased it or the clone is cut off, can't have brought anything that is.
        if let Ok(commit) = repository.resolve(named.as_str()) {
            reverts.extend(repository.brought_by(&commit)?);
        }
    }
    Ok(PastMessage {
        commit: told.id,
        message: told.message,
        reverts,
    })
}

/// Returns what stands in the history of a commit although somebody rejected it: each rejection with that work, the
/// newest first.
///
/// # Errors
/// git refused.
pub fn rejected_in(
    repository: &Repository,
    tip: &CommitId,
) -> Result<Vec<(Rejected, Vec<Work>)>, Error> {
    let ledger = Ledger::read(repository)?;
    if ledger.is_empty() {
        return Ok(Vec::new());
    }
    Ok(ledger.standing_among(&standing(repository, tip)?))
}
