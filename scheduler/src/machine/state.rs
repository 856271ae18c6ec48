//! Where a task stands within a run.

use crate::{CommitId, Dependants, Failure, TaskId, Timestamp};
use std::collections::BTreeSet;

/// Where a task stands. A variant's doc says what was done, what is waited for, and what comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing was done; so many dependencies are not satisfied; then `Ready`.
    Waiting {
        /// Dependencies that are not satisfied.
        unmet: u32,
    },
    /// Everything it depends on is satisfied; a slot is waited for; then `Preparing`.
    Ready,
    /// An attempt failed; the moment is waited for; then `Ready`.
    Paused {
        /// The moment.
        until: Timestamp,
    },
    /// A worktree was asked for; `Prepared` is waited for; then `Running`.
    Preparing,
    /// The agent works; `AgentEnded` is waited for; then `Proving`.
    Running,
    /// The agent is gone; `Proved` is waited for; then `Committing`.
    Proving,
    /// The proof holds; `Committed` is waited for; then `Landing`, or `Held`.
    Committing,
    /// GREEN's work is committed, and a further agent improves its code; `Refactored` is waited for; then `Landing`, or
    /// `Held`.
    Refactoring {
        /// The commit on the task's branch, which lands when nothing better comes.
        commit: CommitId,
    },
    /// The work is committed and waits for its turn, or for the answer, to land; then `Landed`.
    Landing {
        /// The commit on the task's branch.
        commit: CommitId,
    },
    /// The work is committed and lands with its GREEN, or never when landing is off.
    Held {
        /// The commit on the task's branch.
        commit: CommitId,
    },
    /// The work is on the integration branch; nothing comes next.
    Landed {
        /// The commit on the task's branch.
        commit: CommitId,
        /// The merge commit on the integration branch.
        merge: CommitId,
    },
    /// The attempts are exhausted; nothing comes next.
    Failed {
        /// Why the last one failed.
        failure: Failure,
    },
    /// Somebody left it out; nothing comes next.
    Skipped {
        /// What becomes of the tasks that depend on it.
        dependants: Dependants,
    },
    /// Tasks that it needs failed; nothing comes next.
    Blocked {
        /// Those that failed.
        by: BTreeSet<TaskId>,
    },
}

/// What a state is to other tasks and to the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    /// No attempt is under way, and one may come.
    Unstarted,
    /// An attempt holds a slot.
    UnderWay,
    /// The work waits to land, or lands.
    Landing,
    /// The work is there.
    Done,
    /// It was given up or left out.
    Lost,
    /// It can't be done without another one.
    Blocked,
}

impl State {
    const fn standing(&self) -> Standing {
        match self {
            Self::Waiting { .. } | Self::Ready | Self::Paused { .. } => Standing::Unstarted,
            Self::Preparing
            | Self::Running
            | Self::Proving
            | Self::Committing
            | Self::Refactoring { .. } => Standing::UnderWay,
            Self::Landing { .. } => Standing::Landing,
            Self::Held { .. } | Self::Landed { .. } => Standing::Done,
            Self::Failed { .. } | Self::Skipped { .. } => Standing::Lost,
            Self::Blocked { .. } => Standing::Blocked,
        }
    }

    /// Tells whether the task has reached an end; `Held` counts, since nothing more is done for it alone.
    pub const fn is_settled(&self) -> bool {
        match self.standing() {
            Standing::Done | Standing::Lost | Standing::Blocked => true,
            Standing::Unstarted | Standing::UnderWay | Standing::Landing => false,
        }
    }

    /// Tells whether no attempt is under way and one may come.
    pub fn is_unstarted(&self) -> bool {
        self.standing() == Standing::Unstarted
    }

    /// Tells whether an attempt holds a slot.
    pub const fn holds_slot(&self) -> bool {
        matches!(self.standing(), Standing::UnderWay)
    }

    /// Tells whether the work waits to land, or lands.
    pub fn is_landing(&self) -> bool {
        self.standing() == Standing::Landing
    }

    /// Tells whether an attempt is under way, until its work has landed or is held.
    pub fn is_under_way(&self) -> bool {
        self.holds_slot() || self.is_landing()
    }

    /// Tells whether it was given up or left out.
    pub fn is_lost(&self) -> bool {
        self.standing() == Standing::Lost
    }

    /// Tells whether an agent lives.
    pub const fn has_agent(&self) -> bool {
        matches!(self, Self::Running | Self::Refactoring { .. })
    }

    /// Returns the word that reports use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::Ready => "ready",
            Self::Paused { .. } => "paused",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Proving => "proving",
            Self::Committing => "committing",
            Self::Refactoring { .. } => "refactoring",
            Self::Landing { .. } => "landing",
            Self::Held { .. } => "held",
            Self::Landed { .. } => "landed",
            Self::Failed { .. } => "failed",
            Self::Skipped { .. } => "skipped",
            Self::Blocked { .. } => "blocked",
        }
    }

    /// Returns the commit on the task's branch, when there is proven work.
    pub const fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Refactoring { commit }
            | Self::Landing { commit }
            | Self::Held { commit }
            | Self::Landed { commit, .. } => Some(commit),
            _ => None,
        }
    }
}
