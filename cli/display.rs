//! What people see while a run goes on: a screen on a terminal, lines without one, one JSON event a line for programs.

use crate::environment::{is_dumb, is_in_unicode, is_without_colours};
use crate::failure::Result;
use crate::logging;
use crate::screen::{Charset, Colours, Live, Look, Screen, clock};
use crate::words;
use indicatif::ProgressDrawTarget;
use serde::Serialize;
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use tm_reports::laid_out;
use tm_runtime::{RunEvent, now};
use tm_scheduler::{Event, Scheduler, Timestamp};

/// How a run is shown.
#[derive(Debug)]
pub(crate) struct Display {
    /// When the run, or this part of it, began.
    began: Timestamp,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// A screen that moves, on a terminal.
    Live(Live),
    /// A line an event.
    Lines,
    /// A JSON event a line, on stdout.
    Json,
}

impl Display {
    /// Chooses by what is asked for and by what stderr is.
    pub(crate) fn choose(output: Output, began: Timestamp) -> Self {
        let form = if output == Output::Json {
            Form::Json
        } else if is_live() {
            Form::Live(Live::begin(began, terminal(), now))
        } else {
            Form::Lines
        };
        Self { began, form }
    }

    /// Shows one thing that happened.
    pub(crate) fn told(&mut self, at: Timestamp, run_event: &RunEvent, scheduler: &Scheduler) {
        let line = || Some(stamped(self.began, at, &words::told(run_event)?));
        match &mut self.form {
            Form::Json => json_line(at, run_event),
            Form::Lines => line().iter().for_each(|line| print_toned(line)),
            Form::Live(live) => {
                note(live, run_event);
                let milestone = line().filter(|_| words::is_milestone(run_event));
                if let Some(line) = milestone {
                    live.print(line);
                }
                live.show(at, scheduler);
            }
        }
    }

    /// Clears what moves.
    pub(crate) fn finish(&mut self) {
        if let Form::Live(live) = &mut self.form {
            live.finish();
        }
    }
}

/// Returns a line behind the time since something began.
pub(crate) fn stamped(began: Timestamp, at: Timestamp, line: &str) -> String {
    format!("[{}] {line}", clock(at.since(began)))
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

/// Tells the screen what an agent said, and that it says no more.
fn note(live: &mut Live, run_event: &RunEvent) {
    match run_event {
        RunEvent::Output { task, line, tokens } => live.heard(task, line, *tokens),
        RunEvent::Event(Event::AttemptEnded { task, .. }) => live.forget(task),
        _ => {}
    }
}

/// Whether stderr is a terminal that can move its cursor, and nobody else writes there.
fn is_live() -> bool {
    std::io::stderr().is_terminal() && !is_dumb() && !logging::is_on_stderr()
}

/// The screen of the terminal that stderr is.
fn terminal() -> Screen {
    Screen::on(
        ProgressDrawTarget::stderr(),
        Box::new(size),
        Box::new(print_toned),
        look(),
    )
}

fn look() -> Look {
    let (width, height) = size();
    Look {
        width,
        height,
        charset: charset(),
        colours: colours(),
    }
}

fn size() -> (usize, usize) {
    let (rows, columns) = console::Term::stderr().size_checked().unwrap_or((24, 80));
    (usize::from(columns), usize::from(rows))
}

fn charset() -> Charset {
    if is_in_unicode() {
        Charset::Unicode
    } else {
        Charset::Ascii
    }
}

fn colours() -> Colours {
    if !is_without_colours() && console::colors_enabled_stderr() {
        Colours::On
    } else {
        Colours::Off
    }
}

fn json_line(at: Timestamp, run_event: &RunEvent) {
    let event = match run_event {
        RunEvent::Event(event) => return json_event(at, event),
        RunEvent::Warning(warning) => json!({"event": "warning", "message": warning}),
        RunEvent::Setup { place, took_ms } => {
            json!({"event": "setup:done", "place": place, "took_ms": took_ms})
        }
        RunEvent::Output { .. } | RunEvent::Pulse => return,
    };
    json_event(at, &event);
}

/// Prints an event on stdout, one JSON document on a line.
pub(crate) fn json_event(at: Timestamp, event: &impl Serialize) {
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

/// Prints an answer: for programs as one JSON document, for people as its layout writes it.
pub(crate) fn print_answer(
    output: impl Into<Output>,
    answer: &impl Serialize,
    layout: &str,
) -> Result {
    print_either(output, answer, || laid_out(layout, answer))
}

/// Prints an answer: for programs as one JSON document, for people in words.
pub(crate) fn print_either(
    output: impl Into<Output>,
    answer: &impl Serialize,
    words: impl FnOnce() -> String,
) -> Result {
    if output.into() == Output::Json {
        return print_json(answer);
    }
    print_data(&words());
    Ok(0)
}

/// Prints a JSON document on stdout, which is all that a command had to do.
pub(crate) fn print_json(document: &impl Serialize) -> Result {
    print_data(&json_text(document)?);
    Ok(0)
}

/// Returns a JSON document as it is printed.
pub(crate) fn json_text(document: &impl Serialize) -> Result<String> {
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
