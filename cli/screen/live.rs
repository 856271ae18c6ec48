//! Draws the screen from a thread of its own, so that a terminal that does not take anything (a held Ctrl-S, a slow
//! line) never holds up the run. What can't be drawn in time is left out: only the last board counts.

use super::layout::{Look, lines};
use super::{Board, Said};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;
use tm_scheduler::{Remaining, Scheduler, TaskId, Timestamp, Tokens, remaining};

/// A board is taken so often at the most, in milliseconds.
const BOARD_EVERY: u64 = 100;
/// An estimate is made so often at the most, in milliseconds.
const ESTIMATE_EVERY: u64 = 1_000;
/// Clocks move on so often while nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// So much waits to be drawn at the most.
const QUEUE: usize = 256;

/// What there is to draw.
enum Message {
    Board(Box<Board>),
    /// A line that stays, above everything that moves.
    Line(String),
}

impl Message {
    fn left_out(count: usize) -> Self {
        Self::Line(format!(
            "({count} lines were left out: the terminal did not take them)"
        ))
    }
}

/// The live screen of a run.
#[derive(Debug, Default)]
pub(crate) struct Live {
    began: Timestamp,
    said: BTreeMap<TaskId, Said>,
    taken_at: Option<Timestamp>,
    estimated_at: Option<Timestamp>,
    estimate: Option<Remaining>,
    left_out: usize,
    /// Who draws, as long as somebody does.
    drawer: Option<(SyncSender<Message>, JoinHandle<()>)>,
}

impl Live {
    /// Begins to draw. `clock` tells the time.
    pub(crate) fn begin(began: Timestamp, screen: Screen, clock: fn() -> Timestamp) -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        let thread = spawn(move || draw_all(&receiver, screen, clock));
        Self {
            began,
            drawer: Some((sender, thread)),
            ..Self::default()
        }
    }

    /// Notes what an agent said.
    pub(crate) fn heard(&mut self, task: &TaskId, line: &str, tokens: Option<Tokens>) {
        let said = self.said.entry(task.clone()).or_default();
        line.clone_into(&mut said.line);
        said.tokens = tokens.or(said.tokens);
    }

    /// Forgets what an agent said whose attempt is over.
    pub(crate) fn forget(&mut self, task: &TaskId) {
        self.said.remove(task);
    }

    /// Shows where the run stands, unless that was shown just before.
    pub(crate) fn show(&mut self, at: Timestamp, scheduler: &Scheduler) {
        let is_due =
            |last: Option<Timestamp>, every| last.is_none_or(|last| at.since(last) >= every);
        if !is_due(self.taken_at, BOARD_EVERY) {
            return;
        }
        self.taken_at = Some(at);
        if is_due(self.estimated_at, ESTIMATE_EVERY) {
            (self.estimated_at, self.estimate) = (Some(at), remaining(scheduler, at));
        }
        let board = Board::of(scheduler, &self.said, self.estimate, self.began);
        // A terminal that is behind gets a later one.
        self.send(Message::Board(Box::new(board)));
    }

    /// Prints a line that stays.
    pub(crate) fn print(&mut self, line: String) {
        if self.left_out > 0 && self.send(Message::left_out(self.left_out)) {
            self.left_out = 0;
        }
        if !self.send(Message::Line(line)) {
            self.left_out += 1;
        }
    }

    fn send(&self, message: Message) -> bool {
        self.drawer
            .as_ref()
            .is_some_and(|(sender, _)| sender.try_send(message).is_ok())
    }

    /// Draws what is left, then clears what moves.
    pub(crate) fn finish(&mut self) {
        if let Some((sender, thread)) = self.drawer.take() {
            drop(sender);
            // A thread that broke has drawn what it could.
            let _broke = thread.join();
        }
    }
}

fn draw_all(receiver: &Receiver<Message>, mut screen: Screen, clock: fn() -> Timestamp) {
    let mut board: Option<Box<Board>> = None;
    while let Some(messages) = next_messages(receiver) {
        let mut printed = Vec::new();
        for message in messages {
            match message {
                Message::Board(newer) => board = Some(newer),
                Message::Line(line) => printed.push(line),
            }
        }
        screen.print(&printed);
        if let Some(board) = &board {
            screen.draw(board, clock());
        }
    }
    screen.bar.finish_and_clear();
}

/// What has come, if anything does within a tick; `None` when nothing more will.
fn next_messages(receiver: &Receiver<Message>) -> Option<Vec<Message>> {
    let first = receiver.recv_timeout(TICK);
    let is_over = matches!(first, Err(RecvTimeoutError::Disconnected));
    (!is_over).then(|| first.into_iter().chain(receiver.try_iter()).collect())
}

/// Where the screen is drawn.
pub(crate) struct Screen {
    bar: ProgressBar,
    /// Columns and rows, as they are now.
    size: Box<dyn Fn() -> (usize, usize) + Send>,
    /// How it was when it was drawn last.
    look: Look,
    /// Takes lines that stay.
    printer: Box<dyn Fn(&str) + Send>,
    /// How wide the lines are that were drawn last.
    drawn: Vec<usize>,
}

impl fmt::Debug for Screen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Screen")
            .field("look", &self.look)
            .finish_non_exhaustive()
    }
}

impl Screen {
    /// Returns a screen on anything that takes what is drawn.
    pub(crate) fn on(
        target: ProgressDrawTarget,
        size: Box<dyn Fn() -> (usize, usize) + Send>,
        printer: Box<dyn Fn(&str) + Send>,
        look: Look,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{msg}");
        bar.set_style(style.expect("the template is well formed"));
        Self {
            bar,
            size,
            look,
            printer,
            drawn: Vec::new(),
        }
    }

    fn print(&self, printed: &[String]) {
        if !printed.is_empty() {
            self.bar
                .suspend(|| printed.iter().for_each(|line| (self.printer)(line)));
        }
    }

    fn draw(&mut self, board: &Board, now: Timestamp) {
        let (width, height) = (self.size)();
        if width < self.look.width {
            self.clear_what_was_folded(width);
        }
        (self.look.width, self.look.height) = (width, height);
        let lines = lines(board, now, &self.look);
        let widths = lines.iter().map(|line| console::measure_text_width(line));
        self.drawn = widths.collect();
        self.bar.set_message(lines.join("\n"));
    }

    /// A terminal that became narrower has folded the lines that were drawn: there are more of them now than indicatif
    /// knows of.
    fn clear_what_was_folded(&self, width: usize) {
        let folds = self
            .drawn
            .iter()
            .map(|drawn| drawn.div_ceil(width.max(1)).saturating_sub(1))
            .sum();
        self.bar.suspend(|| clear_above(folds));
    }
}

/// Clears so many lines above the cursor.
fn clear_above(lines: usize) {
    let term = Term::stderr();
    // What can't be cleared stays above.
    let _stays = term
        .move_cursor_up(lines)
        .and_then(|()| term.clear_to_end_of_screen());
}
