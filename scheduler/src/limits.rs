//! The limits of a run, as one value.

use crate::{AgentPool, PlannedTask, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

words! {
    /// When a task may start.
    #[derive(Default, JsonSchema)]
    pub enum Dispatch {
        /// As soon as everything it depends on has landed and a slot is free.
        #[default]
        Rolling = "rolling",
        /// When every task of the waves before has settled.
        Barrier = "barrier",
    }
}

words! {
    /// Whether proven work is merged into the integration branch.
    #[derive(Default, JsonSchema)]
    pub enum Landing {
        /// Each task as soon as it is proven.
        #[default]
        Each = "each",
        /// None: every task stays on its own branch, and dependants start from the branches of what they depend on.
        Off = "off",
    }
}

words! {
    /// Whether a further attempt after each GREEN may improve its code.
    #[derive(Default)]
    pub enum Refactor {
        /// No: GREEN's work lands as it is.
        #[default]
        Off = "off",
        /// Yes: a commit of its own, which is dropped when tests change or break.
        On = "on",
    }
}

words! {
    /// Whether tasks that will touch the same files work side by side.
    #[derive(Default, JsonSchema)]
    pub enum Overlap {
        /// They may: conflicts are dealt with as they come.
        #[default]
        Allow = "allow",
        /// Not where other work is ready.
        Avoid = "avoid",
    }
}

words! {
    /// How the next of the ready tasks is chosen.
    #[derive(Default)]
    pub enum Choice {
        /// It is the first in their order, as in journals of before.
        #[default]
        FirstInOrder = "first-in-order",
        /// A slot waits a moment for a more urgent task that is about to be ready, and of tasks that are about as urgent one
        /// that shares no file with work under way goes first.
        LookingAround = "looking-around",
    }
}

words! {
    /// The rules by which a run takes its inputs. A journal is replayed by those under which it was written, up to the moment
    /// at which another process takes the run up.
    #[derive(Default)]
    pub enum Edition {
        /// Those of journals before version 3: attempts that are not charged have no bound, a declared limit holds however long
        /// it is, no RED is questioned, and a single slot is filled again while work waits to land.
        #[default]
        First = "first",
        /// Those of journals of version 3: a conflict is charged, and throws the work away.
        Second = "second",
        /// Those of journals of version 4: an attempt holds its slot until its work is proven and committed.
        Third = "third",
        /// The first ones of version 5: of attempts that are lost at the same time the breaker counts each.
        Fourth = "fourth",
        /// The ones of version 5 after them: what one agent says of its account is believed at once.
        Fifth = "fifth",
        /// Those of this version.
        Sixth = "sixth",
    }
}

impl Edition {
    /// The edition of runs that begin or are taken up now.
    pub const NEWEST: Self = Self::Sixth;
}

/// When a run takes it that something is wrong with more than one task: so many ends in a row that are the same, with nothing
/// passed between. Without any number it never does.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    /// Tasks that are given up.
    pub tasks: Option<NonZeroU32>,
    /// Attempts that fail.
    pub attempts: Option<NonZeroU32>,
    /// What follows.
    pub then: AtBreaker,
}

words! {
    /// What follows when too much in a row has ended the same way.
    #[derive(Default)]
    pub enum AtBreaker {
        /// The run is paused: somebody is there who can let it go on.
        #[default]
        Pause = "pause",
        /// The run ends once what is under way has.
        Stop = "stop",
    }
}

/// What a run may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Agents at the same time.
    pub slots: NonZeroU32,
    /// So much work is tested at the same time.
    #[serde(default = "default_tests_at_once")]
    pub tests_at_once: NonZeroU32,
    /// Further attempts after the first that fails.
    pub retries: u32,
    /// When tasks may start.
    pub dispatch: Dispatch,
    /// Whether work lands.
    pub landing: Landing,
    /// Whether a further attempt after each GREEN may improve its code.
    #[serde(default)]
    pub refactor: Refactor,
    /// The limit of one attempt in milliseconds that the user set.
    pub attempt_timeout_ms: Option<u64>,
    /// When the run starts nothing more.
    pub deadline: Option<Timestamp>,
    /// Dollars after which the run starts nothing more.
    pub max_cost_usd: Option<f64>,
    /// Tokens, read and written together, after which the run starts nothing more.
    pub max_tokens: Option<u64>,
    /// Dollars after which no further attempt at the same task is started.
    pub max_cost_usd_per_task: Option<f64>,
    /// Tokens, read and written together, after which no further attempt at the same task is started.
    pub max_tokens_per_task: Option<u64>,
    /// Who works.
    #[serde(default)]
    pub agents: AgentPool,
    /// So many conflicts of a task are not charged.
    #[serde(default = "default_conflict_rounds")]
    pub conflict_rounds: u32,
    /// Whether tasks that will touch the same files work side by side.
    #[serde(default)]
    pub overlap: Overlap,
    /// The files that most work of before touched, in the history that the run starts from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hot_files: BTreeSet<String>,
    /// When the run takes it that something is wrong with more than one task.
    #[serde(default)]
    pub breaker: Breaker,
    /// So much work may wait for its proof or to land before nothing more is started; see `Limits::most_to_land`.
    #[serde(default)]
    pub most_to_land: Option<u32>,
    /// So much proven work is tested at once at the most, the one that lands among it, where there are as many places for
    /// tests; with 1 each waits for its turn.
    #[serde(default = "default_land_batch")]
    pub land_batch: NonZeroU32,
    /// So long after an order to stop gently proven work still begins to land, in milliseconds; all of it when `None`.
    #[serde(default)]
    pub grace_ms: Option<u64>,
    /// How the next of the ready tasks is chosen.
    #[serde(default)]
    pub choice: Choice,
    /// The rules.
    #[serde(default)]
    pub edition: Edition,
}

const fn default_tests_at_once() -> NonZeroU32 {
    NonZeroU32::MIN
}

const fn default_conflict_rounds() -> u32 {
    Limits::CONFLICT_ROUNDS
}

/// Runs of before tested one after the other.
const fn default_land_batch() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl Limits {
    /// The limit of one attempt in minutes when nothing says otherwise.
    pub const DEFAULT_TIMEOUT_MINUTES: u64 = 30;

    /// So many attempts at a task may fail without being charged: whatever answers come, no task is started more often than
    /// `retries + 1` times with a charge and so often without. Not counted are attempts that tm itself ended because a
    /// person said so: each order to stop or pause the run, and each request to retry, stop or skip a task, ends one at the
    /// most. A task that a person opens again after it was given up has so many again, and at least one charged attempt.
    pub const UNCHARGED_ATTEMPTS: u32 = 10;

    /// So many conflicts of a task are not charged when nothing says otherwise.
    pub const CONFLICT_ROUNDS: u32 = 3;

    /// Returns how much work may wait for its proof or to land: two rounds of all slots. What is started behind more than that begins from
    /// an ever older base, and its work conflicts with what lands before it.
    pub const fn most_to_land(slots: NonZeroU32) -> u32 {
        slots.get().saturating_mul(2)
    }

    /// Returns limits for so many slots, as much work tested at the same time, and nothing else out of the ordinary.
    pub fn with_slots(slots: NonZeroU32) -> Self {
        Self {
            slots,
            tests_at_once: slots,
            retries: 3,
            dispatch: Dispatch::Rolling,
            landing: Landing::Each,
            refactor: Refactor::Off,
            attempt_timeout_ms: None,
            deadline: None,
            max_cost_usd: None,
            max_tokens: None,
            max_cost_usd_per_task: None,
            max_tokens_per_task: None,
            agents: AgentPool::default(),
            conflict_rounds: Self::CONFLICT_ROUNDS,
            hot_files: BTreeSet::new(),
            overlap: Overlap::Allow,
            breaker: Breaker::default(),
            most_to_land: Some(Self::most_to_land(slots)),
            land_batch: NonZeroU32::MIN,
            grace_ms: None,
            choice: Choice::LookingAround,
            edition: Edition::NEWEST,
        }
    }

    /// Returns how much proven work is tested at once at the most, the one that lands among it.
    pub fn most_landing_tests(&self) -> u32 {
        self.land_batch.min(self.tests_at_once).get()
    }

    /// Returns the limit of one attempt at the task in milliseconds: the user's, else the backlog's, else by
    /// complexity.
    pub fn timeout_ms(&self, task: &PlannedTask) -> u64 {
        let by_size = || {
            task.complexity.map_or(
                Self::DEFAULT_TIMEOUT_MINUTES,
                crate::Complexity::timeout_minutes,
            )
        };
        self.attempt_timeout_ms.unwrap_or_else(|| {
            task.timeout_minutes
                .unwrap_or_else(by_size)
                .saturating_mul(60_000)
        })
    }
}
