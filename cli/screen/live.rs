//! Draws the screen from a thread of its own, so that a terminal that does not take anything (a held Ctrl-S, a slow
//! line) never holds up the run. What can't be drawn in time is left out: only the last board counts.

use super::board::{Board, Said};
use super::layout::{Look, lines};
use super::text::{Charset, Colours};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
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

/// The live screen of a run.
#[derive(Debug)]
pub(crate) struct Live {
    began: Timestamp,
    said: BTreeMap<TaskId, Said>,
    taken_at: Option<Timestamp>,
    estimate: Option<(Timestamp, Option<Remaining>)>,
    left_out: usize,
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Begins to draw. `clock` tells the time.
    pub(crate) fn begin(began: Timestamp, screen: Screen, clock: fn() -> Timestamp) -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        let thread = std::thread::spawn(move || draw_all(&receiver, screen, clock));
        Self {
            began,
            said: BTreeMap::new(),
            taken_at: None,
            estimate: None,
            left_out: 0,
            sender: Some(sender),
            thread: Some(thread),
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
        if self
            .taken_at
            .is_some_and(|taken| at.since(taken) < BOARD_EVERY)
        {
            return;
        }
        self.taken_at = Some(at);
        if self
            .estimate
            .is_none_or(|(made, _)| at.since(made) >= ESTIMATE_EVERY)
        {
            self.estimate = Some((at, remaining(scheduler, at)));
        }
        let estimate = self.estimate.and_then(|(_, remaining)| remaining);
        let board = Board::of(scheduler, &self.said, estimate, self.began);
        // A terminal that is behind gets a later one.
        self.send(Message::Board(Box::new(board)));
    }

    /// Prints a line that stays.
    pub(crate) fn print(&mut self, line: String) {
        if self.left_out > 0 {
            let words = format!(
                "({} lines were left out: the terminal did not take them)",
                self.left_out
            );
            if self.send(Message::Line(words)) {
                self.left_out = 0;
            }
        }
        if !self.send(Message::Line(line)) {
            self.left_out += 1;
        }
    }

    fn send(&self, message: Message) -> bool {
        self.sender
            .as_ref()
            .is_some_and(|sender| sender.try_send(message).is_ok())
    }

    /// Draws what is left, then clears what moves.
    pub(crate) fn finish(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A thread that broke has drawn what it could.
            let _broke = thread.join();
        }
    }
}

fn draw_all(receiver: &Receiver<Message>, mut screen: Screen, clock: fn() -> Timestamp) {
    let mut board: Option<Box<Board>> = None;
    loop {
        let mut printed = Vec::new();
        let first = match receiver.recv_timeout(TICK) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        for message in first.into_iter().chain(receiver.try_iter()) {
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

/// Where the screen is drawn.
pub(crate) struct Screen {
    bar: ProgressBar,
    /// Columns and rows, as they are now.
    size: Box<dyn Fn() -> (usize, usize) + Send>,
    charset: Charset,
    colours: Colours,
    /// Takes lines that stay.
    printer: Box<dyn Fn(&str) + Send>,
    drawn: Vec<usize>,
    drawn_width: usize,
}

impl fmt::Debug for Screen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Screen")
            .field("charset", &self.charset)
            .finish_non_exhaustive()
    }
}

impl Screen {
    /// Returns a screen on anything that takes what is drawn.
    pub(crate) fn on(
        target: ProgressDrawTarget,
        size: Box<dyn Fn() -> (usize, usize) + Send>,
        printer: Box<dyn Fn(&str) + Send>,
        charset: Charset,
        colours: Colours,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self {
            bar,
            size,
            charset,
            colours,
            printer,
            drawn: Vec::new(),
            drawn_width: 0,
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
        if width < self.drawn_width {
            self.clear_what_was_folded(width);
        }
        let look = Look {
            width,
            height,
            charset: self.charset,
            colours: self.colours,
        };
        let lines = lines(board, now, &look);
        self.drawn = lines
            .iter()
            .map(|line| console::measure_text_width(line))
            .collect();
        self.drawn_width = width;
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
        self.bar.suspend(|| {
            let term = Term::stderr();
            // What can't be cleared stays above.
            let _stays = term
                .move_cursor_up(folds)
                .and_then(|()| term.clear_to_end_of_screen());
        });
    }
}
