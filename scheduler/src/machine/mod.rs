//! The run's state machine: an input comes in, effects go out.
//!
//! Does not know files, processes, git or the clock. The journal of inputs and this machine are all that resuming,
//! replaying and a bug report need.

mod agents;
mod answers;
mod attempt_record;
mod breaker;
mod choosing;
mod commits;
mod conflicts;
mod dispatch;
mod landing;
mod redoing;
mod retrying;
mod settle;
mod slots;
mod state;
mod steering;
mod stopping;
mod task_index;
#[cfg(test)]
mod tests;
mod trials;

pub use agents::Cooldown;
pub use attempt_record::{
    AttemptEnd, AttemptFailure, AttemptRecord, Conflicted, Place, Refactored,
};
pub use state::{State, TaskView};

use crate::budget::Spent;
use crate::{
    AccountName, AttemptNumber, Dependants, Effect, Event, Input, Landing, Limits, Phase,
    PlannedTask, RunStatus, Status, StopMode, StopReason, TaskId, Timestamp, WavePlan,
};
use breaker::Streak;
use landing::LandingQueue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stopping::PendingStop;
use task_index::TaskIndex;

/// An input that can't come where the run stands: a broken invariant of the caller, or a damaged journal.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what} can't come while {stands}")]
pub struct IllegalInput {
    /// What came.
    pub what: String,
    /// Where the run or the task stands.
    pub stands: String,
}

/// Whether the run goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Life {
    /// `Begin` is waited for.
    New,
    /// Inputs are handled.
    Running,
    /// Only `Resumed` can come.
    Ended(RunStatus),
}

/// The state of one run.
#[derive(Clone, Debug)]
pub struct Scheduler {
    plan: Arc<WavePlan>,
    limits: Limits,
    /// Rank by id.
    ranks: BTreeMap<TaskId, TaskIndex>,
    dependencies: Vec<Vec<TaskIndex>>,
    dependants: Vec<Vec<TaskIndex>>,
    states: Vec<State>,
    attempts: Vec<Vec<AttemptRecord>>,
    /// How many attempts at each task were made when a person opened it again the last time.
    forgiven: Vec<usize>,
    /// The place of each task among ready ones; planned tasks have odd numbers, so that others can join between.
    order: Vec<usize>,
    /// Ready tasks by (wave under a barrier, else 0; order; rank).
    ready: BTreeSet<(u32, usize, TaskIndex)>,
    /// Paused tasks by the moment that they wait for.
    paused: BTreeSet<(Timestamp, TaskIndex)>,
    /// Proven work that is to land.
    landing: LandingQueue,
    /// Whether so much waits to land that nothing is started.
    is_landing_behind: bool,
    slots_in_use: u32,
    /// Attempts whose agent is gone and whose work is no commit yet.
    being_proven: u32,
    under_way: choosing::WorkUnderWay,
    unsettled: usize,
    unsettled_by_wave: Vec<usize>,
    opened_waves: BTreeSet<u32>,
    /// What was last written into the backlog, by backlog id.
    written: BTreeMap<TaskId, Status>,
    spent: Spent,
    /// The limits of services that stand now, by account.
    cooldowns: BTreeMap<AccountName, Cooldown>,
    /// How often in a row an account ran into one.
    refusals_in_a_row: BTreeMap<AccountName, u32>,
    /// Accounts whose credentials were refused.
    refused: BTreeSet<AccountName>,
    /// What one task's agent alone has said of its account.
    trials: BTreeMap<AccountName, trials::Trial>,
    /// Tasks that have conflicted with what had landed.
    quarrelsome: BTreeSet<TaskIndex>,
    /// Tasks that people were told have spent their budgets.
    told_over_budget: BTreeSet<TaskIndex>,
    life: Life,
    /// Whether nothing is started until somebody lets the run go on.
    is_paused: bool,
    /// Tasks under way that somebody stopped, skipped or wants tried again.
    pending_stops: BTreeMap<TaskIndex, PendingStop>,
    stop_order: Option<StopMode>,
    /// Until when proven work begins to land all the same.
    lands_until: Option<Timestamp>,
    stop_reason: Option<StopReason>,
    /// Tasks whose step can't be done now for reasons outside of all tasks; they stay where they stand.
    parked: BTreeSet<TaskIndex>,
    /// What stood in the way of the first of them.
    trouble: Option<String>,
    /// Attempts in a row, the last ones, that ended the same way.
    streak: Option<Streak>,
    /// What they had in common, when nothing is started because of that.
    broken_by: Option<String>,
    /// The moment of the last input.
    now: Timestamp,
    /// When no process carried the run out: from its last input to when it was taken up.
    pauses: Vec<(Timestamp, Timestamp)>,
    /// What the input under way asks for so far; empty between inputs.
    effects: Vec<Effect>,
}

impl Scheduler {
    /// Returns the machine of a run that has not begun.
    pub fn new(plan: impl Into<Arc<WavePlan>>, limits: Limits) -> Self {
        let plan = plan.into();
        let count = plan.tasks.len();
        let ids = plan.tasks.iter().map(|placed| placed.task.id.clone());
        let mut scheduler = Self {
            limits,
            ranks: ids.zip((0..).map(TaskIndex)).collect(),
            states: Vec::with_capacity(count),
            dependencies: Vec::with_capacity(count),
            dependants: vec![Vec::new(); count],
            attempts: vec![Vec::new(); count],
            forgiven: vec![0; count],
            order: (0..count).map(|rank| 2 * rank + 1).collect(),
            ready: BTreeSet::new(),
            paused: BTreeSet::new(),
            landing: LandingQueue::new(),
            is_landing_behind: false,
            slots_in_use: 0,
            being_proven: 0,
            under_way: choosing::WorkUnderWay::default(),
            unsettled: 0,
            unsettled_by_wave: vec![0],
            opened_waves: BTreeSet::new(),
            written: BTreeMap::new(),
            spent: Spent::default(),
            cooldowns: BTreeMap::new(),
            refusals_in_a_row: BTreeMap::new(),
            refused: BTreeSet::new(),
            trials: BTreeMap::new(),
            quarrelsome: BTreeSet::new(),
            told_over_budget: BTreeSet::new(),
            life: Life::New,
            is_paused: false,
            pending_stops: BTreeMap::new(),
            stop_order: None,
            lands_until: None,
            stop_reason: None,
            parked: BTreeSet::new(),
            trouble: None,
            streak: None,
            broken_by: None,
            now: Timestamp::default(),
            pauses: Vec::new(),
            effects: Vec::new(),
            plan,
        };
        for rank in (0..count).map(TaskIndex) {
            scheduler.count_in(rank);
        }
        scheduler
    }

    /// Takes the next task of the plan into the graph, and counts it.
    fn count_in(&mut self, rank: TaskIndex) {
        let dependencies = self.planned(rank).dependencies.iter();
        let known = dependencies.filter_map(|id| self.ranks.get(id).copied());
        let before: Vec<TaskIndex> = known.collect();
        for &before in &before {
            self.dependants[before].push(rank);
        }
        self.states.push(State::Waiting {
            unmet: count_u32(before.len()),
        });
        self.dependencies.push(before);
        let wave = self.wave(rank) as usize;
        let waves = self.unsettled_by_wave.len().max(wave + 1);
        self.unsettled_by_wave.resize(waves, 0);
        self.unsettled_by_wave[wave] += 1;
        self.unsettled += 1;
    }

    /// Takes one input and returns what is to be done, in order.
    ///
    /// # Errors
    /// The input can't come where the run stands; nothing has changed then.
    pub fn handle(&mut self, now: Timestamp, input: Input) -> Result<Vec<Effect>, IllegalInput> {
        let before = std::mem::replace(&mut self.now, now);
        let taken = self.take(input, before);
        let effects = std::mem::take(&mut self.effects);
        taken.map(|()| effects)
    }

    fn take(&mut self, input: Input, before: Timestamp) -> Result<(), IllegalInput> {
        match (self.life, input) {
            (Life::New, Input::Begin) => self.begin(),
            // The process was gone before its first input was kept.
            (Life::New, Input::Resumed(limits)) => {
                self.limits = limits;
                self.begin();
            }
            (
                Life::Running,
                Input::Answer {
                    task,
                    attempt,
                    answer,
                },
            ) => self.answer(&task, attempt, answer)?,
            (Life::Running, Input::Tick) => {}
            (Life::Running, Input::Foreseen(foreseen)) => self.foresee(foreseen),
            (Life::Running, Input::Stop(order)) => self.stop(order),
            (Life::Running, Input::Request(request)) => {
                if let Some(refusal) = self.refusal(&request) {
                    return Err(IllegalInput {
                        what: format!("`{request:?}`"),
                        stands: refusal.to_string(),
                    });
                }
                self.request(request);
            }
            (Life::Running | Life::Ended(_), Input::Resumed(limits)) => self.resume(limits, before),
            // It came in one batch with the end: whoever takes the run up asks for every step again. Journals of
            // earlier versions have such inputs.
            (
                Life::Ended(_),
                Input::Answer { .. } | Input::Tick | Input::Foreseen(_) | Input::Stop(_),
            ) => return Ok(()),
            (life, input) => {
                return Err(IllegalInput {
                    what: format!("`{input:?}`"),
                    stands: format!("the run is {life:?}"),
                });
            }
        }
        self.advance();
        Ok(())
    }

    /// Returns all tasks in the order of the plan.
    fn indices(&self) -> impl Iterator<Item = TaskIndex> + use<> {
        (0..self.states.len()).map(TaskIndex)
    }

    fn begin(&mut self) {
        self.life = Life::Running;
        self.tell(Event::RunStarted {
            tasks: self.plan.tasks.len(),
            waves: count_u32(self.unsettled_by_wave.len() - 1),
            max_parallel: self.limits.slots.get(),
        });
        for rank in self.indices() {
            if self.states[rank] == (State::Waiting { unmet: 0 }) {
                self.make_ready(rank);
            }
        }
    }

    fn planned(&self, rank: TaskIndex) -> &PlannedTask {
        &self.plan.tasks[rank].task
    }

    fn wave(&self, rank: TaskIndex) -> u32 {
        self.plan.tasks[rank].wave
    }

    fn id(&self, rank: TaskIndex) -> TaskId {
        self.planned(rank).id.clone()
    }

    fn phase(&self, rank: TaskIndex) -> Phase {
        self.planned(rank).phase
    }

    fn pair(&self, rank: TaskIndex) -> Option<TaskIndex> {
        self.ranks.get(self.planned(rank).pair.as_ref()?).copied()
    }

    /// The RED of a GREEN.
    fn red_of(&self, rank: TaskIndex) -> Option<TaskIndex> {
        self.pair(rank).filter(|_| self.phase(rank) == Phase::Green)
    }

    /// The RED of a GREEN, while its work is held.
    fn held_red_of(&self, rank: TaskIndex) -> Option<TaskIndex> {
        let is_held = |red: &TaskIndex| matches!(self.states[*red], State::Held { .. });
        self.red_of(rank).filter(is_held)
    }

    /// The task and the attempt that a step is of.
    fn step(&self, rank: TaskIndex) -> (TaskId, AttemptNumber) {
        (self.id(rank), self.attempt_number(rank))
    }

    fn last(&self, rank: TaskIndex) -> Option<&AttemptRecord> {
        self.attempts[rank].last()
    }

    /// The attempts that were made since a person opened the task the last time.
    fn unforgiven(&self, rank: TaskIndex) -> &[AttemptRecord] {
        &self.attempts[rank][self.forgiven[rank]..]
    }

    fn attempt_number(&self, rank: TaskIndex) -> AttemptNumber {
        AttemptNumber(count_u32(self.attempts[rank].len()))
    }

    fn last_attempt(&mut self, rank: TaskIndex) -> &mut AttemptRecord {
        self.attempts[rank]
            .last_mut()
            .expect("a task under way has an attempt")
    }

    fn last_failure(&mut self, rank: TaskIndex) -> &mut AttemptFailure {
        match &mut self.last_attempt(rank).end {
            AttemptEnd::Failed(failed) => failed,
            AttemptEnd::UnderWay { .. } | AttemptEnd::Over { .. } => {
                unreachable!("the attempt has just failed")
            }
        }
    }

    /// The one place where a task's state is written; keeps every count that depends on it.
    fn set_state(&mut self, rank: TaskIndex, state: State) {
        let wave = self.wave(rank) as usize;
        let old = std::mem::replace(&mut self.states[rank], state);
        self.count_slot(rank, &old);
        let new = &self.states[rank];
        for unsettled in [&mut self.unsettled, &mut self.unsettled_by_wave[wave]] {
            *unsettled += usize::from(!new.is_settled());
            *unsettled -= usize::from(!old.is_settled());
        }
        let key = self.ready_key(rank);
        if *new == State::Ready {
            self.ready.insert(key);
        } else {
            self.ready.remove(&key);
        }
        if let State::Paused { until } = old {
            self.paused.remove(&(until, rank));
        }
        if let State::Paused { until } = self.states[rank] {
            self.paused.insert((until, rank));
        }
    }

    /// Whether `before` is far enough for `after` to start on top of it.
    fn satisfies(&self, before: TaskIndex, after: TaskIndex) -> bool {
        match &self.states[before] {
            State::Landed { .. } => true,
            State::Held { .. } => {
                self.limits.landing == Landing::Off || self.pair(after) == Some(before)
            }
            State::Waiting { .. }
            | State::Ready
            | State::Paused { .. }
            | State::Preparing
            | State::Running
            | State::Proving
            | State::Committing
            | State::Refactoring { .. }
            | State::Landing { .. }
            | State::Failed { .. }
            | State::Blocked { .. } => false,
            State::Skipped { dependants } => *dependants == Dependants::Released,
        }
    }
}

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
