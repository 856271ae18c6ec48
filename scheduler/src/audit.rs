//! What an audit of a history found, commit by commit.
//!
//! Does not know how a history is read, nor how tests are run.

use crate::{CommitId, Proof, RunId, TaskId};
use serde::{Deserialize, Serialize};

words! {
    /// What a commit is to an audit.
    pub enum AuditKind {
        /// The tests of a pair.
        Red = "red",
        /// The implementation of a pair.
        Green = "green",
        /// Work outside of any pair.
        Work = "work",
        /// Better code on top of work that stands.
        Refactor = "refactor",
        /// A commit that an agent made on its way, which is the history of its task's commit.
        History = "history",
        /// The merge that brought a task's work to the integration branch.
        Landing = "landing",
        /// A merge that names no task.
        Merge = "merge",
        /// Takes work back that was rejected.
        TakenBack = "taken-back",
        /// Sets statuses of the backlog.
        Statuses = "statuses",
        /// No commit that a proof could cover.
        Uncovered = "uncovered",
        /// All commits together: where they lead to, against where they began.
        Whole = "whole",
    }
}

words! {
    /// Whether what a commit stands for could be shown again.
    pub enum AuditOutcome {
        /// It was.
        Shown = "shown",
        /// It was, but a test had to be run again for it.
        Flaky = "flaky",
        /// Its place in the history is right; its tests were not asked for.
        NotTested = "not-tested",
        /// It was not.
        NotShown = "not-shown",
        /// Its tests can't be run here, so nothing is known.
        CannotRun = "cannot-run",
    }
}

impl AuditOutcome {
    /// Tells whether nothing speaks against the commit.
    pub const fn holds(self) -> bool {
        match self {
            Self::Shown | Self::Flaky | Self::NotTested => true,
            Self::NotShown | Self::CannotRun => false,
        }
    }
}

/// What was found of one commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditItem {
    /// What the commit is.
    pub kind: AuditKind,
    /// The commit.
    pub commit: CommitId,
    /// The task that it says it is of.
    pub task: Option<TaskId>,
    /// The run that it says it is of.
    pub run: Option<RunId>,
    /// The first line of its message.
    pub subject: String,
    /// Whether it could be shown again.
    pub outcome: AuditOutcome,
    /// What was shown, or why it was not, in one line.
    pub what: String,
    /// What the tests said, where that is why.
    pub evidence: String,
    /// The task's own test command, where it has one.
    pub test_command: Option<String>,
    /// What was seen, where tests were run.
    pub proof: Option<Proof>,
}

/// How many of the landed tasks had their tests run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AuditSample {
    /// So many.
    pub taken: usize,
    /// Of so many.
    pub of: usize,
}

/// What an audit of a history found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// What the history was looked at from; it is not part of it.
    pub from: CommitId,
    /// What it was looked at up to.
    pub to: CommitId,
    /// The project's test command.
    pub test_command: Option<String>,
    /// The sample, where not all tests were run.
    pub sample: Option<AuditSample>,
    /// Every commit, each after its parents, and the whole at the end.
    pub items: Vec<AuditItem>,
}

impl Audit {
    /// Tells whether nothing speaks against the history.
    pub fn holds(&self) -> bool {
        self.items.iter().all(|item| item.outcome.holds())
    }

    /// Counts the commits of which this is known.
    pub fn count(&self, outcome: AuditOutcome) -> usize {
        self.items
            .iter()
            .filter(|item| item.outcome == outcome)
            .count()
    }
}
