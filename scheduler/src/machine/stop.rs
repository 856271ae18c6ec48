//! Stops a run, and takes one over from another process.

use super::{Life, Scheduler, State, TaskIndex};
use crate::{Effect, Event, Limits, Status, StopMode, StopReason};

impl Scheduler {
    pub(super) fn stop(&mut self, order: StopMode) {
        if self.stop_order >= Some(order) {
            return;
        }
        self.stop_order = Some(order);
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
        if matches!(self.states[rank], State::Landing { .. }) {
            self.landing_under_way = false;
        }
        self.trouble.get_or_insert(why);
        if self.stop_reason.is_none() {
            self.stop_because(StopReason::Surroundings);
        }
    }

    /// Asks again for every step that was under way, since nobody hears the answers of the process that is gone.
    pub(super) fn resume(&mut self, limits: Limits) {
        self.life = Life::Running;
        self.limits = limits;
        self.stop_order = None;
        // Whoever takes it up has seen how it ended; otherwise the count outlives the process.
        if self.stop_reason == Some(StopReason::Breaker) || self.is_all_the_same() {
            self.reset_breaker();
        }
        self.stop_reason = None;
        self.landing_under_way = false;
        self.parked.clear();
        self.trouble = None;
        self.ready = (self.indices())
            .filter(|&rank| self.states[rank] == State::Ready)
            .map(|rank| self.ready_key(rank))
            .collect();
        let landed = self
            .states
            .iter()
            .filter(|state| matches!(state, State::Landed { .. }))
            .count();
        let under_way = self
            .states
            .iter()
            .filter(|state| state.holds_slot())
            .count();
        self.tell(Event::RunResumed { landed, under_way });
        self.review_agents();
        for rank in self.indices() {
            self.reconcile_status(rank);
            self.effects.extend(self.step_again(rank));
        }
        self.stop_again_after_resuming();
        if self.is_paused {
            self.go_on();
        }
    }

    fn step_again(&self, rank: TaskIndex) -> Option<Effect> {
        let (task, attempt) = (self.id(rank), self.attempt_number(rank));
        match &self.states[rank] {
            State::Preparing => Some(self.prepare(rank)),
            State::Running => Some(Effect::Adopt {
                task,
                attempt,
                timeout_ms: self.timeout_ms(rank),
            }),
            State::Proving => Some(Effect::Prove { task, attempt }),
            State::Committing => Some(Effect::Commit { task, attempt }),
            State::Refactoring { commit } => {
                let timeout_ms = self.timeout_ms(rank);
                Some(Effect::Refactor {
                    task,
                    attempt,
                    commit: commit.clone(),
                    timeout_ms,
                })
            }
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
        let task = &self.plan.tasks[rank].task;
        if self.states[rank].holds_slot() {
            self.written
                .insert(task.backlog_id.clone(), Status::InProgress);
        }
        if let Some(status) = self.written.get(&task.backlog_id) {
            self.effects.push(Effect::SetStatus {
                task: task.backlog_id.clone(),
                status: status.clone(),
            });
        }
    }
}
