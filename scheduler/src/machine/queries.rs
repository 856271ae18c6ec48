//! What can be asked of a run: its tasks as they stand, its sums, and how it ended.

use super::{Life, Scheduler, State, TaskIndex};
use crate::machine::AttemptRecord;
use crate::{Limits, PlacedTask, RunStatus, StopReason, TaskId, Timestamp, WavePlan};

/// One task of a run as it stands now.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The task and its place in the plan.
    pub placed: &'a PlacedTask,
    /// Where it stands.
    pub state: &'a State,
    /// Its attempts, the earliest first.
    pub attempts: &'a [AttemptRecord],
}

impl Scheduler {
    /// Returns how the run ended, `None` while it goes on.
    pub const fn ended(&self) -> Option<RunStatus> {
        match self.life {
            Life::New | Life::Running => None,
            Life::Ended(status) => Some(status),
        }
    }

    /// Returns the next moment at which something happens by itself and `Tick` is wanted.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.stop_reason.is_some() {
            return None;
        }
        let paused = self.paused.first().map(|&(until, _)| until);
        let cooling = self.cooldowns.values().map(|cooldown| cooldown.until).min();
        paused
            .into_iter()
            .chain(cooling)
            .chain(self.limits.deadline)
            .min()
    }

    /// Returns every task as it stands, in the order of the plan.
    pub fn tasks(&self) -> impl Iterator<Item = TaskView<'_>> {
        (self.indices()).map(|rank| self.view(rank))
    }

    /// Returns the task of that id as it stands.
    pub fn task(&self, id: &TaskId) -> Option<TaskView<'_>> {
        self.ranks.get(id).map(|&rank| self.view(rank))
    }

    fn view(&self, rank: TaskIndex) -> TaskView<'_> {
        TaskView {
            placed: &self.plan.tasks[rank],
            state: &self.states[rank],
            attempts: &self.attempts[rank],
        }
    }

    /// Returns the plan.
    pub const fn plan(&self) -> &WavePlan {
        &self.plan
    }

    /// Returns the limits in force.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Tells whether nothing is started until somebody lets the run go on.
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns the tokens that ended attempts reported, read and written together.
    pub const fn tokens(&self) -> u64 {
        self.spent.tokens
    }

    /// Returns the cost that ended attempts reported, in US dollars.
    pub const fn cost_usd(&self) -> f64 {
        self.spent.cost_usd
    }

    /// Returns how many attempts hold a slot.
    pub const fn slots_in_use(&self) -> u32 {
        self.slots_in_use
    }

    /// Returns why the run starts nothing more.
    pub const fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason
    }

    /// Returns what stood in the way when the run was stopped by its surroundings.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble
            .as_deref()
            .filter(|_| self.stop_reason == Some(StopReason::Surroundings))
    }
}
