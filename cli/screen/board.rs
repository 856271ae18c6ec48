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
                ..Totals::default()
            },
        };
        let cooling: BTreeSet<TaskId> = scheduler.cooling_tasks().into_iter().collect();
        let lowest = scheduler
            .cooldowns()
            .map(|(_, cooldown)| cooldown.until)
            .min();
        let mut landing: Vec<(Option<Timestamp>, TaskView<'_>)> = Vec::new();
        scheduler.tasks().for_each(|view| board.count(&view));
        for view in scheduler.tasks() {
            match view.state {
                State::Landing { .. } => landing.push((worked_until(&view), view)),
                state if state.holds_slot() => board.push_row(&view, scheduler, said),
                State::Paused { until } => {
                    let why = view.attempts.last().and_then(AttemptRecord::failure);
                    board.push_cooldown(&view, *until, why);
                }
                State::Waiting { .. } => board
                    .waiting
                    .dependencies
                    .push(|| with_needs(&view, scheduler)),
                State::Ready
                    if let Some(until) =
                        lowest.filter(|_| cooling.contains(&view.placed.task.id)) =>
                {
                    board.push_cooldown(&view, until, Some(Failure::RateLimited));
                }
                State::Ready => board.push_ready(&view, scheduler),
                _ => {}
            }
        }
        landing.sort_by_key(|(at, _)| *at);
        for (_, view) in &landing {
            board
                .waiting
                .landing
                .push(|| view.placed.task.id.to_string());
        }
        board.rows.sort_by_key(|row| row.since);
        board
            .waiting
            .cooldowns
            .sort_by_key(|cooldown| cooldown.until);
        let live = board.rows.iter().filter_map(|row| row.tokens).sum::<u64>();
        board.totals.tokens = scheduler.tokens() + live;
        board.totals.cost_usd = scheduler.cost_usd();
        board
    }

    fn count(&mut self, view: &TaskView<'_>) {
        // Waves are counted from 1 without gaps.
        let number = view.placed.wave as usize;
        while self.waves.len() < number {
            self.waves.push(WaveRow {
                number: count_u32(self.waves.len() + 1),
                ..WaveRow::default()
            });
        }
        let Some(wave) = self.waves.get_mut(number.saturating_sub(1)) else {
            return;
        };
        let lost = matches!(view.state, State::Failed { .. } | State::Blocked { .. });
        wave.tasks += 1;
        wave.settled += usize::from(view.state.is_settled());
        wave.lost += usize::from(lost);
        wave.is_open |= !view.attempts.is_empty();
        self.totals.tasks += 1;
        self.totals.settled += usize::from(view.state.is_settled());
        self.totals.running += usize::from(view.state.holds_slot());
        self.totals.failed += usize::from(matches!(view.state, State::Failed { .. }));
        self.totals.blocked += usize::from(matches!(view.state, State::Blocked { .. }));
    }

    fn push_row(
        &mut self,
        view: &TaskView<'_>,
        scheduler: &Scheduler,
        said: &BTreeMap<TaskId, Said>,
    ) {
        if self.rows.len() == MOST_ROWS {
            return;
        }
        let task = &view.placed.task;
        let said = said.get(&task.id);
        self.rows.push(Row {
            task: task.id.to_string(),
            phase: task.phase,
            attempt: view.attempts.len(),
            attempts: scheduler.limits().retries + 1,
            since: view
                .attempts
                .last()
                .map_or(Timestamp(0), |attempt| attempt.started_at),
            step: step(view.state),
            tokens: said
                .and_then(|said| said.tokens)
                .map(|tokens| tokens.input + tokens.output),
            text: said.map_or_else(|| task.title.clone(), |said| said.line.clone()),
        });
    }

    fn push_cooldown(&mut self, view: &TaskView<'_>, until: Timestamp, why: Option<Failure>) {
        let name = || view.placed.task.id.to_string();
        if let Some(cooldown) = self
            .waiting
            .cooldowns
            .iter_mut()
            .find(|cooldown| cooldown.until == until && cooldown.why == why)
        {
            cooldown.tasks.push(name);
            return;
        }
        let mut tasks = Names::default();
        tasks.push(name);
        self.waiting.cooldowns.push(Cooldown { until, why, tasks });
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

fn count_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
