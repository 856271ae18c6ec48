//! Where a task stands within a run, and the record of its attempts.

use crate::merging::Resolution;
use crate::{
    AgentName, AgentReport, AttemptNumber, CommitId, Dependants, Failure, GateResult, Proof,
    Reason, Refactored, TaskId, Timestamp, Tokens,
};
use serde::{Deserialize, Serialize};
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

impl State {
    /// Tells whether the task has reached an end; `Held` counts, since nothing more is done for it alone.
    pub const fn is_settled(&self) -> bool {
        match self {
            Self::Held { .. }
            | Self::Landed { .. }
            | Self::Failed { .. }
            | Self::Skipped { .. }
            | Self::Blocked { .. } => true,
            Self::Waiting { .. }
            | Self::Ready
            | Self::Paused { .. }
            | Self::Preparing
            | Self::Running
            | Self::Proving
            | Self::Committing
            | Self::Refactoring { .. }
            | Self::Landing { .. } => false,
        }
    }

    /// Tells whether an attempt holds a slot.
    pub const fn holds_slot(&self) -> bool {
        matches!(
            self,
            Self::Preparing
                | Self::Running
                | Self::Proving
                | Self::Committing
                | Self::Refactoring { .. }
        )
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
            Self::Waiting { .. }
            | Self::Ready
            | Self::Paused { .. }
            | Self::Preparing
            | Self::Running
            | Self::Proving
            | Self::Committing
            | Self::Failed { .. }
            | Self::Skipped { .. }
            | Self::Blocked { .. } => None,
        }
    }
}

/// Everything that is known of one attempt. Fields stay `None` when the attempt ended before that step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// The number.
    pub number: AttemptNumber,
    /// When its worktree was asked for.
    pub started_at: Timestamp,
    /// When it was over: landed, held, or failed.
    pub ended_at: Option<Timestamp>,
    /// Who works.
    #[serde(default)]
    pub agent: Option<AgentName>,
    /// The branch, base and worktree.
    pub place: Option<Place>,
    /// How the agent ended.
    pub report: Option<AgentReport>,
    /// What tm saw of the work.
    pub proof: Option<Proof>,
    /// What reviewers spent who gave no verdict on its work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreviewed: Vec<GateResult>,
    /// The commit of the proven work.
    pub commit: Option<CommitId>,
    /// What came of the further attempt that may improve the code.
    #[serde(default)]
    pub refactor: Option<Refactored>,
    /// RED: why its GREEN had it done again, when it had.
    #[serde(default)]
    pub questioned: Option<Reason>,
    /// Proven work of an earlier attempt that conflicts with what has landed, and that this one is to put together with it.
    #[serde(default)]
    pub mends: Option<CommitId>,
    /// The conflict by which its own work did not land.
    #[serde(default)]
    pub conflict: Option<Conflicted>,
    /// What its work was seen to conflict with while its agent worked.
    #[serde(default)]
    pub ahead: Option<Conflicted>,
    /// How it landed, where merging lines alone gave no tree.
    #[serde(default)]
    pub resolution: Option<Resolution>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Whether the failure counts against the retries.
    pub charged: bool,
    /// The evidence of the failure.
    pub evidence: String,
}

impl AttemptRecord {
    /// Returns the record of an attempt that is about to start.
    pub(crate) const fn new(
        number: AttemptNumber,
        started_at: Timestamp,
        agent: AgentName,
    ) -> Self {
        Self {
            number,
            started_at,
            ended_at: None,
            agent: Some(agent),
            place: None,
            report: None,
            proof: None,
            unreviewed: Vec::new(),
            commit: None,
            refactor: None,
            questioned: None,
            mends: None,
            conflict: None,
            ahead: None,
            resolution: None,
            failure: None,
            charged: false,
            evidence: String::new(),
        }
    }

    /// Returns the files in which its work, while under way, conflicts with what has landed.
    pub fn files_ahead(&self) -> &[String] {
        match (&self.ahead, self.ended_at) {
            (Some(ahead), None) => &ahead.files,
            (Some(_) | None, _) => &[],
        }
    }

    /// Returns the tokens and the dollars that its agents reported, those that review or improve its work among them.
    pub fn spent(&self) -> (Option<Tokens>, Option<f64>) {
        let refactor = self.refactor.as_ref();
        let reports = self
            .report
            .iter()
            .chain(refactor.and_then(|refactored| refactored.report.as_ref()));
        let proofs = self
            .proof
            .iter()
            .chain(refactor.and_then(|refactored| refactored.proof.as_ref()));
        let gates = proofs
            .flat_map(|proof| &proof.gates)
            .chain(&self.unreviewed);
        let reports = reports.map(|report| (report.tokens, report.cost_usd));
        let all = reports.chain(gates.map(|gate| (gate.tokens, gate.cost_usd)));
        all.fold((None, None), |(tokens, cost_usd), (used, cost)| {
            let tokens = tokens.into_iter().chain(used).reduce(Tokens::plus);
            (
                tokens,
                cost_usd
                    .into_iter()
                    .chain(cost)
                    .reduce(|sum, more| sum + more),
            )
        })
    }
}

/// A conflict of proven work with what has landed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Conflicted {
    /// The files.
    pub files: Vec<String>,
    /// The tasks whose landed work touches them.
    pub with: Vec<TaskId>,
    /// Whether the task's agent may be asked to put the two together.
    pub mendable: bool,
}

/// Where an attempt works.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The task's branch.
    pub branch: String,
    /// The commit that the work starts from; asserted to contain every dependency.
    pub base: CommitId,
    /// The worktree's folder.
    pub worktree: String,
}
