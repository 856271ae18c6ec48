//! The loop: one agent at a time, one iteration after the other, until there is nothing left to do.
//!
//! A pure machine, `handle(now, LoopInput) -> Vec<LoopEffect>`. Knows no prompt file, no process and no git: it is told
//! what an agent said and what changed, and decides whether that was progress, the end, or a failure.

mod judge;
mod marker;
mod record;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod simulation;
mod turn;

pub use marker::{Marker, find_marker};
pub use record::{
    BacklogView, IterationFailure, IterationRecord, IterationStatus, LoopStatus, StatusShift,
    WorkChanges,
};
use turn::State;

use crate::budget::Spent;
use crate::{AgentReport, IllegalInput, Timestamp};
use std::num::NonZeroU32;

/// What a loop works towards.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Goal {
    /// No task of the backlog is open; what an agent says of that is checked against the backlog.
    Backlog,
    /// The agent says that there is nothing left to do.
    Marker,
}

/// Whether the tests are run after each iteration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verification {
    /// They are, and must pass.
    Each,
    /// They are not.
    Off,
}

/// What a loop may use.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopLimits {
    /// Iterations that count.
    pub iterations: NonZeroU32,
    /// The number of the first; more than 1 where a loop was cut off before.
    pub first: u32,
    /// Milliseconds between iterations.
    pub sleep_ms: u64,
    /// Failures in a row after which one more ends the loop.
    pub retries: u32,
    /// When nothing more is started.
    pub deadline: Option<Timestamp>,
    /// Dollars after which nothing more is started.
    pub max_cost_usd: Option<f64>,
}

/// How the agent of an iteration ended, and what it left.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEnd {
    /// How it ended.
    pub report: AgentReport,
    /// What it said last; nothing else of its output counts as its word.
    pub final_message: String,
    /// What it was asked.
    pub prompt: String,
    /// What changed.
    pub work: WorkChanges,
}

/// One thing that happened.
#[expect(
    clippy::large_enum_variant,
    reason = "an input lives for a moment, and there is one at a time"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum LoopInput {
    /// The loop begins.
    Begin,
    /// The backlog was looked at.
    Looked(BacklogView),
    /// The backlog can't be read; holds why.
    Unreadable(String),
    /// The agent ended.
    AgentEnded(AgentEnd),
    /// The surroundings let no agent be started; holds why. Nobody tried, so no try is counted.
    InfrastructureFailed(String),
    /// The tests ran; an error holds what is wrong, in a few words.
    Verified(Result<(), String>),
    /// The pause is over.
    Woke,
    /// Somebody else spent so many dollars of the same budget.
    SpentElsewhere(f64),
    /// The service behind its agent refused somebody else until then.
    LimitedElsewhere(Timestamp),
    /// Somebody wants the loop to stop.
    Stop,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopEffect {
    /// Look at the backlog.
    LookAtBacklog,
    /// Run an agent with a fresh context.
    RunAgent {
        /// The number of the iteration.
        iteration: u32,
        /// The number of the try at it.
        attempt: u32,
    },
    /// Run the tests.
    Verify,
    /// Write down what the try came to.
    Record(Box<IterationRecord>),
    /// Wait.
    Sleep {
        /// Until when.
        until: Timestamp,
        /// The failure that is waited out, when it is one.
        waits_out: Option<IterationFailure>,
    },
    /// Stop the agent or the tests; they still answer.
    StopStep,
    /// It is over.
    End {
        /// How.
        status: LoopStatus,
        /// Why, in one line.
        reason: String,
    },
}

/// The loop itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    goal: Goal,
    verification: Verification,
    limits: LoopLimits,
    state: State,
    is_stopping: bool,
    number: u32,
    attempt: u32,
    used: u32,
    failures_in_a_row: u32,
    same_failure: Option<(IterationFailure, u32)>,
    spent: Spent,
    cost_elsewhere_usd: f64,
    limited_until: Option<Timestamp>,
    limited_elsewhere: Option<Timestamp>,
    /// Whether the tests failed when they ran last; nothing is complete then.
    is_unverified: bool,
    at_first: Option<BacklogView>,
    last: BacklogView,
    records: Vec<IterationRecord>,
    /// What the input under way asks for so far; empty between inputs.
    effects: Vec<LoopEffect>,
}

impl Iteration {
    /// Returns a loop that has not begun.
    pub fn new(goal: Goal, verification: Verification, limits: LoopLimits) -> Self {
        Self {
            number: limits.first,
            goal,
            verification,
            limits,
            state: State::New,
            is_stopping: false,
            attempt: 1,
            used: 0,
            failures_in_a_row: 0,
            same_failure: None,
            spent: Spent::default(),
            cost_elsewhere_usd: 0.0,
            limited_until: None,
            limited_elsewhere: None,
            is_unverified: false,
            at_first: None,
            last: BacklogView::default(),
            records: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Takes one input and returns what is to be done, in order.
    ///
    /// # Errors
    /// The input can't come where the loop stands; nothing has changed then.
    pub fn handle(
        &mut self,
        now: Timestamp,
        input: LoopInput,
    ) -> Result<Vec<LoopEffect>, IllegalInput> {
        let taken = self.take(now, input);
        let effects = std::mem::take(&mut self.effects);
        taken.map(|()| effects)
    }

    fn take(&mut self, now: Timestamp, input: LoopInput) -> Result<(), IllegalInput> {
        match (&self.state, input) {
            (State::New, LoopInput::Begin) | (State::Sleeping, LoopInput::Woke) => {
                self.look(State::LookingBefore);
            }
            (State::LookingBefore, LoopInput::Looked(view)) => self.start(now, view),
            (State::Running { .. }, LoopInput::AgentEnded(end)) => self.agent_ended(end),
            (State::Running { .. }, LoopInput::InfrastructureFailed(why)) => {
                self.end(LoopStatus::Surroundings, why);
            }
            (State::Verifying(_), LoopInput::Verified(result)) => self.verified(result),
            (State::LookingAfter(_), LoopInput::Looked(view)) => self.settle(now, Ok(view)),
            (State::LookingBefore, LoopInput::Unreadable(why)) => {
                self.end(LoopStatus::Error, why);
            }
            (State::LookingAfter(_), LoopInput::Unreadable(why)) => self.settle(now, Err(why)),
            (
                State::Ended(_),
                LoopInput::SpentElsewhere(_)
                | LoopInput::LimitedElsewhere(_)
                | LoopInput::Stop
                | LoopInput::Woke,
            ) => {}
            (_, LoopInput::SpentElsewhere(dollars)) => self.cost_elsewhere_usd = dollars,
            (_, LoopInput::LimitedElsewhere(until)) => self.limited_elsewhere = Some(until),
            (_, LoopInput::Stop) => self.stop(),
            (state, input) => {
                return Err(IllegalInput {
                    what: format!("`{input:?}`"),
                    stands: format!("the loop is {state:?}"),
                });
            }
        }
        Ok(())
    }

    /// Returns every try, oldest first.
    pub fn records(&self) -> &[IterationRecord] {
        &self.records
    }

    /// Returns how many iterations were begun.
    pub fn iterations(&self) -> u32 {
        let mut numbers: Vec<u32> = self.records.iter().map(|record| record.iteration).collect();
        numbers.dedup();
        u32::try_from(numbers.len()).unwrap_or(u32::MAX)
    }

    /// Returns the tasks that became done since the loop began and still are, subtasks left out.
    pub fn tasks_completed(&self) -> usize {
        let Some(at_first) = &self.at_first else {
            return 0;
        };
        let mut shifts = at_first.shifts(&self.last);
        shifts.retain(|shift| shift.is_completion() && !self.is_subtask(shift));
        shifts.len()
    }

    /// A subtask is called after its parent, which is in the backlog too.
    fn is_subtask(&self, shift: &StatusShift) -> bool {
        let parent = shift.task.as_str().rsplit_once('.');
        parent.is_some_and(|(parent, _)| self.last.statuses.contains_key(&parent.into()))
    }

    /// Returns how many tasks are still open, as last seen.
    pub fn tasks_open(&self) -> usize {
        self.last.open.len()
    }

    /// Returns the dollars that its agents reported.
    pub const fn cost_usd(&self) -> f64 {
        self.spent.cost_usd
    }

    /// Returns until when the service behind its agent refused it, if it did when it was asked last.
    pub const fn limited_until(&self) -> Option<Timestamp> {
        self.limited_until
    }

    /// Returns how it ended, once it has.
    pub const fn ended(&self) -> Option<LoopStatus> {
        match self.state {
            State::Ended(status) => Some(status),
            _ => None,
        }
    }
}
