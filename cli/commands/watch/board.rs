//! A run as rows by wave. Pure: where the scheduler stands in, what is shown out.

use crate::screen::clock;
use itertools::Itertools as _;
use tm_scheduler::{AttemptRecord, Phase, Scheduler, State, TaskId, TaskView, Timestamp};

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Board {
    /// The run.
    pub(super) run_id: String,
    /// How it stands, in one word.
    pub(super) status: String,
    /// When it began.
    began: Timestamp,
    /// When it ended, or was interrupted; `None` while it goes on.
    ended: Option<Timestamp>,
    /// Its waves, each with its tasks in the order in which they are taken.
    pub(super) waves: Vec<Wave>,
}

/// A wave.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wave {
    /// Counted from 1.
    number: u32,
    /// Its tasks.
    pub(super) rows: Vec<Row>,
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Its id within the run.
    pub(super) id: TaskId,
    /// One line.
    pub(super) title: String,
    /// Where it stands, in one word.
    pub(super) word: &'static str,
    /// How that is to be taken.
    pub(super) tone: Tone,
    /// What there is to say besides: the attempt, the failure, what blocks it.
    pub(super) note: String,
    /// Since when an attempt has been under way.
    pub(super) since: Option<Timestamp>,
    /// Whether an attempt is under way that would have to be stopped.
    pub(super) is_under_way: bool,
    /// Whether it has come to an end.
    is_settled: bool,
}

/// How a state is to be taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tone {
    /// Nothing happens yet, or any more.
    Quiet,
    /// Something waits.
    Waiting,
    /// Something happens.
    Active,
    /// It went well.
    Good,
    /// It did not.
    Bad,
}

/// Whether a process carries the run out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Link {
    /// It can be steered.
    Live,
    /// It can be looked at.
    #[default]
    Over,
}

impl Board {
    /// Puts a run into rows. `last_input_at` is when something happened last.
    pub(super) fn of(
        run_id: &str,
        began: Timestamp,
        last_input_at: Timestamp,
        scheduler: &Scheduler,
        link: Link,
    ) -> Self {
        let is_over = scheduler.ended().is_some() || link == Link::Over;
        let attempts = scheduler.limits().retries + 1;
        let views = scheduler.tasks().sorted_by_key(|view| view.placed.wave);
        let waves = views
            .chunk_by(|view| view.placed.wave)
            .into_iter()
            .map(|(number, views)| Wave {
                number,
                rows: views.map(|view| Row::of(&view, attempts)).collect(),
            })
            .collect();
        Self {
            run_id: run_id.to_owned(),
            status: status(scheduler, link).to_owned(),
            began,
            ended: is_over.then_some(last_input_at),
            waves,
        }
    }

    /// Returns all tasks.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.waves.iter().flat_map(|wave| &wave.rows)
    }

    /// Returns the task of that id.
    pub(super) fn row(&self, id: &TaskId) -> Option<&Row> {
        self.rows().find(|row| row.id == *id)
    }

    /// Returns in a line how far the run has come.
    pub(super) fn headline(&self, now: Timestamp) -> String {
        let count = |is: fn(&&Row) -> bool| self.rows().filter(is).count();
        let settled = count(|row| row.is_settled);
        let at_work = count(|row| row.is_under_way);
        let bad = match count(|row| row.tone == Tone::Bad) {
            0 => String::new(),
            bad => format!("  {bad} failed or blocked"),
        };
        let (status, all) = (&self.status, count(|_| true));
        let elapsed = clock(self.ended.unwrap_or(now).since(self.began));
        format!("{status}  {settled}/{all} settled  {at_work} at work{bad}  {elapsed}")
    }
}

impl Wave {
    /// Returns the heading.
    pub(super) fn heading(&self) -> String {
        let settled = self.rows.iter().filter(|row| row.is_settled).count();
        format!("wave {}  {settled}/{}", self.number, self.rows.len())
    }
}

impl Row {
    fn of(view: &TaskView<'_>, most: u32) -> Self {
        let is_under_way = view.state.holds_slot();
        let last = view.attempts.last().filter(|_| is_under_way);
        Self {
            id: view.placed.task.id.clone(),
            title: plain(&view.placed.task.title),
            word: word(view.state, view.placed.task.phase),
            tone: tone(view.state),
            note: note(view, most),
            since: last.map(|record| record.started_at),
            is_under_way,
            is_settled: view.state.is_settled(),
        }
    }
}

/// How a run stands, in one word.
fn status(scheduler: &Scheduler, link: Link) -> &'static str {
    match (scheduler.ended(), link) {
        (Some(status), _) => status.as_str(),
        (None, Link::Over) => "interrupted",
        (None, Link::Live) if scheduler.stop_reason().is_some() => "stopping",
        (None, Link::Live) if scheduler.is_paused() => "paused",
        (None, Link::Live) => "running",
    }
}

/// What there is to say of a task besides its state.
fn note(view: &TaskView<'_>, most: u32) -> String {
    let tries = match view.attempts.len() {
        0 | 1 => String::new(),
        attempts => format!("{attempts}/{most}"),
    };
    match view.state {
        State::Failed { failure } => failure.to_string(),
        State::Blocked { by } => format!("by {}", by.iter().join(", ")),
        State::Paused { .. } => match view.attempts.last().and_then(AttemptRecord::failure) {
            Some(failure) => format!("{tries} after {failure}").trim_start().to_owned(),
            None => tries,
        },
        _ => tries,
    }
}

fn word(state: &State, phase: Phase) -> &'static str {
    match (state, phase) {
        (State::Running, Phase::Red) => "red",
        (State::Running, Phase::Green) => "green",
        (state, _) => state.as_str(),
    }
}

const fn tone(state: &State) -> Tone {
    match state {
        State::Waiting { .. } | State::Skipped { .. } => Tone::Quiet,
        State::Ready | State::Paused { .. } => Tone::Waiting,
        State::Preparing
        | State::Running
        | State::Proving
        | State::Committing
        | State::Refactoring { .. }
        | State::Landing { .. } => Tone::Active,
        State::Held { .. } | State::Landed { .. } => Tone::Good,
        State::Failed { .. } | State::Blocked { .. } => Tone::Bad,
    }
}

/// Returns text without what a terminal would take for orders.
pub(super) fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}
