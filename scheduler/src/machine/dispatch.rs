//! Starts what may start: wakes paused tasks, fills slots in order, ends the run. Says what an input asks for, in the words
//! of the machine.

use super::{AttemptRecord, Life, Scheduler, State, TaskIndex, count_u32};
use crate::budget::is_too_late;
use crate::{
    AgentName, AttemptNumber, AttemptStep, CommitId, Dispatch, Effect, Event, Failure, Keep,
    RunStatus, Status, StopMode, StopReason, exit_code,
};

impl Scheduler {
    pub(super) fn advance(&mut self) {
        self.check_limits();
        self.break_when_all_is_the_same();
        self.wake();
        self.end_cooldowns();
        self.fill_slots();
        if self.believe_what_nobody_can_try() {
            self.fill_slots();
        }
        self.land_next();
        self.stop_when_spent();
        self.end_when_over();
    }

    fn check_limits(&mut self) {
        if self.stop_reason.is_some() || self.unsettled == 0 {
            return;
        }
        let limits = &self.limits;
        if is_too_late(self.now, limits.deadline) {
            self.stop_because(StopReason::Deadline);
        } else if (self.spent).uses_up(limits.max_tokens, limits.max_cost_usd) {
            self.stop_because(StopReason::Budget);
        }
    }

    /// Whether no attempt is started whatever is ready.
    pub(super) fn starts_nothing(&self) -> bool {
        self.is_paused || self.stop_reason.is_some() || self.unsettled == 0
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
            .filter(|&&before| !self.satisfies(before, rank));
        let state = match count_u32(unmet.count()) {
            0 => State::Ready,
            unmet => State::Waiting { unmet },
        };
        self.set_state(rank, state);
    }

    pub(super) fn ready_key(&self, rank: TaskIndex) -> (u32, usize, TaskIndex) {
        let wave = match self.limits.dispatch {
            Dispatch::Rolling => 0,
            Dispatch::Barrier => self.wave(rank),
        };
        (wave, self.order[rank], rank)
    }

    /// Whether tasks of its wave may start: at any time, or when every wave before has settled.
    pub(super) fn is_wave_open(&self, rank: TaskIndex) -> bool {
        let mut before = self.unsettled_by_wave[..self.wave(rank) as usize].iter();
        self.limits.dispatch == Dispatch::Rolling || before.all(|&unsettled| unsettled == 0)
    }

    pub(super) fn start_attempt(&mut self, rank: TaskIndex, agent: AgentName) {
        let number = AttemptNumber(count_u32(self.attempts[rank].len()) + 1);
        let mends = self.carried(rank);
        // Most tasks need one, and the room for more would be most of what a run knows of them.
        self.attempts[rank].reserve_exact(1);
        self.attempts[rank].push(AttemptRecord::new(number, self.now, agent, mends));
        self.take_trial(rank);
        self.set_state(rank, State::Preparing);
        let placed = &self.plan.tasks[rank];
        if self.opened_waves.insert(placed.wave) {
            let (wave, all) = (placed.wave, self.plan.tasks.iter());
            self.effects.push(Effect::Tell(Event::WaveOpened {
                wave,
                tasks: all.filter(|other| other.wave == wave).count(),
            }));
        }
        if number == AttemptNumber(1) {
            self.effects.push(Effect::Tell(Event::TaskStarted {
                task: placed.task.id.clone(),
                title: placed.task.title.to_string(),
                phase: placed.task.phase,
            }));
        }
        self.write_status(rank, Status::InProgress);
        self.ask_for_step(rank);
    }

    /// Returns the step that gives the attempt under way its worktree.
    pub(super) fn prepare(&self, rank: TaskIndex) -> AttemptStep {
        let before = self.dependencies[rank]
            .iter()
            .map(|&before| &self.states[before]);
        let commits = |wanted: fn(&State) -> bool| -> Vec<CommitId> {
            before
                .clone()
                .filter(|state| wanted(state))
                .filter_map(|state| state.commit().cloned())
                .collect()
        };
        AttemptStep::Prepare {
            on_top_of: commits(|state| matches!(state, State::Held { .. })),
            must_contain: commits(|state| {
                matches!(state, State::Held { .. } | State::Landed { .. })
            }),
        }
    }

    fn end_when_over(&mut self) {
        let is_bad = |state: &State| matches!(state, State::Failed { .. } | State::Blocked { .. });
        let status = match self.stop_reason {
            _ if self.unsettled == 0 && self.states.iter().any(is_bad) => RunStatus::Failed,
            _ if self.unsettled == 0 => RunStatus::Completed,
            Some(StopReason::Interrupted) if self.is_at_rest() => RunStatus::Interrupted,
            Some(_) if self.is_at_rest() => RunStatus::Stopped,
            Some(_) | None => return,
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
        let is_free = |rank: &TaskIndex| !self.parked.contains(rank);
        let mut under_way = self.indices().filter(is_free);
        match self.stop_order {
            Some(StopMode::Now) => !under_way.any(|rank| self.states[rank].has_agent()),
            Some(StopMode::Gently) | None => {
                let lands = self.landing.is_under_way() || !self.lands_no_more();
                !self
                    .landing
                    .first()
                    .is_some_and(|rank| lands && is_free(&rank))
                    && !under_way.any(|rank| self.states[rank].has_worktree())
            }
        }
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.effects.push(Effect::Tell(event));
    }

    /// Has a step of the attempt under way done.
    pub(super) fn ask(&mut self, rank: TaskIndex, step: AttemptStep) {
        self.effects.push(Effect::Step {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            step,
        });
    }

    /// Has the worktree of the attempt under way given back.
    pub(super) fn release(&mut self, rank: TaskIndex, keep: Keep) {
        self.ask(rank, AttemptStep::Release(keep));
    }

    pub(super) fn stop_agent(&mut self, rank: TaskIndex, order: StopMode) {
        self.ask(rank, AttemptStep::StopAgent(order));
    }

    /// Starts nothing more.
    pub(super) fn stop_because(&mut self, why: StopReason) {
        self.stop_reason = Some(why);
        self.tell(Event::RunStopping { why });
    }

    pub(super) fn tell_attempt_ended(
        &mut self,
        rank: TaskIndex,
        failure: Option<Failure>,
        reason: String,
    ) {
        self.tell(Event::AttemptEnded {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            failure,
            reason,
        });
    }
}
