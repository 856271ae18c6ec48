//! The live screen of a run: what goes on, what waits and for what, how far each wave is, how long it may still take.
//!
//! What is to be seen is taken from the scheduler at one moment, `layout` turns it into lines, `live` draws them. Only
//! `live` knows a terminal; indicatif lives there.

pub(crate) mod layout;
mod live;
pub(crate) mod text;

use itertools::Itertools as _;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{
    AttemptRecord, Dispatch, Failure, Phase, Remaining, Scheduler, State, StopReason, TaskId,
    TaskRow, TaskView, Timestamp, Tokens, task_rows,
};

pub(crate) use layout::Look;
pub(crate) use live::{Live, Screen};
pub(crate) use text::{Charset, clock};

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

/// What waits, by what it waits for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// Until when, and the failure after which they wait.
    pub(crate) cooldowns: BTreeMap<(Timestamp, Option<Failure>), Names>,
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

impl WaveRow {
    fn count(&mut self, view: &TaskView<'_>) {
        self.tasks += 1;
        self.settled += usize::from(view.state.is_settled());
        self.lost += usize::from(is_lost(view));
        self.is_open |= !view.attempts.is_empty();
    }
}

/// Sums over the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) tasks: usize,
    pub(crate) settled: usize,
    /// Attempts that have an agent, or are about to.
    pub(crate) running: usize,
    /// Attempts whose agent is gone and whose work is tested, or waits for that.
    pub(crate) tested: usize,
    pub(crate) failed: usize,
    pub(crate) blocked: usize,
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
    pub(crate) remaining: Option<Remaining>,
    pub(crate) stopping: Option<StopReason>,
    pub(crate) is_paused: bool,
    /// How much finished work waits for its proof or to land, where nothing is started because of that.
    pub(crate) landing_behind: Option<u32>,
}

impl Totals {
    fn of(scheduler: &Scheduler, remaining: Option<Remaining>) -> Self {
        Self {
            remaining,
            stopping: scheduler.stop_reason(),
            is_paused: scheduler.is_paused(),
            landing_behind: scheduler.landing_behind(),
            cost_usd: scheduler.cost_usd(),
            ..Self::default()
        }
    }

    fn count(&mut self, row: &TaskRow<&TaskView<'_>>) {
        self.tasks += 1;
        self.settled += usize::from(row.is_settled());
        self.failed += usize::from(row.is_failed());
        self.blocked += usize::from(row.is_blocked());
    }
}

const fn is_lost(view: &TaskView<'_>) -> bool {
    matches!(view.state, State::Failed { .. } | State::Blocked { .. })
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
            totals: Totals::of(scheduler, remaining),
        };
        let views = scheduler.tasks().collect_vec();
        for view in &views {
            board.count(view);
        }
        for row in task_rows(&views) {
            board.totals.count(&row);
        }
        let cooling: BTreeSet<TaskId> = scheduler.cooling_tasks().into_iter().collect();
        let limit = scheduler
            .cooldowns()
            .map(|(_, cooldown)| cooldown.until)
            .min();
        for view in scheduler.tasks() {
            let id = &view.placed.task.id;
            match view.state {
                State::Landing { .. } => {}
                state if state.has_worktree() => board.push_row(&view, scheduler, said.get(id)),
                State::Ready => match limit.filter(|_| cooling.contains(id)) {
                    Some(until) => board.push_cooldown(&view, until, Some(Failure::RateLimited)),
                    None => board.push_ready(&view, scheduler),
                },
                _ => board.push_waiting(&view, scheduler),
            }
        }
        board.push_landing(scheduler);
        board.rows.sort_by_key(|row| row.since);
        let live = board.rows.iter().filter_map(|row| row.tokens);
        board.totals.tokens = scheduler.tokens() + live.sum::<u64>();
        board
    }

    fn count(&mut self, view: &TaskView<'_>) {
        let is_tested = view.state.is_being_proven();
        self.totals.tested += usize::from(is_tested);
        self.totals.running += usize::from(view.state.has_worktree() && !is_tested);
        // Waves are counted from 1 without gaps.
        let position = view.placed.wave.saturating_sub(1) as usize;
        while self.waves.len() <= position {
            let number = self.waves.last().map_or(0, |wave| wave.number) + 1;
            self.waves.push(WaveRow {
                number,
                ..WaveRow::default()
            });
        }
        self.waves[position].count(view);
    }

    fn push_waiting(&mut self, view: &TaskView<'_>, scheduler: &Scheduler) {
        match view.state {
            State::Paused { until } => {
                let why = view.attempts.last().and_then(AttemptRecord::failure);
                self.push_cooldown(view, *until, why);
            }
            State::Waiting { .. } if !is_behind_its_red(view, scheduler) => {
                let waiting = &mut self.waiting.dependencies;
                waiting.push(|| with_needs(view, scheduler));
            }
            _ => {}
        }
    }

    /// What was done first lands first.
    fn push_landing(&mut self, scheduler: &Scheduler) {
        let is_landing = |view: &TaskView<'_>| matches!(view.state, State::Landing { .. });
        let landing = scheduler.tasks().filter(is_landing);
        for view in landing.sorted_by_key(worked_until) {
            let name = || view.placed.task.shown_id().to_string();
            self.waiting.landing.push(name);
        }
    }

    fn push_row(&mut self, view: &TaskView<'_>, scheduler: &Scheduler, said: Option<&Said>) {
        if self.rows.len() == MOST_ROWS {
            return;
        }
        let task = &view.placed.task;
        let last = view.attempts.last();
        let tokens = said.and_then(|said| said.tokens);
        self.rows.push(Row {
            task: task.shown_id().to_string(),
            phase: task.phase,
            attempt: view.attempts.len(),
            attempts: scheduler.limits().retries + 1,
            since: last.map_or(Timestamp(0), |attempt| attempt.started_at),
            step: step(view.state),
            tokens: tokens.map(|tokens| tokens.input + tokens.output),
            text: said.map_or(&*task.title, |said| &said.line).to_owned(),
        });
    }

    fn push_cooldown(&mut self, view: &TaskView<'_>, until: Timestamp, why: Option<Failure>) {
        self.waiting
            .cooldowns
            .entry((until, why))
            .or_default()
            .push(|| view.placed.task.shown_id().to_string());
    }

    fn push_ready(&mut self, view: &TaskView<'_>, scheduler: &Scheduler) {
        let is_behind =
            |wave: &WaveRow| wave.number < view.placed.wave && wave.settled < wave.tasks;
        let has_barrier = scheduler.limits().dispatch == Dispatch::Barrier;
        let waiting = if has_barrier && self.waves.iter().any(is_behind) {
            &mut self.waiting.wave
        } else {
            &mut self.waiting.slot
        };
        waiting.push(|| view.placed.task.shown_id().to_string());
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

/// Whether a GREEN waits for nothing that is seen elsewhere: its RED waits itself, or is under way.
fn is_behind_its_red(view: &TaskView<'_>, scheduler: &Scheduler) -> bool {
    let task = &view.placed.task;
    let red = task.pair.as_ref().filter(|_| task.phase == Phase::Green);
    red.and_then(|red| scheduler.task(red))
        .is_some_and(|red| !red.state.is_settled())
}

/// The task, and those that it needs and that are not there yet.
fn with_needs(view: &TaskView<'_>, scheduler: &Scheduler) -> String {
    let is_open = |view: &TaskView<'_>| !matches!(view.state, State::Landed { .. });
    let own = view.placed.task.shown_id();
    let needs = view.placed.task.dependencies.iter();
    let open = needs.filter_map(|id| scheduler.task(id)).filter(is_open);
    let names = open.map(|view| view.placed.task.shown_id());
    format!(
        "{own} on {}",
        names.filter(|id| *id != own).unique().join("+")
    )
}
