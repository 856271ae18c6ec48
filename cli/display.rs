//! What people see while a run goes on: a screen on a terminal, lines without one, one JSON event a line for programs.

use crate::environment::{colours_in, is_dumb, is_in_unicode, sheet_of};
use crate::failure::Result;
use crate::logging;
use crate::run_lines;
use crate::safe_json::SafeJson;
use crate::screen::{Charset, Live, Look, Screen, clock};
use crate::words;
use console::Term;
use indicatif::ProgressDrawTarget;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use tm_reports::{Sheet, Tone, columns, laid_out, toned};
use tm_runtime::{PlaceNews, RunEvent, now};
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
        let line = || {
            Some(stamped(
                self.began,
                at,
                &run_lines::told(at, run_event, scheduler)?,
            ))
        };
        match &mut self.form {
            Form::Json => json_line(at, run_event),
            Form::Lines => line().iter().for_each(|line| print_line(line)),
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
        RunEvent::Place { task, news } => live.heard(task, place_news(*news), None),
        RunEvent::Whereabouts {
            task, whereabouts, ..
        } => live.heard(task, &whereabouts.to_string(), None),
        RunEvent::Event(Event::AttemptEnded { task, .. }) => live.forget(task),
        _ => {}
    }
}

/// Returns what stands in place of an agent's words while its work is tested.
const fn place_news(news: PlaceNews) -> &'static str {
    match news {
        PlaceNews::Waits => "waits for a place for its tests",
        PlaceNews::GoesOn => "has a place for its tests",
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
        Box::new(print_line),
        look(),
    )
}

fn look() -> Look {
    let (width, height) = size();
    Look {
        width,
        height,
        charset: charset(),
        colours: colours_in(&std::io::stderr()),
    }
}

fn size() -> (usize, usize) {
    let (rows, columns) = Term::stderr().size_checked().unwrap_or((24, 80));
    (usize::from(columns), usize::from(rows))
}

fn charset() -> Charset {
    if is_in_unicode() {
        Charset::Unicode
    } else {
        Charset::Ascii
    }
}

fn json_line(at: Timestamp, run_event: &RunEvent) {
    if let RunEvent::Event(event) = run_event {
        return json_event(at, event);
    }
    if let Some(event) = run_event.noticed() {
        json_event(at, &event);
    }
}

/// Prints an event on stdout, one JSON document on a line.
pub(crate) fn json_event(at: Timestamp, event: &impl Serialize) {
    if let Ok(line) = tm_store::run::event_line(at, event) {
        print_document(&line);
    }
}

/// Words at the beginning of a line, with the tone in which they are shown.
const HEADS: [(&str, Tone); 4] = [
    ("error:", Tone::Bad),
    ("warning:", Tone::Weak),
    ("hint:", Tone::Busy),
    ("note:", Tone::Busy),
];

/// Prints one line for people. Whatever it tells of, it holds no order to the terminal.
pub(crate) fn print_line(line: &str) {
    let line = match HEADS.iter().find(|(head, _)| line.starts_with(head)) {
        Some((head, tone)) => toned(head, *tone) + &line[head.len()..],
        None if words::is_weak(line) => toned(line, Tone::Weak),
        None => line.to_owned(),
    };
    // Whoever reads may have gone; the run goes on.
    let _reader_is_gone = writeln!(std::io::stderr(), "{}", told_sheet().painted(&line));
}

/// Prints the text of a layout on stderr.
pub(crate) fn print_told(text: &str) {
    // Whoever reads may have gone; the run goes on.
    let _reader_is_gone = write!(std::io::stderr(), "{}", told_sheet().set(text));
}

fn told_sheet() -> Sheet {
    sheet_of(&std::io::stderr(), &Term::stderr())
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

/// Prints the text of a layout on stdout.
pub(crate) fn print_text(text: &str) {
    print_own(&sheet_of(&std::io::stdout(), &Term::stdout()).set(text));
}

/// Prints rows of cells on stdout.
pub(crate) fn print_table(rows: &[impl AsRef<[String]>]) {
    let width = sheet_of(&std::io::stdout(), &Term::stdout()).width;
    print_data(&columns(rows, width));
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
    print_text(&words());
    Ok(0)
}

/// Prints a JSON document on stdout, part by part, which is all that a command had to do.
pub(crate) fn print_json(document: &impl Serialize) -> Result {
    let mut safe = SafeJson::new(std::io::stdout().lock());
    let printed = serde_json::to_writer_pretty(&mut safe, document);
    let printed = printed.map_err(std::io::Error::from);
    match printed.and_then(|()| safe.finish()) {
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(error.into()),
        // A closed pipe, as in `tm … | head`, is no error.
        Ok(()) | Err(_) => Ok(0),
    }
}

/// Returns a JSON document as it is printed: no text in it orders a terminal about, and each comes back as it is.
pub(crate) fn json_text(document: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(document)? + "\n";
    Ok(tm_untrusted::json(&text).into_owned())
}

/// Prints a JSON document on stdout. No text in it orders a terminal about, and each comes back as it is.
pub(crate) fn print_document(document: &str) {
    print_own(&tm_untrusted::json(document));
}

/// Prints what tm alone wrote on stdout, as it is.
pub(crate) fn print_own(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe, as in `tm … | head`, is no error.
    let _reader_is_gone = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}
