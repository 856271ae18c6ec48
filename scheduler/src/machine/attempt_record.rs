//! The record of one attempt: how far it came, and how it ended. It follows from the inputs and is never written down.

use crate::merging::Resolution;
use crate::{
    AgentName, AgentReport, AttemptNumber, BranchName, CommitId, Failure, GateResult, Proof,
    Reason, TaskId, Timestamp, Tokens,
};
use serde::{Deserialize, Serialize};

/// One attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRecord {
    /// The number.
    pub number: AttemptNumber,
    /// When its worktree was asked for.
    pub started_at: Timestamp,
    /// Who works.
    pub agent: AgentName,
    /// Proven work of an earlier attempt that conflicts with what has landed, and that this one is to put together with it.
    pub mends: Option<CommitId>,
    /// What reviewers spent who gave no verdict on its work.
    pub unreviewed: Vec<GateResult>,
    /// When its work began to wait for its turn to land.
    pub queued_at: Option<Timestamp>,
    /// When its landing began, the last time.
    pub landing_at: Option<Timestamp>,
    progress: AttemptProgress,
    /// Whether it is over, and how.
    pub end: AttemptEnd,
}

/// How far an attempt came, with what there is since then; it keeps that however it ends.
#[derive(Clone, Debug, PartialEq)]
enum AttemptProgress {
    /// A worktree was asked for; the place is waited for; then `Working`.
    Preparing,
    /// There is a worktree; the agent's end is waited for; then `Worked`.
    Working(Place),
    /// The agent is gone; the proof is waited for; then `Proven`.
    Worked(Worked),
    /// It was seen whether the work holds; where it does, the commit is waited for; then `Committed`.
    Proven(Worked, Box<Proof>),
    /// The work is a commit; it lands, or is improved first; then `Refactored`.
    Committed(Worked, Box<Proof>, CommitId),
    /// A further agent has tried to improve the work; it lands.
    Refactored(Worked, Box<Proof>, Box<Refactored>),
}

/// What is there when the agent is gone.
#[derive(Clone, Debug, PartialEq)]
struct Worked {
    place: Place,
    report: Box<AgentReport>,
}

/// Whether an attempt is over, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptEnd {
    /// It is under way.
    UnderWay {
        /// What its work was seen to conflict with while its agent worked.
        ahead: Option<Conflicted>,
    },
    /// Its work landed or is held, or somebody ended it.
    Over {
        /// When.
        at: Timestamp,
        /// Why somebody ended it; empty when nobody did.
        why: String,
        /// How its work landed, where merging lines alone gave no tree.
        resolution: Option<Resolution>,
    },
    /// It failed.
    Failed(AttemptFailure),
}

/// How an attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptFailure {
    /// When.
    pub at: Timestamp,
    /// In which way.
    pub failure: Failure,
    /// Whether it counts against the retries.
    pub charged: bool,
    /// What shows it.
    pub evidence: String,
    /// The conflict by which its proven work did not land.
    pub conflict: Option<Conflicted>,
    /// RED: why its GREEN had it done again, when it had.
    pub questioned: Option<Reason>,
}

/// What brings an attempt further.
#[derive(Debug)]
pub(crate) enum Reached {
    Place(Place),
    Report(Box<AgentReport>),
    Proof(Box<Proof>),
    Commit(CommitId),
    Refactored(Box<Refactored>),
}

impl AttemptProgress {
    fn after(self, reached: Reached) -> Self {
        match (self, reached) {
            (Self::Preparing, Reached::Place(place)) => Self::Working(place),
            (Self::Working(place), Reached::Report(report)) => {
                Self::Worked(Worked { place, report })
            }
            // The hooks of a commit may make another tree, which is proven again.
            (Self::Worked(worked) | Self::Proven(worked, _), Reached::Proof(proof)) => {
                Self::Proven(worked, proof)
            }
            (Self::Proven(worked, proof), Reached::Commit(commit)) => {
                Self::Committed(worked, proof, commit)
            }
            (Self::Committed(worked, proof, _), Reached::Refactored(refactored)) => {
                Self::Refactored(worked, proof, refactored)
            }
            (progress, reached) => {
                unreachable!("the task's state allows no {reached:?} after {progress:?}")
            }
        }
    }

    const fn worked(&self) -> Option<&Worked> {
        match self {
            Self::Worked(worked)
            | Self::Proven(worked, _)
            | Self::Committed(worked, ..)
            | Self::Refactored(worked, ..) => Some(worked),
            _ => None,
        }
    }
}

impl AttemptRecord {
    /// Returns the record of an attempt that is about to start.
    pub(crate) const fn new(
        number: AttemptNumber,
        started_at: Timestamp,
        agent: AgentName,
        mends: Option<CommitId>,
    ) -> Self {
        Self {
            number,
            started_at,
            agent,
            mends,
            unreviewed: Vec::new(),
            queued_at: None,
            landing_at: None,
            progress: AttemptProgress::Preparing,
            end: AttemptEnd::UnderWay { ahead: None },
        }
    }

    pub(crate) fn reach(&mut self, reached: Reached) {
        let before = std::mem::replace(&mut self.progress, AttemptProgress::Preparing);
        self.progress = before.after(reached);
    }

    /// Returns the branch, base and worktree.
    pub fn place(&self) -> Option<&Place> {
        match &self.progress {
            AttemptProgress::Working(place) => Some(place),
            progress => progress.worked().map(|worked| &worked.place),
        }
    }

    /// Returns how the agent ended.
    pub fn report(&self) -> Option<&AgentReport> {
        Some(&self.progress.worked()?.report)
    }

    /// Returns what tm saw of the work.
    pub const fn proof(&self) -> Option<&Proof> {
        match &self.progress {
            AttemptProgress::Proven(_, proof)
            | AttemptProgress::Committed(_, proof, _)
            | AttemptProgress::Refactored(_, proof, _) => Some(proof),
            _ => None,
        }
    }

    /// Returns what tm saw of the work as it is committed: with the improvements of a further agent, where they were kept.
    pub fn proof_of_commit(&self) -> Option<&Proof> {
        let refactored = self.refactored();
        refactored
            .filter(|refactored| refactored.dropped.is_none())
            .and_then(|refactored| refactored.proof.as_ref())
            .or_else(|| self.proof())
    }

    /// Returns the commit of the proven work.
    pub fn commit(&self) -> Option<&CommitId> {
        match &self.progress {
            AttemptProgress::Committed(_, _, commit) => Some(commit),
            _ => self.refactored().map(|refactored| &refactored.commit),
        }
    }

    /// Returns what came of the further attempt that may improve the code.
    pub const fn refactored(&self) -> Option<&Refactored> {
        match &self.progress {
            AttemptProgress::Refactored(_, _, refactored) => Some(refactored),
            _ => None,
        }
    }

    /// Returns when it was over: landed, held, or failed.
    pub const fn ended_at(&self) -> Option<Timestamp> {
        match &self.end {
            AttemptEnd::UnderWay { .. } => None,
            AttemptEnd::Over { at, .. } | AttemptEnd::Failed(AttemptFailure { at, .. }) => {
                Some(*at)
            }
        }
    }

    /// Returns how it failed.
    pub const fn failed(&self) -> Option<&AttemptFailure> {
        match &self.end {
            AttemptEnd::Failed(failed) => Some(failed),
            _ => None,
        }
    }

    /// Returns in which way it failed.
    pub fn failure(&self) -> Option<Failure> {
        self.failed().map(|failed| failed.failure)
    }

    /// Tells whether it counts against the retries.
    pub fn is_charged(&self) -> bool {
        self.failed().is_some_and(|failed| failed.charged)
    }

    /// Returns the evidence of its failure, or why somebody ended it.
    pub fn evidence(&self) -> &str {
        match &self.end {
            AttemptEnd::UnderWay { .. } => "",
            AttemptEnd::Over { why, .. } => why,
            AttemptEnd::Failed(failed) => &failed.evidence,
        }
    }

    /// Returns how it landed, where merging lines alone gave no tree.
    pub const fn resolution(&self) -> Option<Resolution> {
        match &self.end {
            AttemptEnd::Over { resolution, .. } => *resolution,
            _ => None,
        }
    }

    /// Returns what its work, while under way, conflicts with.
    pub const fn ahead(&self) -> Option<&Conflicted> {
        match &self.end {
            AttemptEnd::UnderWay { ahead } => ahead.as_ref(),
            _ => None,
        }
    }

    /// Returns the conflict by which its own work did not land.
    pub fn conflict(&self) -> Option<&Conflicted> {
        self.failed()?.conflict.as_ref()
    }

    /// Returns the tokens and the dollars that its agents reported, those that review or improve its work among them.
    pub fn spent(&self) -> (Option<Tokens>, Option<f64>) {
        let refactored = self.refactored();
        let of_refactor = refactored.and_then(|refactored| refactored.report.as_ref());
        let reports = self.report().into_iter().chain(of_refactor);
        let of_refactor = refactored.and_then(|refactored| refactored.proof.as_ref());
        let gates = self
            .proof()
            .into_iter()
            .chain(of_refactor)
            .flat_map(|proof| &proof.gates)
            .chain(&self.unreviewed);
        let all = reports
            .map(|report| (report.tokens, report.cost_usd))
            .chain(gates.map(|gate| (gate.tokens, gate.cost_usd)));
        all.fold((None, None), |(tokens, cost_usd), (used, cost)| {
            let tokens = tokens.into_iter().chain(used).reduce(Tokens::plus);
            let costs = cost_usd.into_iter().chain(cost);
            (tokens, costs.reduce(|sum, more| sum + more))
        })
    }
}

/// A conflict of proven work with what has landed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conflicted {
    /// The files.
    pub files: Vec<String>,
    /// The tasks whose landed work touches them.
    pub with: Vec<TaskId>,
    /// Whether the task's agent may be asked to put the two together.
    pub mendable: bool,
}

/// What came of a further attempt that may improve GREEN's code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refactored {
    /// The commit that stands on the task's branch now: a new one, or GREEN's own when the work was dropped.
    pub commit: CommitId,
    /// How the agent ended; `None` when it was not started.
    pub report: Option<AgentReport>,
    /// What tm saw of the work, when it was measured.
    pub proof: Option<Proof>,
    /// Why the work was dropped; `None` when it was kept.
    pub dropped: Option<String>,
}

/// Where an attempt works.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The task's branch.
    pub branch: BranchName,
    /// The commit that the work starts from; asserted to contain every dependency.
    pub base: CommitId,
    /// The worktree's folder.
    pub worktree: String,
}
