//! A run as one row a task. Pure: where the scheduler stands in, what is shown out.

use crate::screen::clock;
use crate::screen::layout::landing_behind;
use itertools::Itertools as _;
use tm_app::AgentPlaces;
use tm_scheduler::{
    AttemptRecord, Phase, Scheduler, State, TaskId, TaskRow, TaskView, Timestamp, task_rows,
};

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Board {
    /// The run.
    pub(super) run_id: String,
    /// How it stands, in a few words.
    pub(super) status: String,
    /// When it began.
    began: Timestamp,
    /// When it ended, or was interrupted; `None` while it goes on.
    ended: Option<Timestamp>,
    /// Its tasks by how they stand, else in the order in which they are taken.
    pub(super) rows: Vec<Row>,
}

/// How a task stands, in the order in which the screen shows them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Group {
    /// A half is at work.
    AtWork,
    /// Its work lands, or waits for that.
    Landing,
    /// It was given up, or can't be done.
    Lost,
    /// It may still be begun.
    Waiting,
    /// Nothing more is done for it.
    Done,
}

/// A task as people count it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// The id by which people know it.
    pub(super) id: TaskId,
    /// One line.
    pub(super) title: String,
    /// What it is made of, RED first; one for a task that is no pair.
    pub(super) halves: Vec<Cell>,
    /// The half that is under way, else the one that ends the task.
    current: usize,
    /// What there is to say besides: the attempt, the failure, what blocks it.
    pub(super) note: String,
    /// Since when an attempt has been under way.
    pub(super) since: Option<Timestamp>,
    /// How it stands.
    pub(super) group: Group,
    /// Whether it has come to an end.
    is_settled: bool,
}

/// A half of a task, or the whole of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    /// Its id within the run.
    pub(super) id: TaskId,
    /// The kind of work.
    pub(super) phase: Phase,
    /// Where it stands, in one word.
    pub(super) word: &'static str,
    /// How that is to be taken.
    pub(super) tone: Tone,
    /// Whether an attempt is under way that would have to be stopped.
    pub(super) is_under_way: bool,
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
    /// Puts a run into rows. `last_input_at` is when something happened last, `places` where agents are that are elsewhere.
    pub(super) fn of(
        run_id: &str,
        (began, last_input_at): (Timestamp, Timestamp),
        (scheduler, places): (&Scheduler, &AgentPlaces),
        link: Link,
    ) -> Self {
        let is_over = scheduler.ended().is_some() || link == Link::Over;
        let views = scheduler.tasks().collect_vec();
        let rows = task_rows(&views);
        let rows = rows.iter().map(|row| Row::of(row, scheduler, places));
        let rows = rows.sorted_by_key(|row| row.group).collect();
        Self {
            run_id: run_id.to_owned(),
            status: status(scheduler, link),
            began,
            ended: is_over.then_some(last_input_at),
            rows,
        }
    }

    /// Returns the task of that id.
    pub(super) fn row(&self, id: &TaskId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == *id)
    }

    /// Returns in a line how far the run has come, and which it is; what stands below as well goes where there is no room.
    pub(super) fn headline(&self, now: Timestamp, width: usize) -> String {
        let of = |group| self.rows.iter().filter(|row| row.group == group).count();
        let settled = self.rows.iter().filter(|row| row.is_settled).count();
        let lost = of(Group::Lost);
        let mut parts = vec![
            self.status.clone(),
            format!("{settled}/{} settled", self.rows.len()),
            format!("{} at work", of(Group::AtWork)),
        ];
        parts.extend((lost > 0).then(|| format!("{lost} failed or blocked")));
        parts.push(clock(self.ended.unwrap_or(now).since(self.began)));
        parts.push(self.run_id.clone());
        let line = |parts: &[String]| format!(" tm  {}", parts.join("  "));
        while parts.len() > 3 && line(&parts).chars().count() > width {
            parts.remove(2);
        }
        line(&parts)
    }
}

impl Group {
    fn of(row: &TaskRow<&TaskView<'_>>) -> Self {
        let any = |is: fn(&State) -> bool| row.halves().any(|half| is(half.state));
        match () {
            () if any(State::has_worktree) => Self::AtWork,
            () if any(State::is_landing) => Self::Landing,
            () if row.is_failed() || row.is_blocked() => Self::Lost,
            () if row.is_settled() => Self::Done,
            () => Self::Waiting,
        }
    }

    /// Returns what stands above its tasks.
    pub(super) const fn heading(self) -> &'static str {
        match self {
            Self::AtWork => "at work",
            Self::Landing => "landing",
            Self::Lost => "failed or blocked",
            Self::Waiting => "waiting",
            Self::Done => "done or skipped",
        }
    }
}

impl Row {
    fn of(row: &TaskRow<&TaskView<'_>>, scheduler: &Scheduler, places: &AgentPlaces) -> Self {
        let halves = row.halves().collect_vec();
        let is_begun = |half: &&TaskView<'_>| !half.attempts.is_empty() && !half.state.is_settled();
        let current = halves.iter().position(is_begun);
        let current = current.unwrap_or(halves.len() - 1);
        let failed = halves
            .iter()
            .find(|half| matches!(half.state, State::Failed { .. }));
        let told = failed.into_iter().chain([&halves[current]]).chain(&halves);
        let mut notes = told.map(|half| note(half, scheduler, places));
        let at_work = halves.iter().find(|half| half.state.has_worktree());
        let last = at_work.and_then(|half| half.attempts.last());
        Self {
            id: row.work.placed.task.id.clone(),
            title: plain(&row.work.placed.task.title),
            note: notes.find(|note| !note.is_empty()).unwrap_or_default(),
            since: last.map(|record| record.started_at),
            group: Group::of(row),
            is_settled: row.is_settled(),
            halves: halves.iter().map(|half| Cell::of(half)).collect(),
            current,
        }
    }

    /// Returns the half that keys are about.
    pub(super) fn current(&self) -> &Cell {
        &self.halves[self.current]
    }

    /// Returns the half that writes the tests.
    pub(super) fn red(&self) -> Option<&Cell> {
        self.halves.first().filter(|_| self.halves.len() > 1)
    }

    /// Returns the half that ends it.
    pub(super) fn work(&self) -> &Cell {
        self.halves.last().expect("a row has a half")
    }
}

impl Cell {
    fn of(view: &TaskView<'_>) -> Self {
        Self {
            id: view.placed.task.id.clone(),
            phase: view.placed.task.phase,
            word: view.state.as_str(),
            tone: tone(view.state),
            is_under_way: view.state.has_worktree(),
        }
    }
}

/// How a run stands, in one word, and why nothing is started where landing is behind.
fn status(scheduler: &Scheduler, link: Link) -> String {
    let word = match (scheduler.ended(), link) {
        (Some(status), _) => status.as_str(),
        (None, Link::Over) => "interrupted",
        (None, Link::Live) if scheduler.stop_reason().is_some() => "stopping",
        (None, Link::Live) if scheduler.is_paused() => "paused",
        (None, Link::Live) => match scheduler.landing_behind() {
            Some(queued) => return format!("running, {}", landing_behind(queued)),
            None => "running",
        },
    };
    word.to_owned()
}

/// What there is to say of a task besides its state.
fn note(view: &TaskView<'_>, scheduler: &Scheduler, places: &AgentPlaces) -> String {
    let most = scheduler.limits().retries + 1;
    let tries = match view.attempts.len() {
        0 | 1 => String::new(),
        attempts => format!("{attempts}/{most}"),
    };
    match view.state {
        State::Failed { failure } => failure.to_string(),
        State::Blocked { by } => {
            let views = by.iter().filter_map(|id| scheduler.task(id));
            let by = views.map(|view| view.placed.task.shown_id().to_string());
            format!("by {}", by.unique().join(", "))
        }
        State::Paused { .. } => match view.attempts.last().and_then(AttemptRecord::failure) {
            Some(failure) => format!("{tries} after {failure}").trim_start().to_owned(),
            None => tries,
        },
        State::Landing { .. }
            if view
                .attempts
                .last()
                .is_some_and(|last| last.landing_at.is_none()) =>
        {
            format!("{tries} queued").trim_start().to_owned()
        }
        State::Running => {
            let number = view.attempts.last().map_or(0, |last| last.number.0);
            let place = places.of(view.placed.task.id.as_str(), number);
            let place = place.map_or_else(String::new, ToString::to_string);
            format!("{tries} {place}").trim().to_owned()
        }
        _ => tries,
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
