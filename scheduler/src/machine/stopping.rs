//! Stops a run, takes one over from another process, and ends an attempt under way whose task somebody stops, skips or
//! wants tried again.
//!
//! The step under way of such an attempt is answered first, as ever; then the attempt is over, whatever the answer was. Only a landing that
//! is under way counts when it succeeds: what has landed has landed.

use super::attempt_record::Reached;
use super::{Life, Scheduler, State, TaskIndex};
use crate::{
    AgentReport, AgentVerdict, AttemptStep, Dependants, Effect, Event, Failure, Keep, Limits,
    Status, StopMode, StopReason, Timestamp, judge_agent,
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
    pub(super) fn stop(&mut self, order: StopMode) {
        if self.stop_order >= Some(order) {
            return;
        }
        self.stop_order = Some(order);
        let grace_ms = self.limits.grace_ms;
        self.lands_until = grace_ms.map(|grace| self.now.plus(grace));
        if self.stop_reason != Some(StopReason::Interrupted) {
            self.stop_because(StopReason::Interrupted);
        }
        for rank in self.indices() {
            // An agent that is being stopped already is not given more time.
            let is_parting = order == StopMode::Gently && self.pending_stops.contains_key(&rank);
            if self.states[rank].has_agent() && !is_parting {
                self.stop_agent(rank, order);
            }
        }
    }

    /// Leaves a task where it stands because its step can't be done now, and starts nothing more: what else is under way
    /// goes on to its end, and the next process asks for the step again.
    pub(super) fn park(&mut self, rank: TaskIndex, why: String) {
        self.parked.insert(rank);
        if self.states[rank].is_landing() {
            self.landing.interrupt();
        }
        self.trouble.get_or_insert(why);
        if self.stop_reason.is_none() {
            self.stop_because(StopReason::Surroundings);
        }
    }

    /// Asks again for every step that was under way, since nobody hears the answers of the process that is gone.
    pub(super) fn resume(&mut self, limits: Limits, before: Timestamp) {
        self.life = Life::Running;
        self.pauses.push((before, self.now));
        self.limits = limits;
        self.count_slots_anew();
        (self.stop_order, self.lands_until) = (None, None);
        // Whoever takes it up has seen how it ended; otherwise the count outlives the process.
        if self.stop_reason == Some(StopReason::Breaker) || self.too_much_in_a_row().is_some() {
            self.reset_breaker();
        }
        self.stop_reason = None;
        self.landing.take_up();
        self.parked.clear();
        self.trouble = None;
        self.ready = (self.indices())
            .filter(|&rank| self.states[rank] == State::Ready)
            .map(|rank| self.ready_key(rank))
            .collect();
        let count = |wanted: fn(&&State) -> bool| self.states.iter().filter(wanted).count();
        self.tell(Event::RunResumed {
            landed: count(|state| matches!(state, State::Landed { .. })),
            under_way: count(|state| state.has_worktree()),
        });
        self.review_agents();
        for rank in self.indices() {
            self.reconcile_status(rank);
            self.ask_for_step(rank);
        }
        self.stop_again_after_resuming();
        if self.is_paused {
            self.go_on();
        }
    }

    /// Asks for the step that follows from where a task stands.
    pub(super) fn ask_for_step(&mut self, rank: TaskIndex) {
        if let Some(step) = self.step_again(rank) {
            self.ask(rank, step);
        }
    }

    fn step_again(&self, rank: TaskIndex) -> Option<AttemptStep> {
        let timeout_ms = self.timeout_ms(rank);
        match &self.states[rank] {
            State::Preparing => Some(self.prepare(rank)),
            State::Running => Some(AttemptStep::Adopt { timeout_ms }),
            State::Proving => Some(AttemptStep::Prove),
            State::Committing => Some(AttemptStep::Commit),
            State::Refactoring { commit } => Some(AttemptStep::Refactor {
                commit: commit.clone(),
                timeout_ms,
            }),
            State::Waiting { .. }
            | State::Ready
            | State::Paused { .. }
            | State::Landing { .. }
            | State::Held { .. }
            | State::Landed { .. }
            | State::Failed { .. }
            | State::Skipped { .. }
            | State::Blocked { .. } => None,
        }
    }

    /// Writes the status again that the task is to have, whatever the process that is gone managed to write.
    fn reconcile_status(&mut self, rank: TaskIndex) {
        let task = self.planned(rank).backlog_id.clone();
        if self.states[rank].has_worktree() {
            self.written.insert(task.clone(), Status::InProgress);
        }
        if let Some(status) = self.written.get(&task).cloned() {
            self.effects.push(Effect::SetStatus { task, status });
        }
    }

    /// Has the agent stopped, when there is one, and remembers what is to become of the task.
    pub(super) fn stop_when_answered(
        &mut self,
        rank: TaskIndex,
        pending: PendingStop,
        order: StopMode,
    ) {
        self.pending_stops.insert(rank, pending);
        self.tell(Event::TaskStopping {
            task: self.id(rank),
            why: pending.describe().to_owned(),
        });
        if self.states[rank].has_agent() {
            self.stop_agent(rank, order);
        }
    }

    /// Has the agents stopped again that were to be stopped when the process before this one was gone.
    fn stop_again_after_resuming(&mut self) {
        let stopped: Vec<TaskIndex> = self.pending_stops.keys().copied().collect();
        for rank in stopped {
            if self.states[rank].has_agent() {
                self.stop_agent(rank, StopMode::Now);
            }
        }
    }

    /// Takes the end of an agent whose task somebody stops, skips or wants tried again.
    pub(super) fn stopped_agent_ended(&mut self, rank: TaskIndex, report: AgentReport) {
        self.note_refusal(rank, &report);
        let noticed = match judge_agent(&report) {
            AgentVerdict::Failed {
                failure: Failure::Escaped,
                evidence,
                ..
            } => Some(evidence),
            _ => None,
        };
        self.last_attempt(rank)
            .reach(Reached::Report(Box::new(report)));
        self.end_if_stopped(rank, noticed);
    }

    /// Ends the attempt, whatever was answered, where somebody stops its task, skips it or wants it tried again; false
    /// where nobody does.
    pub(super) fn end_if_stopped(&mut self, rank: TaskIndex, noticed: Option<String>) -> bool {
        let pending = self.pending_stops.get(&rank).copied();
        if let Some(pending) = pending {
            self.end_stopped(rank, pending, noticed);
        }
        pending.is_some()
    }

    /// Ends the attempt, of which something may have been noticed; its work is kept.
    pub(super) fn end_stopped(
        &mut self,
        rank: TaskIndex,
        pending: PendingStop,
        noticed: Option<String>,
    ) {
        self.pending_stops.remove(&rank);
        if self.states[rank].has_worktree() {
            self.release(rank, Keep::Salvage);
        }
        let mut evidence = pending.describe().to_owned();
        if let Some(noticed) = noticed {
            evidence = format!("{evidence}; {noticed}");
        }
        match pending {
            PendingStop::Stopped => {
                self.record_failure(rank, Failure::Stopped, evidence.clone());
                self.give_up(rank, Failure::Stopped, evidence);
            }
            PendingStop::Again | PendingStop::Skipped(_) => {
                self.end_attempt(rank, evidence.clone(), None);
                self.tell_attempt_ended(rank, None, evidence);
                match pending {
                    PendingStop::Skipped(dependants) => self.skip(rank, dependants),
                    PendingStop::Stopped | PendingStop::Again => self.make_ready(rank),
                }
            }
        }
    }
}
