//! What the screen shows of a run, taken from the scheduler at one moment. Knows no terminal and no clock.

use itertools::Itertools as _;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{
    AttemptRecord, Dispatch, Failure, Phase, Remaining, Scheduler, State, StopReason, TaskId,
    TaskView, Timestamp, Tokens,
};

/// So many names are kept of each list; no screen is wide enough for more.
const MOST_NAMES: usize = 40;
/// So many running attempts are kept; no screen is high enough for more.
const MOST_ROWS: usize = 200;

/// What an agent said last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) line: String,
    pub(crate) tokens: Option<Tokens>,
}

/// Everything that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    pub(crate) began: Timestamp,
    pub(crate) rows: Vec<Row>,
    pub(crate) waiting: Waiting,
    pub(crate) waves: Vec<WaveRow>,
    pub(crate) totals: Totals,
}

/// An attempt under way.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) task: String,
    pub(crate) phase: Phase,
    pub(crate) attempt: usize,
    pub(crate) attempts: u32,
    pub(crate) since: Timestamp,
    pub(crate) step: &'static str,
    pub(crate) tokens: Option<u64>,
    /// What the agent said last, or the title while it has said nothing.
    pub(crate) text: String,
}

/// Names of tasks: the first ones, and how many there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) first: Vec<String>,
    pub(crate) count: usize,
}

impl Names {
    fn push(&mut self, name: impl FnOnce() -> String) {
        if self.first.len() < MOST_NAMES {
            self.first.push(name());
        }
        self.count += 1;
    }
}

/// Tasks that wait for the same moment.
#[derive(Clone, Debug)]
pub(crate) struct Cooldown {
    pub(crate) until: Timestamp,
    /// The failure after which they wait.
    pub(crate) why: Option<Failure>,
    pub(crate) tasks: Names,
}

/// What waits, by what it waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// The earliest moment first.
    pub(crate) cooldowns: Vec<Cooldown>,
    pub(crate) slot: Names,
    /// With a barrier, the waves before.
    pub(crate) wave: Names,
    /// Each with what it needs.
    pub(crate) dependencies: Names,
    /// In the order in which they land.
    pub(crate) landing: Names,
}

/// How far a wave is.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaveRow {
    pub(crate) number: u32,
    pub(crate) settled: usize,
    pub(crate) lost: usize,
    pub(crate) tasks: usize,
    /// Whether anything of it has begun.
    pub(crate) is_open: bool,
}

/// Sums over the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) tasks: usize,
    pub(crate) settled: usize,
    pub(crate) running: usize,
    pub(crate) failed: usize,
    pub(crate) blocked: usize,
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
    pub(crate) remaining: Option<Remaining>,
    pub(crate) stopping: Option<StopReason>,
    pub(crate) is_paused: bool,
}

impl Board {
    /// Takes everything that is to be seen now.
    pub(crate) fn of(
        scheduler: &Scheduler,
        said: &BTreeMap<TaskId, Said>,
        remaining: Option<Remaining>,
        began: Timestamp,
    ) -> Self {
        let mut board = Self {
            began,
            rows: Vec::new(),
            waiting: Waiting::default(),
            waves: Vec::new(),
            totals: Totals {
                remaining,
                stopping: scheduler.stop_reason(),
                is_paused: scheduler.is_paused(),
                cost_usd: scheduler.cost_usd(),
                ..Totals::default()
            },
        };
        scheduler.tasks().for_each(|view| board.count(&view));
        let cooling: BTreeSet<TaskId> = scheduler.cooling_tasks().into_iter().collect();
        let limits = scheduler.cooldowns().map(|(_, cooldown)| cooldown.until);
        let limit = limits.min();
        for view in scheduler.tasks() {
            let id = &view.placed.task.id;
            match view.state {
                State::Landing { .. } => {}
                state if state.holds_slot() => board.push_row(&view, scheduler, said.get(id)),
                State::Paused { until } => {
                    let why = view.attempts.last().and_then(AttemptRecord::failure);
                    board.push_cooldown(id, *until, why);
                }
                State::Waiting { .. } => {
                    let waiting = &mut board.waiting.dependencies;
                    waiting.push(|| with_needs(&view, scheduler));
                }
                State::Ready => match limit.filter(|_| cooling.contains(id)) {
                    Some(until) => board.push_cooldown(id, until, Some(Failure::RateLimited)),
                    None => board.push_ready(&view, scheduler),
                },
                _ => {}
            }
        }
        // What was done first lands first.
        let is_landing = |view: &TaskView<'_>| matches!(view.state, State::Landing { .. });
        let landing = scheduler.tasks().filter(is_landing);
        for view in landing.sorted_by_key(worked_until) {
            let name = || view.placed.task.id.to_string();
            board.waiting.landing.push(name);
        }
        board.rows.sort_by_key(|row| row.since);
        board
            .waiting
            .cooldowns
            .sort_by_key(|cooldown| cooldown.until);
        let live = board.rows.iter().filter_map(|row| row.tokens);
        board.totals.tokens = scheduler.tokens() + live.sum::<u64>();
        board
    }

    fn count(&mut self, view: &TaskView<'_>) {
        // Waves are counted from 1 without gaps.
        let number = view.placed.wave;
        while self.waves.len() < number as usize {
            self.waves.push(WaveRow {
                number: self.waves.last().map_or(0, |wave| wave.number) + 1,
                ..WaveRow::default()
            });
        }
        let Some(wave) = self.waves.get_mut((number as usize).saturating_sub(1)) else {
            return;
        };
        let is_settled = usize::from(view.state.is_settled());
        let is_failed = usize::from(matches!(view.state, State::Failed { .. }));
        let is_blocked = usize::from(matches!(view.state, State::Blocked { .. }));
        wave.tasks += 1;
        wave.settled += is_settled;
        wave.lost += is_failed + is_blocked;
        wave.is_open |= !view.attempts.is_empty();
        self.totals.tasks += 1;
        self.totals.settled += is_settled;
        self.totals.running += usize::from(view.state.holds_slot());
        self.totals.failed += is_failed;
        self.totals.blocked += is_blocked;
    }

    fn push_row(&mut self, view: &TaskView<'_>, scheduler: &Scheduler, said: Option<&Said>) {
        if self.rows.len() == MOST_ROWS {
            return;
        }
        let task = &view.placed.task;
        let last = view.attempts.last();
        let tokens = said.and_then(|said| said.tokens);
        self.rows.push(Row {
            task: task.id.to_string(),
            phase: task.phase,
            attempt: view.attempts.len(),
            attempts: scheduler.limits().retries + 1,
            since: last.map_or(Timestamp(0), |attempt| attempt.started_at),
            step: step(view.state),
            tokens: tokens.map(|tokens| tokens.input + tokens.output),
            text: said.map_or(&task.title, |said| &said.line).clone(),
        });
    }

    fn push_cooldown(&mut self, task: &TaskId, until: Timestamp, why: Option<Failure>) {
        let cooldowns = &mut self.waiting.cooldowns;
        let is_same = |cooldown: &Cooldown| cooldown.until == until && cooldown.why == why;
        let place = cooldowns
            .iter()
            .position(is_same)
            .unwrap_or(cooldowns.len());
        if place == cooldowns.len() {
            let tasks = Names::default();
            cooldowns.push(Cooldown { until, why, tasks });
        }
        cooldowns[place].tasks.push(|| task.to_string());
    }

    fn push_ready(&mut self, view: &TaskView<'_>, scheduler: &Scheduler) {
        let name = || view.placed.task.id.to_string();
        let is_behind =
            |wave: &WaveRow| wave.number < view.placed.wave && wave.settled < wave.tasks;
        if scheduler.limits().dispatch == Dispatch::Barrier && self.waves.iter().any(is_behind) {
            self.waiting.wave.push(name);
        } else {
            self.waiting.slot.push(name);
        }
    }
}

const fn step(state: &State) -> &'static str {
    match state {
        State::Preparing => "prepare",
        State::Proving => "tests",
        State::Committing => "commit",
        State::Refactoring { .. } => "refactor",
        _ => "agent",
    }
}

/// When the agent of the last attempt was done: what was done first lands first.
fn worked_until(view: &TaskView<'_>) -> Option<Timestamp> {
    let of = |attempt: &AttemptRecord| attempt.report().map(|report| report.ended_at);
    view.attempts.last().and_then(of)
}

/// The task, and those that it needs and that are not there yet.
fn with_needs(view: &TaskView<'_>, scheduler: &Scheduler) -> String {
    let is_open = |id: &&TaskId| {
        scheduler
            .task(id)
            .is_some_and(|view| !matches!(view.state, State::Landed { .. }))
    };
    let task = &view.placed.task;
    let needs = task.dependencies.iter().filter(is_open).join("+");
    format!("{} on {needs}", task.id)
}
