//! What people should know while a call is carried out; the words are the caller's.

use crate::pruned::PrunedItem;
use serde::Serialize;
use std::path::Path;
use tm_executors::engine::TriedPlace;
use tm_runtime::loops::CutOff;
use tm_runtime::standing::TakenBack;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{BranchName, CommitId, RunId, TaskId, Work};

/// Something that people should know; it ends nothing.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// Something is odd, in words.
    Warning(&'a str),
    /// Something failed that changes nothing about the rest; the words follow "failed to".
    Failed(&'a str),
    /// A command of the user's printed this.
    Printed(&'a str),
    /// The run starts from this branch, where the work of the last run landed.
    StartsAt(&'a str),
    /// The run starts from HEAD together with this branch.
    StartsTogetherWith(&'a str),
    /// What landed in the last run is not in what this one starts from: the branch does not contain this merge any more.
    MovedBack(&'a BranchName, &'a CommitId),
    /// Work is taken back before the run begins.
    TakenBack(&'a TakenBack),
    /// The clone has only a part of its history.
    ShallowClone,
    /// These tasks are done, by the history that the run starts from.
    DoneAlready(&'a [&'a str]),
    /// A task has the id of landed work with another title.
    OtherTitle(&'a TaskId, &'a Work),
    /// The run lock is on a file system of this kind, where locks may not hold.
    UnreliableLock(&'a str),
    /// The repository was moved.
    Moved {
        /// From where.
        from: &'a Path,
        /// So many worktrees are linked to it again.
        linked: usize,
    },
    /// What lies in this folder is of a repository that was in the place of this one.
    OfAnother(&'a Path),
    /// So many processes of before were still there, and have been ended.
    ProcessesEnded(u32),
    /// A loop of before was cut off.
    LoopCutOff(&'a CutOff),
    /// A run is left as it is, and can be taken up.
    PutAside(&'a RunId),
    /// The journal of the last run was removed.
    JournalGone(&'a RunId),
    /// The last line of the journal was cut off.
    TornJournal,
    /// What a run that ended uncleanly says to be proven is proven again.
    ProvesAgain {
        /// The run.
        run: &'a RunId,
        /// So many tasks.
        tasks: usize,
    },
    /// The integration branch was deleted, and is made again.
    BranchMadeAgain {
        /// The branch.
        branch: &'a BranchName,
        /// Where.
        commit: &'a CommitId,
    },
    /// A first job is to run on a node, and waits; holds why.
    WaitsForPlace(&'a str),
    /// A first job has run on a node.
    PlaceTried(&'a TriedPlace),
    /// The base is set up and tested, which may take a while.
    LooksAtBase,
    /// The hooks of a commit are run once.
    TriesHooks,
    /// A worktree is set up, which may take a while.
    SetsUp,
    /// What was seen of the base.
    BaseMeasured(&'a BaseSeen),
    /// Nobody else can steer the run.
    NotSteerable(&'a tm_store::Error),
    /// Statuses of tasks were committed.
    StatusesCommitted {
        /// The tasks.
        ids: &'a [TaskId],
        /// The branch.
        branch: &'a str,
    },
    /// Work whose rejection is taken back has been taken back since: it is done again.
    StaysOpen(&'a str),
    /// An agent need not tell its cost, which is limited.
    CostUntold(&'a str),
    /// What of older runs was removed, and what stays.
    Pruned(&'a [PrunedItem]),
    /// A loop goes on with the branch of the one that was cut off.
    GoesOnWith(&'a str),
}

/// A preflight as an event.
#[derive(Clone, Debug, Serialize)]
pub struct BaseSeen {
    event: &'static str,
    /// What was seen.
    #[serde(flatten)]
    pub preflight: Preflight,
}

impl From<Preflight> for BaseSeen {
    fn from(preflight: Preflight) -> Self {
        Self {
            event: "base:measured",
            preflight,
        }
    }
}
