//! Takes the answer to one step of an attempt and goes on to the next step.
//!
//! The legal pairs of state and answer stand in one `match`; every other pair is an error.

use super::attempt_record::Reached;
use super::{AttemptRecord, IllegalInput, Place, Scheduler, State, TaskIndex};
use crate::budget::Spent;
use crate::failure::last_line;
use crate::{
    AgentReport, AgentVerdict, Answer, AttemptNumber, AttemptStep, Edition, Event, Failure,
    GateResult, LandingRefusal, PrepareRefusal, Proof, StopMode, StopReason, TaskId, first_files,
    judge_agent, quoted,
};

impl Scheduler {
    pub(super) fn answer(
        &mut self,
        task: &TaskId,
        attempt: AttemptNumber,
        mut answer: Answer,
    ) -> Result<(), IllegalInput> {
        if !self.is_of_first_edition() {
            answer.forget_impossible_figures();
        }
        let illegal = |stands| IllegalInput {
            what: format!("the answer `{answer:?}` for `{task}`"),
            stands,
        };
        let rank = self.rank_under_way(task, attempt).map_err(illegal)?;
        match (answer, self.states[rank].is_under_way()) {
            (Answer::InfrastructureFailed(why), true) => self.park(rank, why),
            (Answer::Unreviewed { why, review }, true) => {
                self.spend_on_gates(std::slice::from_ref(&review));
                self.last_attempt(rank).unreviewed.push(*review);
                self.park(rank, why);
            }
            (answer, _) => self.take_step(rank, answer)?,
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

    fn take_step(&mut self, rank: TaskIndex, answer: Answer) -> Result<(), IllegalInput> {
        match (&self.states[rank], answer) {
            (State::Preparing, Answer::Prepared(place)) => self.prepared(rank, place),
            (State::Preparing, Answer::PrepareRefused(refusal)) => {
                self.prepare_refused(rank, refusal);
            }
            (State::Running, Answer::AgentEnded(report)) => self.agent_ended(rank, report),
            (State::Proving, Answer::Proved(proof)) => self.proved(rank, proof),
            (State::Committing, Answer::Committed { commit, proof }) => {
                self.take_proof_of_commit(rank, proof);
                self.committed(rank, commit);
            }
            (State::Committing, Answer::CommitRefused(why)) => {
                self.fail_step(rank, Failure::CommitRefused, why);
            }
            (State::Refactoring { .. }, Answer::Refactored(refactored)) => {
                self.refactored(rank, *refactored);
            }
            (State::Running | State::Proving | State::Committing, Answer::WorkLost(why)) => {
                self.fail_step(rank, Failure::Lost, why);
            }
            (
                State::Landing { commit },
                Answer::Landed {
                    commit: merge,
                    resolution,
                },
            ) => {
                let commit = commit.clone();
                self.pending_stops.remove(&rank);
                self.landing.first_landed(self.limits.most_landing_tests());
                self.landed(rank, commit, &merge, resolution);
            }
            (State::Landing { .. }, Answer::LandingRefused(refusal)) => {
                self.landing.first_refused(self.limits.most_landing_tests());
                self.fail_landing(rank, refusal);
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

    /// Ends an attempt whose step could not be done.
    fn fail_step(&mut self, rank: TaskIndex, failure: Failure, why: String) {
        if !self.end_if_stopped(rank, None) {
            self.fail_attempt(rank, failure, why, None);
        }
    }

    fn prepared(&mut self, rank: TaskIndex, place: Place) {
        let (branch, base) = (place.branch.clone(), place.base.clone());
        self.last_attempt(rank).reach(Reached::Place(place));
        if self.end_if_stopped(rank, None) {
            return;
        }
        if self.stop_order.is_some()
            || self.is_paused
            || self.stop_reason == Some(StopReason::Breaker)
        {
            self.interrupt_attempt(rank);
            return;
        }
        let Some(agent) = self.assign_agent(rank) else {
            return;
        };
        self.set_state(rank, State::Running);
        self.tell(Event::AttemptStarted {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            phase: self.phase(rank),
            agent,
            branch,
            base,
        });
        let timeout_ms = self.timeout_ms(rank);
        self.ask(rank, AttemptStep::RunAgent { timeout_ms });
    }

    pub(super) fn timeout_ms(&self, rank: TaskIndex) -> u64 {
        self.limits.timeout_ms(self.planned(rank))
    }

    fn prepare_refused(&mut self, rank: TaskIndex, refusal: PrepareRefusal) {
        let files = match refusal {
            PrepareRefusal::Failed(why) => return self.fail_step(rank, Failure::NotStarted, why),
            PrepareRefusal::Conflict { files } => first_files(&files),
        };
        let evidence = format!("what it builds on conflicts with what has landed in: {files}");
        if self.end_if_stopped(rank, None) {
            return;
        }
        if let Some(red) = self.held_red_of(rank) {
            self.redo_conflicting_red(red, rank, evidence);
        } else {
            self.fail_attempt(rank, Failure::Conflict, evidence, None);
        }
    }

    /// Counts what an agent says that it spent, at most what its task may: a word of it beyond all sense ends its own task,
    /// and not the run of all.
    pub(super) fn spend(&mut self, report: &AgentReport) {
        let mut own = Spent::default();
        own.add((report.tokens, report.cost_usd));
        if self.limits.edition >= Edition::Sixth {
            let limits = &self.limits;
            own = own.at_most(limits.max_tokens_per_task, limits.max_cost_usd_per_task);
        }
        self.spent.tokens = self.spent.tokens.saturating_add(own.tokens);
        self.spent.cost_usd += own.cost_usd;
    }

    /// Reviewers are agents as well.
    pub(super) fn spend_on_gates(&mut self, gates: &[GateResult]) {
        for gate in gates {
            self.spent.add((gate.tokens, gate.cost_usd));
        }
    }

    fn agent_ended(&mut self, rank: TaskIndex, report: AgentReport) {
        self.spend(&report);
        if self.pending_stops.contains_key(&rank) {
            return self.stopped_agent_ended(rank, report);
        }
        let verdict = self.verdict(&report);
        self.end_trial(rank, &verdict);
        if verdict == AgentVerdict::WorthProving {
            self.heard_from_service(rank, &report);
        }
        self.last_attempt(rank)
            .reach(Reached::Report(Box::new(report)));
        self.note_agents_pace(rank);
        match verdict {
            AgentVerdict::WorthProving => {
                self.set_state(rank, State::Proving);
                if self.stop_order != Some(StopMode::Now) {
                    self.ask_for_step(rank);
                }
            }
            AgentVerdict::Interrupted => self.interrupt_attempt(rank),
            AgentVerdict::Failed {
                failure,
                evidence,
                not_before,
            } => {
                let evidence = self.with_last_line(rank, failure, evidence);
                self.fail_attempt(rank, failure, evidence, not_before);
            }
        }
    }

    /// An agent that leaves nothing behind may have said why.
    fn with_last_line(&self, rank: TaskIndex, failure: Failure, evidence: String) -> String {
        let report = self.last(rank).and_then(AttemptRecord::report);
        match report.and_then(last_line) {
            Some(said) if failure.is_told_by_last_words() => format!("{evidence}: {said}"),
            _ => evidence,
        }
    }

    /// Judges how an agent ended. One that was ended although nobody had ordered the run to stop was not ended by tm.
    fn verdict(&self, report: &AgentReport) -> AgentVerdict {
        let is_asked_for = self.stop_order.is_some() || self.is_of_first_edition();
        match judge_agent(report) {
            AgentVerdict::Interrupted if !is_asked_for => {
                let evidence = "the agent was ended, and nobody had asked for it";
                AgentVerdict::failed(Failure::Lost, evidence)
            }
            verdict => verdict,
        }
    }

    fn proved(&mut self, rank: TaskIndex, proof: Proof) {
        let (failure, evidence) = (proof.failure, proof.evidence.clone());
        self.take_proof(rank, proof);
        if self.end_if_stopped(rank, None) {
            return;
        }
        match (failure, self.doubt(rank)) {
            (Some(failure), Some(doubt)) => self.question_red(rank, doubt, failure),
            (Some(failure), None) => self.fail_attempt(rank, failure, evidence, None),
            (None, _) => {
                self.set_state(rank, State::Committing);
                self.ask_for_step(rank);
            }
        }
    }

    /// Takes in what was seen of an attempt's work, and what its gates have cost, whatever becomes of the attempt.
    fn take_proof(&mut self, rank: TaskIndex, proof: Proof) {
        self.spend_on_gates(&proof.gates);
        self.tell(Event::TestRun {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            passed: proof.passed,
            failed: proof.failed,
            holds: proof.holds(),
            strength: proof.rests_on(),
        });
        self.last_attempt(rank)
            .reach(Reached::Proof(Box::new(proof)));
    }

    /// Ends an attempt whose work did not land, and remembers by what.
    fn fail_landing(&mut self, rank: TaskIndex, refusal: LandingRefusal) {
        if self.end_if_stopped(rank, None) {
            return;
        }
        let conflict = self.conflicted(&refusal);
        let (failure, evidence) = landing_evidence(refusal);
        self.fail_attempt(rank, failure, evidence, None);
        self.last_failure(rank).conflict = conflict;
    }
}

/// Puts into words why work did not land.
fn landing_evidence(refusal: LandingRefusal) -> (Failure, String) {
    let names = |tasks: &[TaskId]| {
        if tasks.is_empty() {
            "what has landed".to_owned()
        } else {
            format!("the landed work of {}", quoted(tasks))
        }
    };
    match refusal {
        LandingRefusal::Conflict {
            files, with, tried, ..
        } => {
            let mut lines = tried;
            let conflict = format!(
                "conflicts with {} in: {}",
                names(&with),
                first_files(&files)
            );
            lines.insert(0, conflict);
            (Failure::Conflict, lines.join("\n"))
        }
        LandingRefusal::Regression { proof, with } => {
            let of_gate = proof.failure.filter(|why| *why == Failure::GateFailed);
            let evidence = format!("merged with {}:\n{}", names(&with), proof.evidence);
            (of_gate.unwrap_or(Failure::LandingRegression), evidence)
        }
        LandingRefusal::Failed(why) => (Failure::CommitRefused, why),
    }
}
