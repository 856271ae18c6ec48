//! Ends an attempt under way whose task somebody stops, skips or wants tried again.
//!
//! The step under way is answered first, as ever; then the attempt is over, whatever the answer was. Only a landing that
//! is under way counts when it succeeds: what has landed has landed.

use super::{IllegalInput, Place, Scheduler, State};
use crate::{
    AgentVerdict, Answer, CommitId, Dependants, Effect, Event, Failure, Keep, StopMode, Timestamp, judge_agent,
};

/// What becomes of a task when the step under way is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Parting {
    /// It is given up.
    Stopped,
    /// It is tried again; the attempt does not count.
    Again,
    /// It is left out.
    Skipped(Dependants),
}

impl Parting {
    const fn words(self) -> &'static str {
        match self {
            Self::Stopped => "stopped by the user",
            Self::Again => "stopped by the user, to be tried again",
            Self::Skipped(_) => "skipped by the user",
        }
    }
}

impl Scheduler {
    /// Has the agent stopped, when there is one, and remembers what is to become of the task.
    pub(super) fn part_later(&mut self, rank: usize, parting: Parting, order: StopMode, effects: &mut Vec<Effect>) {
        self.partings.insert(rank, parting);
        let (task, attempt) = (self.id(rank), self.attempt_number(rank));
        let why = parting.words().to_owned();
        effects.push(Effect::Tell(Event::TaskStopping { task: task.clone(), why }));
        if self.states[rank].has_agent() {
            effects.push(Effect::StopAgent { task, attempt, order });
        }
    }

    /// Has the agents stopped again that were to be stopped when the process before this one was gone.
    pub(super) fn part_after_resuming(&self, effects: &mut Vec<Effect>) {
        for &rank in self.partings.keys().filter(|&&rank| self.states[rank].has_agent()) {
            let (task, attempt) = (self.id(rank), self.attempt_number(rank));
            effects.push(Effect::StopAgent { task, attempt, order: StopMode::Now });
        }
    }

    /// Takes the answer of a task that somebody stops, skips or wants tried again.
    pub(super) fn answer_and_part(
        &mut self,
        now: Timestamp,
        rank: usize,
        parting: Parting,
        answer: Answer,
        effects: &mut Vec<Effect>,
    ) -> Result<(), IllegalInput> {
        match (&self.states[rank], answer) {
            (State::Preparing, Answer::Prepared { branch, base, worktree }) => {
                self.last_attempt(rank).place = Some(Place { branch, base, worktree });
            }
            (State::Preparing, Answer::PrepareRefused(_))
            | (State::Committing, Answer::CommitRefused(_))
            | (State::Running | State::Proving | State::Committing, Answer::WorkLost(_)) => {}
            (State::Running, Answer::AgentEnded(report)) => {
                self.spend(&report);
                self.note_refusal(now, rank, &report, effects);
                if let AgentVerdict::Failed { failure: Failure::Escaped, evidence, .. } = judge_agent(&report) {
                    self.last_attempt(rank).evidence = evidence;
                }
                self.last_attempt(rank).report = Some(report);
            }
            (State::Proving, Answer::Proved(proof)) => {
                self.tell_proof(rank, &proof, effects);
                self.last_attempt(rank).proof = Some(proof);
            }
            (State::Committing, Answer::Committed { commit, proof }) => {
                self.take_proof_of_commit(rank, proof);
                self.tell_commit(rank, &commit, effects);
            }
            (State::Refactoring { .. }, Answer::Refactored(refactored)) => {
                self.note_refactored(now, rank, *refactored, effects);
            }
            (State::Landing { commit }, Answer::Landed { commit: merge, resolution }) => {
                let commit: CommitId = commit.clone();
                self.last_attempt(rank).resolution = resolution;
                self.partings.remove(&rank);
                self.end_landing();
                self.landed(now, rank, commit, &merge, effects);
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
        self.part(now, rank, parting, effects);
        Ok(())
    }

    /// Ends the attempt; its work is kept.
    pub(super) fn part(&mut self, now: Timestamp, rank: usize, parting: Parting, effects: &mut Vec<Effect>) {
        self.partings.remove(&rank);
        let (task, attempt) = (self.id(rank), self.attempt_number(rank));
        if self.states[rank].holds_slot() {
            effects.push(Effect::Release { task: task.clone(), attempt, keep: Keep::Salvage });
        }
        let mut evidence = parting.words().to_owned();
        let noticed = std::mem::take(&mut self.last_attempt(rank).evidence);
        if !noticed.is_empty() {
            evidence = format!("{evidence}; {noticed}");
        }
        match parting {
            Parting::Stopped => {
                self.record_failure(now, rank, Failure::Stopped, evidence.clone(), effects);
                self.give_up(rank, Failure::Stopped, evidence, effects);
            }
            Parting::Again | Parting::Skipped(_) => {
                let record = self.last_attempt(rank);
                record.ended_at = Some(now);
                record.evidence.clone_from(&evidence);
                effects.push(Effect::Tell(Event::AttemptEnded { task, attempt, failure: None, reason: evidence }));
                match parting {
                    Parting::Skipped(dependants) => self.skip(rank, dependants, effects),
                    Parting::Stopped | Parting::Again => self.make_ready(rank),
                }
            }
        }
    }
}
