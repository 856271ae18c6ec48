//! What can go wrong outside of any task; trouble within a task is an answer to the scheduler.

use std::path::PathBuf;
use tm_scheduler::{BranchName, CommitId, IllegalInput};

/// Trouble that ends the process, never the run: its journal stays and it can be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A durable file could not be read or written.
    #[error(transparent)]
    Store(#[from] tm_store::Error),
    /// git refused.
    #[error(transparent)]
    Git(#[from] tm_worktrees::Error),
    /// Somebody moved the integration branch away from work that has landed.
    #[error(
        "go on with the integration branch `{branch}`: it is at `{found}`, which does not contain `{landed}`, where work of this run landed"
    )]
    IntegrationMoved {
        /// The branch.
        branch: BranchName,
        /// Where it is.
        found: CommitId,
        /// The newest merge of the run.
        landed: CommitId,
    },
    /// Statuses could not be written into the backlog at the end of the run.
    #[error("write the statuses of the run into the backlog: {why}")]
    StatusesUnwritten {
        /// What stood in the way.
        why: String,
    },
    /// At the end of the run, something that had landed was no longer what was judged.
    #[error("find all that landed as it was judged: {why}")]
    LandedChanged {
        /// What is not.
        why: String,
    },
    /// The journal tells of something that can't happen.
    #[error("replay the journal `{path}`: record {record}")]
    ImpossibleJournal {
        /// The journal.
        path: PathBuf,
        /// The record, counted from 1.
        record: usize,
        /// What can't happen.
        source: IllegalInput,
    },
    /// A step answered what can't come: a broken invariant of tm itself.
    #[error("take an answer of a step")]
    Impossible(#[from] IllegalInput),
    /// The loop of a tag broke off: a broken invariant of tm itself.
    #[error("carry out the loop of a tag: {why}")]
    TagLoopLost {
        /// What happened.
        why: String,
    },
}

impl Error {
    /// Tells whether it is that of a journal in whose run nothing can have happened.
    pub const fn is_unstarted(&self) -> bool {
        matches!(self, Self::Store(tm_store::Error::JournalUnstarted { .. }))
    }
}
