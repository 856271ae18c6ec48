//! Everything that can come into the scheduler; each is journaled before it is acted on.

use crate::merging::Resolution;
use crate::{
    AgentReport, AttemptNumber, CommitId, GateResult, Limits, Place, Proof, Refactored, Request,
    StopMode, TaskId,
};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// The run begins.
    Begin,
    /// A step of an attempt is over: the one answer to the effect that asked for it.
    Answer {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: AttemptNumber,
        /// What came of the step.
        answer: Answer,
    },
    /// The moment that `Scheduler::next_wake` named has come.
    Tick,
    /// Somebody wants the run to stop.
    Stop(StopMode),
    /// Somebody steers the run; what `Scheduler::refusal` refuses never comes.
    Request(Request),
    /// What an attempt has done so far was merged with what has just landed.
    Foreseen(Foreseen),
    /// Another process takes the run over where the journal ends, with limits of its own.
    Resumed(Limits),
}

/// What work that is under way will conflict with, as far as it has come.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Foreseen {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptNumber,
    /// The files; none where nothing conflicts.
    pub files: Vec<String>,
    /// The tasks whose landed work touches them.
    pub with: Vec<TaskId>,
}

/// What came of one step of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The worktree stands on its base.
    Prepared(Place),
    /// There is no base or no worktree.
    PrepareRefused(PrepareRefusal),
    /// The agent is gone, with all its processes.
    AgentEnded(AgentReport),
    /// The work was measured and judged.
    Proved(Proof),
    /// The proven work is a commit on the task's branch.
    Committed {
        /// The commit.
        commit: CommitId,
        /// What was seen of its tree, where the project's hooks made another one than had been proven.
        proof: Option<Box<Proof>>,
    },
    /// git refused the commit; holds its words.
    CommitRefused(String),
    /// The further attempt that may improve GREEN's code is over.
    Refactored(Box<Refactored>),
    /// The work is on the integration branch.
    Landed {
        /// The merge commit, or the commit that was there already.
        commit: CommitId,
        /// How the merge came about, where merging lines alone gave none.
        resolution: Option<Resolution>,
    },
    /// The work is not on the integration branch.
    LandingRefused(LandingRefusal),
    /// The worktree with the work is gone, or can't be used any more; holds why.
    WorkLost(String),
    /// The step could not be done for reasons outside of the task, such as a full disk; holds why. It is asked for
    /// again when the run is taken up.
    #[serde(rename = "surroundings")]
    InfrastructureFailed(String),
    /// A reviewer gave no verdict, and somebody has to see to that; what it spent is spent all the same.
    Unreviewed {
        /// Why the step could not be done.
        why: String,
        /// What was spent.
        review: Box<GateResult>,
    },
}

impl Answer {
    /// Forgets figures of agents that can't be true.
    pub(crate) fn forget_impossible_figures(&mut self) {
        match self {
            Self::AgentEnded(report) => report.forget_impossible_figures(),
            Self::Refactored(refactored) => {
                refactored
                    .report
                    .iter_mut()
                    .for_each(AgentReport::forget_impossible_figures);
            }
            Self::Prepared(_)
            | Self::PrepareRefused(_)
            | Self::Proved(_)
            | Self::Committed { .. }
            | Self::CommitRefused(_)
            | Self::Landed { .. }
            | Self::LandingRefused(_)
            | Self::WorkLost(_)
            | Self::InfrastructureFailed(_)
            | Self::Unreviewed { .. } => {}
        }
    }
}

/// Why there is no base or no worktree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrepareRefusal {
    /// The work that the task builds on, and that has not landed yet, can't be merged with what has.
    Conflict {
        /// The files.
        files: Vec<String>,
    },
    /// git or the disk refused; holds why.
    Failed(String),
}

/// Why work did not land.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LandingRefusal {
    /// It can't be merged with what has landed.
    Conflict {
        /// The files.
        files: Vec<String>,
        /// The tasks whose landed work touches them.
        with: Vec<TaskId>,
        /// Whether the task's agent may be asked to put the two together.
        #[serde(default)]
        mendable: bool,
        /// What was tried without an agent, and what came of it, a line each.
        #[serde(default)]
        tried: Vec<String>,
    },
    /// The merged tree fails tests.
    Regression {
        /// The judged results of the merged tree.
        proof: Box<Proof>,
        /// The tasks that landed since the work's base.
        with: Vec<TaskId>,
    },
    /// git or the disk refused; holds why.
    Failed(String),
}
