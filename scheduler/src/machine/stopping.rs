//! Ends an attempt under way whose task somebody stops, skips or wants tried again.
//!
//! The step under way is answered first, as ever; then the attempt is over, whatever the answer was. Only a landing that
//! is under way counts when it succeeds: what has landed has landed.

use super::attempt_record::Reached;
use super::{IllegalInput, Scheduler, State, TaskIndex};
use crate::{
    AgentVerdict, Answer, CommitId, Dependants, Event, Failure, Keep, StopMode, Timestamp,
    judge_agent,
};

/// What becomes of a task when the step under way is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PendingStop {
    /// It is given up.
    Stopped,
    /// It is tried again; the attempt does not count.
    Again,
    /// It is left out.
    Skipped(Dependants),
}

impl PendingStop {
    const fn describe(self) -> &'static str {
        match self {
            Self::Stopped => "stopped by the user",
            Self::Again => "stopped by the user, to be tried again",
            Self::Skipped(_) => "skipped by the user",
        }
    }
}

impl Scheduler {
    /// Has the agent stopped, when there is one, and remembers what is to become of the task.
    pub(super) fn stop_when_answered(
        &mut self,
        rank: TaskIndex,
        pending: PendingStop,
        order: StopMode,
    ) {
        self.pending_stops.insert(rank, pending);
        let task = self.id(rank);
        let why = pending.describe().to_owned();
        self.tell(Event::TaskStopping {
            task: task.clone(),
            why,
        });
        if self.states[rank].has_agent() {
            self.stop_agent(rank, order);
        }
    }

    /// Has the agents stopped again that were to be stopped when the process before this one was gone.
    pub(super) fn stop_again_after_resuming(&mut self) {
        let stopped: Vec<TaskIndex> = self
            .pending_stops
            .keys()
            .copied()
            .filter(|&rank| self.states[rank].has_agent())
            .collect();
        for rank in stopped {
            self.stop_agent(rank, StopMode::Now);
        }
    }

    /// Takes the answer of a task that somebody stops, skips or wants tried again.
    pub(super) fn finish_stopped_attempt(
        &mut self,
        now: Timestamp,
        rank: TaskIndex,
        pending: PendingStop,
        answer: Answer,
    ) -> Result<(), IllegalInput> {
        let mut noticed = None;
        match (&self.states[rank], answer) {
            (State::Preparing, Answer::Prepared(place)) => {
                self.last_attempt(rank).reach(Reached::Place(place));
            }
            (State::Preparing, Answer::PrepareRefused(_))
            | (State::Committing, Answer::CommitRefused(_))
            | (State::Running | State::Proving | State::Committing, Answer::WorkLost(_)) => {}
            (State::Running, Answer::AgentEnded(report)) => {
                self.spend(&report);
                self.note_refusal(now, rank, &report);
                if let AgentVerdict::Failed {
                    failure: Failure::Escaped,
                    evidence,
                    ..
                } = judge_agent(&report)
                {
                    noticed = Some(evidence);
                }
                self.last_attempt(rank)
                    .reach(Reached::Report(Box::new(report)));
            }
            (State::Proving, Answer::Proved(proof)) => {
                self.tell_proof(rank, &proof);
                self.last_attempt(rank)
                    .reach(Reached::Proof(Box::new(proof)));
            }
            (State::Committing, Answer::Committed { commit, proof }) => {
                self.take_proof_of_commit(rank, proof);
                self.tell_commit(rank, &commit);
            }
            (State::Refactoring { .. }, Answer::Refactored(refactored)) => {
                self.note_refactored(now, rank, *refactored);
            }
            (
                State::Landing { commit },
                Answer::Landed {
                    commit: merge,
                    resolution,
                },
            ) => {
                let commit: CommitId = commit.clone();
                self.pending_stops.remove(&rank);
                self.end_landing();
                self.landed(now, rank, commit, &merge, resolution);
                return Ok(());
            }
            (State::Landing { .. }, Answer::LandingRefused(_)) => self.end_landing(),
            (state, answer) => {
                return Err(IllegalInput {
                    what: format!("the answer `{answer:?}` for `{}`", self.id(rank)),
                    stands: format!("it is {}", state.as_str()),
                });
            }
        }
        self.end_stopped(now, rank, pending, noticed);
        Ok(())
    }

    /// Ends the attempt, of which something may have been noticed; its work is kept.
    pub(super) fn end_stopped(
        &mut self,
        now: Timestamp,
        rank: TaskIndex,
        pending: PendingStop,
        noticed: Option<String>,
    ) {
        self.pending_stops.remove(&rank);
        if self.states[rank].holds_slot() {
            self.release(rank, Keep::Salvage);
        }
        let mut evidence = pending.describe().to_owned();
        if let Some(noticed) = noticed {
            evidence = format!("{evidence}; {noticed}");
        }
        match pending {
            PendingStop::Stopped => {
                self.record_failure(now, rank, Failure::Stopped, evidence.clone());
                self.give_up(rank, Failure::Stopped, evidence);
            }
            PendingStop::Again | PendingStop::Skipped(_) => {
                self.end_attempt(now, rank, evidence.clone(), None);
                self.tell_attempt_ended(rank, None, evidence);
                match pending {
                    PendingStop::Skipped(dependants) => self.skip(rank, dependants),
                    PendingStop::Stopped | PendingStop::Again => self.make_ready(rank),
                }
            }
        }
    }
}
