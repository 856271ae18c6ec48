//! Takes the answer to one step of an attempt and goes on to the next step.
//!
//! The legal pairs of state and answer stand in one `match`; every other pair is an error.

use super::attempt_record::Reached;
use super::{AttemptRecord, IllegalInput, Place, Scheduler, State, TaskIndex};
use crate::failure::last_line;
use crate::{
    AgentReport, AgentVerdict, Answer, AttemptNumber, Effect, Event, Failure, GateResult,
    LandingRefusal, Phase, PrepareRefusal, Proof, StopMode, StopReason, TaskId, Timestamp,
    judge_agent,
};

impl Scheduler {
    pub(super) fn answer(
        &mut self,
        now: Timestamp,
        task: &TaskId,
        attempt: AttemptNumber,
        mut answer: Answer,
    ) -> Result<(), IllegalInput> {
        if !self.is_of_first_edition() {
            answer.forget_impossible_figures();
        }
        let rank = match self.rank_under_way(task, attempt) {
            Ok(rank) => rank,
            Err(stands) => {
                let what = format!("the answer `{answer:?}` for `{task}`");
                return Err(IllegalInput { what, stands });
            }
        };
        let is_under_way =
            self.states[rank].holds_slot() || matches!(self.states[rank], State::Landing { .. });
        match (answer, is_under_way) {
            (Answer::InfrastructureFailed(why), true) => self.park(rank, why),
            (Answer::Unreviewed { why, review }, true) => {
                self.spend_on_gates(std::slice::from_ref(&review));
                self.last_attempt(rank).unreviewed.push(*review);
                self.park(rank, why);
            }
            (answer, _) => match self.pending_stops.get(&rank) {
                Some(&pending) => self.finish_stopped_attempt(now, rank, pending, answer)?,
                None => self.take_step(now, rank, answer)?,
            },
        }
        Ok(())
    }

    /// The task whose attempt an answer is for; what stands in the way where that is not under way.
    fn rank_under_way(&self, task: &TaskId, attempt: AttemptNumber) -> Result<TaskIndex, String> {
        let rank = self.ranks.get(task).ok_or("no task has that id")?;
        let under_way = self.attempt_number(*rank);
        if under_way == attempt {
            Ok(*rank)
        } else {
            Err(format!("attempt {under_way} is under way"))
        }
    }

    fn take_step(
        &mut self,
        now: Timestamp,
        rank: TaskIndex,
        answer: Answer,
    ) -> Result<(), IllegalInput> {
        match (&self.states[rank], answer) {
            (State::Preparing, Answer::Prepared(place)) => self.prepared(now, rank, place),
            (State::Preparing, Answer::PrepareRefused(refusal)) => {
                self.prepare_refused(now, rank, refusal);
            }
            (State::Running, Answer::AgentEnded(report)) => self.agent_ended(now, rank, report),
            (State::Proving, Answer::Proved(proof)) => self.proved(now, rank, proof),
            (State::Committing, Answer::Committed { commit, proof }) => {
                self.take_proof_of_commit(rank, proof);
                self.committed(now, rank, commit);
            }
            (State::Committing, Answer::CommitRefused(why)) => {
                self.fail_attempt(now, rank, Failure::CommitRefused, why, None);
            }
            (State::Refactoring { .. }, Answer::Refactored(refactored)) => {
                self.refactored(now, rank, *refactored);
            }
            (State::Running | State::Proving | State::Committing, Answer::WorkLost(why)) => {
                self.fail_attempt(now, rank, Failure::Lost, why, None);
            }
            (
                State::Landing { commit },
                Answer::Landed {
                    commit: merge,
                    resolution,
                },
            ) => {
                let commit = commit.clone();
                self.end_landing();
                self.landed(now, rank, commit, &merge, resolution);
            }
            (State::Landing { .. }, Answer::LandingRefused(refusal)) => {
                self.end_landing();
                self.fail_landing(now, rank, refusal);
            }
            (state, answer) => {
                return Err(IllegalInput {
                    what: format!("the answer `{answer:?}` for `{}`", self.id(rank)),
                    stands: format!("it is {}", state.as_str()),
                });
            }
        }
        Ok(())
    }

    fn prepared(&mut self, now: Timestamp, rank: TaskIndex, place: Place) {
        let (branch, base) = (place.branch.clone(), place.base.clone());
        self.last_attempt(rank).reach(Reached::Place(place));
        if self.stop_order.is_some()
            || self.is_paused
            || self.stop_reason == Some(StopReason::Breaker)
        {
            self.interrupt_attempt(now, rank);
            return;
        }
        let Some(agent) = self.assign_agent(rank) else {
            return;
        };
        self.set_state(rank, State::Running);
        let (task, attempt, phase) = (self.id(rank), self.attempt_number(rank), self.phase(rank));
        self.tell(Event::AttemptStarted {
            task: task.clone(),
            attempt,
            phase,
            agent,
            branch,
            base,
        });
        self.effects.push(Effect::RunAgent {
            task,
            attempt,
            timeout_ms: self.timeout_ms(rank),
        });
    }

    pub(super) fn timeout_ms(&self, rank: TaskIndex) -> u64 {
        self.limits.timeout_ms(&self.plan.tasks[rank].task)
    }

    fn prepare_refused(&mut self, now: Timestamp, rank: TaskIndex, refusal: PrepareRefusal) {
        let files = match refusal {
            PrepareRefusal::Failed(why) => {
                self.fail_attempt(now, rank, Failure::NotStarted, why, None);
                return;
            }
            PrepareRefusal::Conflict { files } => files,
        };
        let evidence = format!(
            "what it builds on conflicts with what has landed in: {}",
            files.join(", ")
        );
        let red = self
            .pair(rank)
            .filter(|&red| matches!(self.states[red], State::Held { .. }));
        if let Some(red) = red
            && self.phase(rank) == Phase::Green
        {
            self.redo_conflicting_red(now, red, rank, evidence);
        } else {
            self.fail_attempt(now, rank, Failure::Conflict, evidence, None);
        }
    }

    pub(super) fn spend(&mut self, report: &AgentReport) {
        self.spent.add(report.tokens, report.cost_usd);
    }

    /// Reviewers are agents as well.
    pub(super) fn spend_on_gates(&mut self, gates: &[GateResult]) {
        for gate in gates {
            self.spent.add(gate.tokens, gate.cost_usd);
        }
    }

    fn agent_ended(&mut self, now: Timestamp, rank: TaskIndex, report: AgentReport) {
        self.spend(&report);
        let verdict = self.verdict(&report);
        if verdict == AgentVerdict::WorthProving {
            self.heard_from_service(now, rank, &report);
        }
        self.last_attempt(rank)
            .reach(Reached::Report(Box::new(report)));
        match verdict {
            AgentVerdict::WorthProving => {
                self.set_state(rank, State::Proving);
                if self.stop_order != Some(StopMode::Now) {
                    self.effects.push(Effect::Prove {
                        task: self.id(rank),
                        attempt: self.attempt_number(rank),
                    });
                }
            }
            AgentVerdict::Interrupted => self.interrupt_attempt(now, rank),
            AgentVerdict::Failed {
                failure,
                evidence,
                not_before,
            } => {
                let evidence = self.with_last_line(rank, failure, evidence);
                self.fail_attempt(now, rank, failure, evidence, not_before);
            }
        }
    }

    /// An agent that leaves nothing but an exit code may have said why.
    fn with_last_line(&self, rank: TaskIndex, failure: Failure, evidence: String) -> String {
        let report = self.attempts[rank].last().and_then(AttemptRecord::report);
        match (failure, report.and_then(last_line)) {
            (Failure::NoResult, Some(said)) => format!("{evidence}: {said}"),
            (_, _) => evidence,
        }
    }

    /// Judges how an agent ended. One that was ended although nobody had ordered the run to stop was not ended by tm.
    fn verdict(&self, report: &AgentReport) -> AgentVerdict {
        match judge_agent(report) {
            AgentVerdict::Interrupted
                if self.stop_order.is_none() && !self.is_of_first_edition() =>
            {
                let evidence = "the agent was ended, and nobody had asked for it".to_owned();
                AgentVerdict::Failed {
                    failure: Failure::Lost,
                    evidence,
                    not_before: None,
                }
            }
            verdict => verdict,
        }
    }

    fn proved(&mut self, now: Timestamp, rank: TaskIndex, proof: Proof) {
        let (task, attempt) = (self.id(rank), self.attempt_number(rank));
        self.spend_on_gates(&proof.gates);
        self.tell_proof(rank, &proof);
        let (failure, evidence) = (proof.failure, proof.evidence.clone());
        self.last_attempt(rank)
            .reach(Reached::Proof(Box::new(proof)));
        if let Some((failure, doubt)) = failure.zip(self.doubt(rank)) {
            self.question_red(now, rank, doubt, failure);
            return;
        }
        if let Some(failure) = failure {
            self.fail_attempt(now, rank, failure, evidence, None);
            return;
        }
        self.set_state(rank, State::Committing);
        self.effects.push(Effect::Commit { task, attempt });
    }

    pub(super) fn tell_proof(&mut self, rank: TaskIndex, proof: &Proof) {
        self.tell(Event::TestRun {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            passed: proof.passed,
            failed: proof.failed,
            holds: proof.holds(),
            strength: proof.rests_on(),
        });
    }

    /// Ends an attempt whose work did not land, and remembers by what.
    fn fail_landing(&mut self, now: Timestamp, rank: TaskIndex, refusal: LandingRefusal) {
        let conflict = self.conflicted(&refusal);
        let (failure, evidence) = landing_evidence(refusal);
        self.fail_attempt(now, rank, failure, evidence, None);
        self.last_failure(rank).conflict = conflict;
    }

    pub(super) fn end_landing(&mut self) {
        self.landing.pop_front();
        self.landing_under_way = false;
    }
}

/// Puts into words why work did not land.
fn landing_evidence(refusal: LandingRefusal) -> (Failure, String) {
    let names = |tasks: &[TaskId]| {
        let names: Vec<String> = tasks.iter().map(|id| format!("`{id}`")).collect();
        if names.is_empty() {
            "what has landed".to_owned()
        } else {
            format!("the landed work of {}", names.join(", "))
        }
    };
    match refusal {
        LandingRefusal::Conflict {
            files, with, tried, ..
        } => {
            let conflict = format!("conflicts with {} in: {}", names(&with), files.join(", "));
            (
                Failure::Conflict,
                std::iter::once(conflict)
                    .chain(tried)
                    .collect::<Vec<_>>()
                    .join("\n"),
            )
        }
        LandingRefusal::Regression { proof, with }
            if proof.failure == Some(Failure::GateFailed) =>
        {
            (
                Failure::GateFailed,
                format!("merged with {}:\n{}", names(&with), proof.evidence),
            )
        }
        LandingRefusal::Regression { proof, with } => (
            Failure::LandingRegression,
            format!("merged with {}:\n{}", names(&with), proof.evidence),
        ),
        LandingRefusal::Failed(why) => (Failure::CommitRefused, why),
    }
}
