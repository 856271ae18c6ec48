//! What stands in a history, and what of that somebody rejected. The trailers of commits are the truth: no journal, no
//! folder of a run.

mod by_landing;
mod ledger;
mod taking_back;

pub use by_landing::takes_back_as_said;
pub use ledger::{KeptTests, kept_tests};
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
    let told = repository.told(tip, &WORDS)?.into_iter();
    let past: Vec<PastMessage> = told
        .filter(|told| !is_of_agent(told))
        .map(|told| past_message(repository, told))
        .collect::<Result<_, _>>()?;
    standing_work(&past, |one, other| repository.is_ancestor(one, other))
}

/// Whether an agent made the commit, and tm kept it as the history of a task's: what it says is no word of tm's.
fn is_of_agent(told: &PastCommit) -> bool {
    let last = told.message.trim_end().rsplit("\n\n").next();
    let mut names = last
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.split_once(": "));
    names.any(|(name, _)| name == MADE_IN)
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
