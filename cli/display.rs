//! What people see while a run goes on: bars on a terminal, lines without one, one JSON event a line for programs.
//!
//! indicatif lives here and nowhere else. Agents' output is made safe before it comes here.

use crate::words;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;
use tm_runtime::Told;
use tm_scheduler::{Event, Scheduler, State, TaskId, Timestamp};

/// How a run is shown.
#[derive(Debug)]
pub(crate) enum Display {
    /// Bars on a terminal.
    Live(Box<Live>),
    /// A line an event.
    Lines {
        /// When the run, or this part of it, began.
        began: Timestamp,
    },
    /// A JSON event a line, on stdout.
    Json,
}

/// The bars.
#[derive(Debug)]
pub(crate) struct Live {
    began: Timestamp,
    bars: MultiProgress,
    total: ProgressBar,
    attempts: BTreeMap<TaskId, ProgressBar>,
}

impl Display {
    /// Chooses by what is asked for and by what stderr is.
    pub(crate) fn choose(json: Output, began: Timestamp) -> Self {
        match (json, std::io::stderr().is_terminal()) {
            (Output::Json, _) => Self::Json,
            (Output::People, true) => Self::Live(Box::new(Live::new(began))),
            (Output::People, false) => Self::Lines { began },
        }
    }

    /// Shows one thing that happened.
    pub(crate) fn told(&mut self, at: Timestamp, told: &Told, scheduler: &Scheduler) {
        match self {
            Self::Json => json_line(at, told),
            Self::Lines { began } => {
                if let Some(line) = words::told(told) {
                    print_line(&format!("[{}] {line}", words::clock(at.since(*began))));
                }
            }
            Self::Live(live) => live.told(at, told, scheduler),
        }
    }

    /// Clears what moves.
    pub(crate) fn finish(&mut self) {
        if let Self::Live(live) = self {
            for bar in live.attempts.values() {
                bar.finish_and_clear();
            }
            live.total.finish_and_clear();
        }
    }
}

/// For whom output is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Output {
    /// For people.
    People,
    /// For programs.
    Json,
}

impl From<bool> for Output {
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::People }
    }
}

impl Live {
    fn new(began: Timestamp) -> Self {
        let bars = MultiProgress::new();
        let total = bars.add(ProgressBar::new(0));
        total.set_style(style("{bar:24} {pos}/{len} {elapsed_precise} {wide_msg}"));
        total.enable_steady_tick(Duration::from_secs(1));
        Self { began, bars, total, attempts: BTreeMap::new() }
    }

    fn told(&mut self, at: Timestamp, told: &Told, scheduler: &Scheduler) {
        match told {
            Told::Output { task, line } => {
                if let Some(bar) = self.attempts.get(task) {
                    bar.set_message(format!("{} · {line}", words::attempt(task, scheduler)));
                }
                return;
            }
            Told::Event(Event::AttemptStarted { task, .. }) => self.begin(task, scheduler),
            Told::Event(Event::AttemptEnded { task, .. }) => {
                if let Some(bar) = self.attempts.remove(task) {
                    bar.finish_and_clear();
                }
            }
            Told::Event(_) | Told::Warning(_) => {}
        }
        if words::is_milestone(told)
            && let Some(line) = words::told(told)
        {
            let line = format!("[{}] {line}", words::clock(at.since(self.began)));
            self.bars.suspend(|| print_line(&line));
        }
        self.total.set_length(scheduler.tasks().count() as u64);
        self.total.set_position(scheduler.tasks().filter(|view| view.state.is_settled()).count() as u64);
        self.total.set_message(words::totals(scheduler));
    }

    fn begin(&mut self, task: &TaskId, scheduler: &Scheduler) {
        let bar = self.bars.insert_before(&self.total, ProgressBar::new_spinner());
        bar.set_style(style("{spinner} {elapsed_precise} {wide_msg}"));
        bar.set_message(words::attempt(task, scheduler));
        bar.enable_steady_tick(Duration::from_millis(250));
        if let Some(old) = self.attempts.insert(task.clone(), bar) {
            old.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ").tick_chars("|/-\\ ")
}

fn json_line(at: Timestamp, told: &Told) {
    let line = match told {
        Told::Event(event) => tm_store::run::event_line(at, event),
        Told::Warning(warning) => {
            tm_store::run::event_line(at, &serde_json::json!({"event": "warning", "message": warning}))
        }
        Told::Output { .. } => return,
    };
    if let Ok(line) = line {
        let mut stdout = std::io::stdout().lock();
        // Whoever reads may have gone; the run goes on.
        let _reader_is_gone = writeln!(stdout, "{}", line.trim_end()).and_then(|()| stdout.flush());
    }
}

/// Prints one line for people.
pub(crate) fn print_line(line: &str) {
    // Whoever reads may have gone; the run goes on.
    let _reader_is_gone = writeln!(std::io::stderr(), "{line}");
}

/// Prints a question, after which the answer is typed.
pub(crate) fn print_question(question: &str) {
    let mut stderr = std::io::stderr().lock();
    // Whoever reads may have gone; then there is no answer either.
    let _reader_is_gone = write!(stderr, "{question}").and_then(|()| stderr.flush());
}

/// Prints text on stdout, as data for people or programs.
pub(crate) fn print_data(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe, as in `tm … | head`, is no error.
    let _reader_is_gone = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Whether a state is one that waits for a slot or a moment.
pub(crate) const fn is_waiting(state: &State) -> bool {
    matches!(state, State::Ready | State::Paused { .. } | State::Waiting { .. })
}
