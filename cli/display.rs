//! What people see while a run goes on: a screen on a terminal, lines without one, one JSON event a line for programs.

use crate::failure::Result;
use crate::logging;
use crate::screen::{Charset, Colours, Live, Screen, clock};
use crate::words;
use indicatif::ProgressDrawTarget;
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use tm_runtime::{RunEvent, now};
use tm_scheduler::{Event, Scheduler, Timestamp};

/// How a run is shown.
#[derive(Debug)]
pub(crate) enum Display {
    /// A screen that moves, on a terminal.
    Live {
        /// When the run, or this part of it, began.
        began: Timestamp,
        /// The screen.
        live: Box<Live>,
    },
    /// A line an event.
    Lines {
        /// When the run, or this part of it, began.
        began: Timestamp,
    },
    /// A JSON event a line, on stdout.
    Json,
}

impl Display {
    /// Chooses by what is asked for and by what stderr is.
    pub(crate) fn choose(json: Output, began: Timestamp) -> Self {
        match (json, is_live()) {
            (Output::Json, _) => Self::Json,
            (Output::People, true) => Self::Live {
                began,
                live: Box::new(Live::begin(began, terminal(), now)),
            },
            (Output::People, false) => Self::Lines { began },
        }
    }

    /// Shows one thing that happened.
    pub(crate) fn told(&mut self, at: Timestamp, run_event: &RunEvent, scheduler: &Scheduler) {
        match self {
            Self::Json => json_line(at, run_event),
            Self::Lines { began } => {
                if let Some(line) = words::told(run_event) {
                    print_toned(&format!("[{}] {line}", clock(at.since(*began))));
                }
            }
            Self::Live { began, live } => show(live, *began, at, run_event, scheduler),
        }
    }

    /// Clears what moves.
    pub(crate) fn finish(&mut self) {
        if let Self::Live { live, .. } = self {
            live.finish();
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

/// Tells the screen what happened.
fn show(
    live: &mut Live,
    began: Timestamp,
    at: Timestamp,
    run_event: &RunEvent,
    scheduler: &Scheduler,
) {
    match run_event {
        RunEvent::Output { task, line, tokens } => live.heard(task, line, *tokens),
        RunEvent::Event(Event::AttemptEnded { task, .. }) => live.forget(task),
        RunEvent::Event(_) | RunEvent::Warning(_) | RunEvent::Setup { .. } | RunEvent::Pulse => {}
    }
    if words::is_milestone(run_event)
        && let Some(line) = words::told(run_event)
    {
        live.print(format!("[{}] {line}", clock(at.since(began))));
    }
    live.show(at, scheduler);
}

/// Whether stderr is a terminal that can move its cursor, and nobody else writes there.
fn is_live() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    std::io::stderr().is_terminal() && !is_dumb && !logging::is_on_stderr()
}

/// The screen of the terminal that stderr is.
fn terminal() -> Screen {
    Screen::on(
        ProgressDrawTarget::stderr(),
        Box::new(size),
        Box::new(print_toned),
        charset(),
        colours(),
    )
}

fn size() -> (usize, usize) {
    let (rows, columns) = console::Term::stderr().size_checked().unwrap_or((24, 80));
    (usize::from(columns), usize::from(rows))
}

fn charset() -> Charset {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty());
    let name = set
        .map(|value| value.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    if name.contains("utf-8") || name.contains("utf8") {
        Charset::Unicode
    } else {
        Charset::Ascii
    }
}

fn colours() -> Colours {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if !is_unwanted && console::colors_enabled_stderr() {
        Colours::On
    } else {
        Colours::Off
    }
}

fn json_line(at: Timestamp, run_event: &RunEvent) {
    match run_event {
        RunEvent::Event(event) => json_event(at, event),
        RunEvent::Warning(warning) => {
            json_event(at, &json!({"event": "warning", "message": warning}));
        }
        RunEvent::Setup { place, took_ms } => {
            json_event(
                at,
                &json!({"event": "setup:done", "place": place, "took_ms": took_ms}),
            );
        }
        RunEvent::Output { .. } | RunEvent::Pulse => {}
    }
}

/// Prints an event on stdout, one JSON document on a line.
pub(crate) fn json_event(at: Timestamp, event: &impl serde::Serialize) {
    if let Ok(line) = tm_store::run::event_line(at, event) {
        print_own(&line);
    }
}

/// Prints one line for people. Whatever it tells of, it holds no order to the terminal.
pub(crate) fn print_line(line: &str) {
    // Whoever reads may have gone; the run goes on.
    let _reader_is_gone = writeln!(std::io::stderr(), "{}", tm_untrusted::shown(line));
}

/// Prints one line for people; one that says that something is worth less than it looks has a colour of its own.
pub(crate) fn print_toned(line: &str) {
    if words::is_weak(line) && colours() == Colours::On {
        let line = tm_untrusted::shown(line);
        // Whoever reads may have gone; the run goes on.
        let _reader_is_gone = writeln!(std::io::stderr(), "\u{1b}[33m{line}\u{1b}[0m");
    } else {
        print_line(line);
    }
}

/// Prints a question, after which the answer is typed.
pub(crate) fn print_question(question: &str) {
    let mut stderr = std::io::stderr().lock();
    // Whoever reads may have gone; then there is no answer either.
    let _reader_is_gone =
        write!(stderr, "{}", tm_untrusted::shown(question)).and_then(|()| stderr.flush());
}

/// Prints text on stdout, as data for people or programs. Whatever it tells of, it holds no order to the terminal.
pub(crate) fn print_data(text: &str) {
    print_own(&tm_untrusted::shown(text));
}

/// Prints a JSON document on stdout, which is all that a command had to do.
pub(crate) fn print_json(document: &impl serde::Serialize) -> Result {
    print_data(&json_text(document)?);
    Ok(0)
}

/// Returns a JSON document as it is printed.
pub(crate) fn json_text(document: &impl serde::Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(document)?))
}

/// Prints what tm alone wrote on stdout, as it is.
pub(crate) fn print_own(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe, as in `tm … | head`, is no error.
    let _reader_is_gone = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}
