//! A run as rows by wave. Pure: where the scheduler stands in, what is shown out.

use crate::screen::clock;
use itertools::Itertools as _;
use tm_scheduler::{
    AttemptRecord, Phase, RunStatus, Scheduler, State, TaskId, TaskView, Timestamp,
};

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Board {
    /// The run.
    pub(crate) run_id: String,
    /// How it stands, in one word.
    pub(crate) status: String,
    /// When it began.
    pub(crate) began: Timestamp,
    /// When it ended, or was interrupted; `None` while it goes on.
    pub(crate) ended: Option<Timestamp>,
    /// Its waves, each with its tasks in the order in which they are taken.
    pub(crate) waves: Vec<Wave>,
}

/// A wave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wave {
    /// Counted from 1.
    pub(crate) number: u32,
    /// Its tasks.
    pub(crate) rows: Vec<Row>,
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Its id within the run.
    pub(crate) id: TaskId,
    /// One line.
    pub(crate) title: String,
    /// Where it stands, in one word.
    pub(crate) word: &'static str,
    /// How that is to be taken.
    pub(crate) tone: Tone,
    /// What there is to say besides: the attempt, the failure, what blocks it.
    pub(crate) note: String,
    /// Since when an attempt has been under way.
    pub(crate) since: Option<Timestamp>,
    /// Whether an attempt is under way that would have to be stopped.
    pub(crate) is_under_way: bool,
    /// Whether it has come to an end.
    pub(crate) is_settled: bool,
}

/// How a state is to be taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tone {
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
pub(crate) enum Link {
    /// It can be steered.
    Live,
    /// It can be looked at.
    #[default]
    Over,
}

impl Board {
    /// Puts a run into rows. `last_input_at` is when something happened last.
    pub(crate) fn of(
        run_id: &str,
        began: Timestamp,
        last_input_at: Timestamp,
        scheduler: &Scheduler,
        link: Link,
    ) -> Self {
        let status = match (
            scheduler.ended(),
            link,
            scheduler.stop_reason(),
            scheduler.is_paused(),
        ) {
            (Some(status), _, _, _) => RunStatus::as_str(status),
            (None, Link::Over, _, _) => "interrupted",
            (None, Link::Live, Some(_), _) => "stopping",
            (None, Link::Live, None, true) => "paused",
            (None, Link::Live, None, false) => "running",
        };
        let is_over = scheduler.ended().is_some() || link == Link::Over;
        let attempts = scheduler.limits().retries + 1;
        let views = scheduler.tasks().sorted_by_key(|view| view.placed.wave);
        let waves = views.chunk_by(|view| view.placed.wave);
        let waves = waves.into_iter().map(|(number, views)| Wave {
            number,
            rows: views.map(|view| Row::of(&view, attempts)).collect(),
        });
        let waves = waves.collect();
        Self {
            run_id: run_id.to_owned(),
            status: status.to_owned(),
            began,
            ended: is_over.then_some(last_input_at),
            waves,
        }
    }

    /// Returns all tasks.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.waves.iter().flat_map(|wave| &wave.rows)
    }

    /// Returns the task of that id.
    pub(crate) fn row(&self, id: &TaskId) -> Option<&Row> {
        self.rows().find(|row| row.id == *id)
    }

    /// Returns in a line how far the run has come.
    pub(crate) fn headline(&self, now: Timestamp) -> String {
        let settled = self.rows().filter(|row| row.is_settled).count();
        let at_work = self.rows().filter(|row| row.is_under_way).count();
        let bad = self.rows().filter(|row| row.tone == Tone::Bad).count();
        let elapsed = clock(self.ended.unwrap_or(now).since(self.began));
        let bad = if bad == 0 {
            String::new()
        } else {
            format!("  {bad} failed or blocked")
        };
        format!(
            "{}  {settled}/{} settled  {at_work} at work{bad}  {elapsed}",
            self.status,
            self.rows().count()
        )
    }
}

impl Wave {
    /// Returns the heading.
    pub(crate) fn heading(&self) -> String {
        let settled = self.rows.iter().filter(|row| row.is_settled).count();
        format!("wave {}  {settled}/{}", self.number, self.rows.len())
    }
}

impl Row {
    fn of(view: &TaskView<'_>, most: u32) -> Self {
        let attempts = view.attempts.len();
        let tries = if attempts > 1 {
            format!("{attempts}/{most}")
        } else {
            String::new()
        };
        let note = match view.state {
            State::Failed { failure } => failure.to_string(),
            State::Blocked { by } => {
                format!("by {}", by.iter().join(", "))
            }
            State::Paused { .. } => match view.attempts.last().and_then(AttemptRecord::failure) {
                Some(failure) => format!("{tries} after {failure}").trim_start().to_owned(),
                None => tries,
            },
            State::Waiting { .. }
            | State::Ready
            | State::Preparing
            | State::Running
            | State::Proving
            | State::Committing
            | State::Refactoring { .. }
            | State::Landing { .. }
            | State::Held { .. }
            | State::Landed { .. }
            | State::Skipped { .. } => tries,
        };
        let is_under_way = view.state.holds_slot();
        Self {
            id: view.placed.task.id.clone(),
            title: plain(&view.placed.task.title),
            word: word(view.state, view.placed.task.phase),
            tone: tone(view.state),
            note,
            since: view
                .attempts
                .last()
                .filter(|_| is_under_way)
                .map(|record| record.started_at),
            is_under_way,
            is_settled: view.state.is_settled(),
        }
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
pub(crate) fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}
