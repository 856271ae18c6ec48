//! What stands in a history, and what of that somebody rejected. The trailers of commits are the truth: no journal, no
//! folder of a run.

use crate::trailers::{MADE_IN, values};
pub use ledger::{KeptTests, Ledger, Rejected, RejectedCommit, kept_tests};
use std::collections::BTreeSet;
use taking_back::Group;
pub use taking_back::{CleanBase, NotTakenBack, RevertReason, TakenBack, Taking, clean_base};
use tm_scheduler::merging::Resolution;
use tm_scheduler::{CommitId, PastMessage, TAKES_BACK, Work, first_files, reverted, standing_work};
use tm_worktrees::{Error, PastCommit, Repository};

mod ledger;
mod taking_back;

/// Words of which every message that matters has one.
const WORDS: [&str; 2] = ["Phase: ", "This reverts commit "];

/// Returns the work that stands in the history of a commit, the newest first.
///
/// # Errors
/// git refused.
pub fn standing(repository: &Repository, tip: &CommitId) -> Result<Vec<Work>, Error> {
    let mut told = repository.told(tip, &WORDS)?;
    told.retain(|told| !is_of_agent(told));
    let past = told.into_iter().map(|told| past_message(repository, told));
    let past: Vec<PastMessage> = past.collect::<Result<_, _>>()?;
    standing_work(&past, |one, other| repository.is_ancestor(one, other))
}

/// Whether an agent made the commit, and tm kept it as the history of a task's: what it says is no word of tm's.
fn is_of_agent(told: &PastCommit) -> bool {
    let last = told.message.trim_end().rsplit("\n\n").next();
    let mark = format!("{MADE_IN}: ");
    let mut lines = last.unwrap_or_default().lines();
    lines.any(|line| line.starts_with(&mark))
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
    if ledger.rejected.is_empty() {
        return Ok(Vec::new());
    }
    Ok(ledger.standing_among(&standing(repository, tip)?))
}

/// Returns what to take back instead of the commits of `group`: the merge by which they landed, where it says that lines
/// alone did not make it, and where it brought nothing else that stands. `None` where it has been tried.
fn by_its_landing(
    repository: &Repository,
    start: &CommitId,
    works: &[Work],
    group: &Group,
) -> Result<Option<CommitId>, Error> {
    let own: BTreeSet<&CommitId> = group.commits.iter().map(|one| &one.commit).collect();
    let (Some(RejectedCommit { commit: newest, .. }), None) =
        (group.commits.first(), &group.landing)
    else {
        return Ok(None);
    };
    let mut merges = since(repository, newest, start)?;
    merges.retain(is_put_together);
    for merge in merges {
        let brought: BTreeSet<CommitId> = repository.brought_by(&merge.id)?.into_iter().collect();
        let mut works = works.iter().map(|work| &work.commit);
        let is_of_others = works.any(|work| brought.contains(work) && !own.contains(work));
        if own.iter().all(|commit| brought.contains(*commit)) && !is_of_others {
            return Ok(Some(merge.id));
        }
    }
    Ok(None)
}

/// Tells whether commits that are none of tm's changed any of these files since.
fn people_changed(
    repository: &Repository,
    since_commit: &CommitId,
    start: &CommitId,
    files: &[String],
) -> Result<bool, Error> {
    for commit in since(repository, since_commit, start)? {
        let ([parent], false) = (commit.parents.as_slice(), is_of_tm(&commit)) else {
            continue;
        };
        if changes_any(repository, (parent, &commit.id), files)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether any of these files differs between two commits.
fn changes_any(
    repository: &Repository,
    (from, to): (&CommitId, &CommitId),
    files: &[String],
) -> Result<bool, Error> {
    let changed = repository.changed_between(from, to)?;
    Ok(changed.iter().any(|path| files.contains(path)))
}

fn since(
    repository: &Repository,
    commit: &CommitId,
    start: &CommitId,
) -> Result<Vec<PastCommit>, Error> {
    repository.history(commit, std::slice::from_ref(start))
}

fn is_put_together(commit: &PastCommit) -> bool {
    commit.parents.len() == 2 && commit.has(Resolution::TRAILER)
}

fn is_of_tm(commit: &PastCommit) -> bool {
    commit.has("Task") && commit.has("Run")
}

/// Tells why a commit that says that it takes work back does not do just that; `None` where it does.
///
/// # Errors
/// git refused.
pub fn takes_back_as_said(
    repository: &Repository,
    commit: &PastCommit,
) -> Result<Option<String>, Error> {
    let [parent] = commit.parents.as_slice() else {
        return Ok(Some("it has not just one parent".to_owned()));
    };
    let named = values(&commit.trailers, TAKES_BACK);
    let mut commits: Vec<CommitId> = named
        .map(|value| CommitId::new(value.split(' ').next().unwrap_or_default()))
        .collect();
    // One merge may have brought the work of several.
    commits.dedup();
    if commits.is_empty() {
        return Ok(Some(format!(
            "no trailer `{TAKES_BACK}` says what it takes back"
        )));
    }
    for taken in &commits {
        if repository.resolve(taken.as_str()).is_err() || !repository.is_ancestor(taken, parent)? {
            return Ok(Some(format!(
                "`{taken}`, which it takes back, is not in the history before it"
            )));
        }
    }
    Ok(match repository.taken_back(parent, &commits)? {
        Ok(tree) if tree == commit.tree => None,
        Ok(_) => Some("its tree is not what taking back gives".to_owned()),
        Err((_, conflict)) => Some(format!(
            "its tree is not what taking back gives: that conflicts in {}",
            first_files(&conflict.files)
        )),
    })
}
