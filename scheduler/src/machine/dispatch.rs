//! Starts what may start: wakes paused tasks, fills slots in order, lands one task at a time, ends the run.

use super::{AttemptRecord, Life, Scheduler, State, TaskIndex, count_u32};
use crate::budget::is_too_late;
use crate::{
    AgentName, AttemptNumber, CommitId, Dispatch, Effect, Event, PlacedTask, RunStatus, Status,
    StopMode, StopReason, exit_code,
};
use std::num::NonZeroU32;

impl Scheduler {
    pub(super) fn advance(&mut self) {
        self.check_limits();
        self.break_when_all_is_the_same();
        self.wake();
        self.end_cooldowns();
        self.fill_slots();
        self.land_next();
        self.stop_when_spent();
        self.end_when_over();
    }

    fn check_limits(&mut self) {
        if self.stop_reason.is_some() || self.unsettled == 0 {
            return;
        }
        let limits = &self.limits;
        let why = if is_too_late(self.now, limits.deadline) {
            StopReason::Deadline
        } else if (self.spent).uses_up(limits.max_tokens, limits.max_cost_usd) {
            StopReason::Budget
        } else {
            return;
        };
        self.stop_because(why);
    }

    fn wake(&mut self) {
        while let Some(&(until, rank)) = self.paused.first() {
            if until > self.now {
                return;
            }
            self.make_ready(rank);
        }
    }

    /// Makes a task ready, or waiting again when something it needs is not satisfied any more.
    pub(super) fn make_ready(&mut self, rank: TaskIndex) {
        let unmet = self.dependencies[rank]
            .iter()
            .filter(|&&before| !self.satisfies(before, rank))
            .count();
        let state = if unmet == 0 {
            State::Ready
        } else {
            State::Waiting {
                unmet: count_u32(unmet),
            }
        };
        self.set_state(rank, state);
    }

    pub(super) fn ready_key(&self, rank: TaskIndex) -> (u32, usize, TaskIndex) {
        match self.limits.dispatch {
            Dispatch::Rolling => (0, self.order[rank], rank),
            Dispatch::Barrier => (self.wave(rank), self.order[rank], rank),
        }
    }

    /// Whether tasks of its wave may start: at any time, or when every wave before has settled.
    pub(super) fn is_wave_open(&self, rank: TaskIndex) -> bool {
        let mut before = self.unsettled_by_wave[..self.wave(rank) as usize].iter();
        self.limits.dispatch == Dispatch::Rolling || before.all(|&unsettled| unsettled == 0)
    }

    pub(super) fn start_attempt(&mut self, rank: TaskIndex, agent: AgentName) {
        let number = AttemptNumber(count_u32(self.attempts[rank].len()) + 1);
        let mends = self.carried(rank);
        self.attempts[rank].push(AttemptRecord::new(number, self.now, agent, mends));
        self.set_state(rank, State::Preparing);
        let placed = &self.plan.tasks[rank];
        if self.opened_waves.insert(placed.wave) {
            let is_of_wave = |other: &&PlacedTask| other.wave == placed.wave;
            let tasks = self.plan.tasks.iter().filter(is_of_wave).count();
            self.effects.push(Effect::Tell(Event::WaveOpened {
                wave: placed.wave,
                tasks,
            }));
        }
        if number == AttemptNumber(1) {
            self.effects.push(Effect::Tell(Event::TaskStarted {
                task: placed.task.id.clone(),
                title: placed.task.title.clone(),
                phase: placed.task.phase,
            }));
        }
        self.write_status(rank, Status::InProgress);
        self.effects.push(self.prepare(rank));
    }

    /// Whether a single slot waits until all proven work has landed: what is prepared before starts from an old base, and
    /// would conflict with the work of its own run. With more slots others work on old bases anyway, and none stands idle.
    pub(super) fn is_landing_waited_for(&self) -> bool {
        self.limits.slots == NonZeroU32::MIN
            && !self.landing.is_empty()
            && !self.is_of_first_edition()
    }

    /// Returns the effect that asks for the worktree of the attempt under way.
    pub(super) fn prepare(&self, rank: TaskIndex) -> Effect {
        let commits = |wanted: fn(&State) -> bool| -> Vec<CommitId> {
            let before = self.dependencies[rank]
                .iter()
                .map(|&before| &self.states[before]);
            before
                .filter(|state| wanted(state))
                .filter_map(|state| state.commit().cloned())
                .collect()
        };
        Effect::Prepare {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            on_top_of: commits(|state| matches!(state, State::Held { .. })),
            must_contain: commits(|state| {
                matches!(state, State::Held { .. } | State::Landed { .. })
            }),
        }
    }

    pub(super) fn land_next(&mut self) {
        if self.landing_under_way || self.stop_order == Some(StopMode::Now) {
            return;
        }
        let Some(&rank) = self.landing.front() else {
            return;
        };
        if self.parked.contains(&rank) {
            return;
        }
        let State::Landing { commit } = &self.states[rank] else {
            unreachable!("only landing tasks queue to land")
        };
        let (commit, (task, attempt)) = (commit.clone(), self.step(rank));
        self.effects.push(Effect::Land {
            task,
            attempt,
            commit,
        });
        self.landing_under_way = true;
    }

    fn end_when_over(&mut self) {
        let status = if self.unsettled == 0 {
            let is_bad =
                |state: &State| matches!(state, State::Failed { .. } | State::Blocked { .. });
            if self.states.iter().any(is_bad) {
                RunStatus::Failed
            } else {
                RunStatus::Completed
            }
        } else if self.is_at_rest() {
            match self.stop_reason {
                Some(StopReason::Interrupted) => RunStatus::Interrupted,
                Some(
                    StopReason::Deadline
                    | StopReason::Budget
                    | StopReason::Surroundings
                    | StopReason::Breaker,
                ) => RunStatus::Stopped,
                None => return,
            }
        } else {
            return;
        };
        self.restore_statuses();
        self.life = Life::Ended(status);
        self.tell(Event::RunEnded {
            status,
            exit_code: exit_code::of_run(status, self.stop_reason),
        });
    }

    /// Whether a stopping run has nothing left to wait for. After an order to stop now, that is when no agent lives:
    /// what else is under way is begun again by the next process.
    fn is_at_rest(&self) -> bool {
        let mut under_way = (self.indices()).filter(|rank| !self.parked.contains(rank));
        match self.stop_order {
            Some(StopMode::Now) => !under_way.any(|rank| self.states[rank].has_agent()),
            Some(StopMode::Gently) | None => {
                let lands = self
                    .landing
                    .front()
                    .is_some_and(|first| !self.parked.contains(first));
                !lands && !under_way.any(|rank| self.states[rank].holds_slot())
            }
        }
    }
}
