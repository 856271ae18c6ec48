//! `tm waves watch`: a run on the whole terminal, from anywhere, while it goes on or afterwards.
//!
//! Here is what is seen and what keys do: pure, a key in, perhaps something to do out. `view` is how it looks, pure too.
//! `source` reads the run's folder, `terminal` is the shell around them. ratatui lives in this folder and nowhere else.

mod board;
mod evidence;
mod source;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

use board::{Board, Group, Link, Row};
use itertools::Itertools as _;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
pub(crate) use terminal::WatchArguments;
use tm_runtime::steering::Ask;
use tm_scheduler::{TaskId, Timestamp};

/// So many lines are one page.
const PAGE: usize = 10;

/// Something to do outside of the screen.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Action {
    /// Leave.
    Quit,
    /// Ask the live run.
    Ask(Ask),
    /// Open a shell in the task's worktree.
    Shell(TaskId),
}

/// What keys go to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Pane {
    /// The tasks.
    #[default]
    Board,
    /// The chosen task.
    Detail,
}

/// What is shown of the chosen task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Tab {
    /// What its agent prints.
    #[default]
    Log,
    /// What it changed.
    Diff,
    /// What is known of its attempts.
    Evidence,
}

impl Tab {
    /// All of them, in their order.
    const ALL: [Self; 3] = [Self::Log, Self::Diff, Self::Evidence];

    /// Returns the name.
    const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Diff => "diff",
            Self::Evidence => "evidence",
        }
    }
}

/// What is being done with the keys.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
enum Mode {
    /// They are commands.
    #[default]
    Looking,
    /// They go into the filter.
    Filtering,
    /// They answer a question about a task.
    Asking(Question),
    /// The help is shown; any key closes it.
    Help,
}

/// A question before something that can't be taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Question {
    /// Whether and how to stop the task.
    Stop(TaskId),
    /// Whether to stop its attempt and begin anew.
    Retry(TaskId),
    /// Whether and how to leave it out.
    Skip(TaskId),
}

impl Question {
    /// Returns the question with its answers.
    fn describe(&self) -> String {
        match self {
            Self::Stop(task) => format!("stop {task}?  y within the grace period  ! at once  n no"),
            Self::Retry(task) => format!("stop the attempt at {task} and begin anew?  y yes  n no"),
            Self::Skip(task) => {
                format!("skip {task}?  y blocking what needs it  s as satisfied  n no")
            }
        }
    }

    fn answer(&self, key: KeyCode) -> Option<Ask> {
        let task = match self {
            Self::Stop(task) | Self::Retry(task) | Self::Skip(task) => task.clone(),
        };
        Some(match (self, key.as_char()?) {
            (Self::Stop(_), letter @ ('y' | '!')) => Ask::StopTask {
                task,
                now: letter == '!',
            },
            (Self::Retry(_), 'y') => Ask::Retry { task },
            (Self::Skip(_), letter @ ('y' | 's')) => Ask::Skip {
                task,
                satisfied: letter == 's',
            },
            (Self::Stop(_) | Self::Retry(_) | Self::Skip(_), _) => return None,
        })
    }
}

/// Everything on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    /// The run.
    board: Board,
    /// Whether it can be steered.
    link: Link,
    /// The time now.
    now: Timestamp,
    /// The chosen task.
    selected: Option<TaskId>,
    /// What is known of it, by the tab that is open.
    detail: Vec<String>,
    /// What keys go to.
    pane: Pane,
    /// What is shown of the chosen task.
    tab: Tab,
    /// Lines away from the end of a log, or from the beginning of anything else.
    scrolled: usize,
    /// What tasks have to contain to be shown.
    filter: String,
    /// What is being done with the keys.
    mode: Mode,
    /// What there is to say about the last key.
    notice: Option<String>,
}

impl Model {
    /// Takes in how the run stands now, and keeps what was chosen.
    fn update(&mut self, board: Board, link: Link) {
        self.board = board;
        self.link = link;
        self.keep_selection();
    }

    /// Takes in what is known of the chosen task now; a log that was scrolled back stays where it is.
    fn show(&mut self, detail: Vec<String>) {
        if self.tab == Tab::Log && self.scrolled > 0 {
            self.scrolled += detail.len().saturating_sub(self.detail.len());
        }
        self.detail = detail;
    }

    /// Returns the tasks that the filter lets through.
    fn shown(&self) -> impl Iterator<Item = &Row> {
        self.board.rows.iter().filter(|row| self.lets_through(row))
    }

    /// Whether the filter lets a task through.
    fn lets_through(&self, row: &Row) -> bool {
        let wanted = self.filter.to_lowercase();
        let words = row.halves.iter().map(|half| half.word);
        [row.id.as_str(), &row.title, &row.note, row.group.heading()]
            .into_iter()
            .chain(words)
            .any(|text| text.to_lowercase().contains(&wanted))
    }

    /// Returns the chosen task.
    fn chosen(&self) -> Option<&Row> {
        self.selected.as_ref().and_then(|id| self.board.row(id))
    }

    /// Takes a key in.
    fn press(
        &mut self,
        KeyEvent {
            code, modifiers, ..
        }: KeyEvent,
    ) -> Option<Action> {
        if modifiers.contains(KeyModifiers::CONTROL) {
            return (code == KeyCode::Char('c')).then_some(Action::Quit);
        }
        self.notice = None;
        match std::mem::take(&mut self.mode) {
            Mode::Looking => self.command(code),
            Mode::Filtering => {
                self.type_filter(code);
                None
            }
            Mode::Asking(question) => {
                let ask = question.answer(code);
                if ask.is_none() {
                    self.notice = Some("nothing was done".to_owned());
                }
                ask.map(Action::Ask)
            }
            Mode::Help => None,
        }
    }

    fn command(&mut self, key: KeyCode) -> Option<Action> {
        match key {
            KeyCode::Char('q') => return Some(Action::Quit),
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Char('1') => self.open(Tab::Log),
            KeyCode::Char('2') => self.open(Tab::Diff),
            KeyCode::Char('3') => self.open(Tab::Evidence),
            KeyCode::Char(letter) => return self.steer(letter),
            KeyCode::Tab => self.open(self.next_tab()),
            KeyCode::Enter | KeyCode::Right => self.pane = Pane::Detail,
            KeyCode::Left | KeyCode::Backspace => self.pane = Pane::Board,
            KeyCode::Esc => self.back(),
            key => match self.pane {
                Pane::Board => self.select_by(key),
                Pane::Detail => self.scroll_by(key),
            },
        }
        None
    }

    fn back(&mut self) {
        match self.pane {
            Pane::Detail => self.pane = Pane::Board,
            Pane::Board => self.show_all(),
        }
    }

    fn show_all(&mut self) {
        self.filter.clear();
        self.keep_selection();
    }

    fn steer(&mut self, letter: char) -> Option<Action> {
        if !matches!(letter, 'p' | 's' | 'r' | 'k' | 'o') {
            return None;
        }
        if self.link == Link::Over {
            self.notice = Some("the run is not live, so nothing can be steered".to_owned());
            return None;
        }
        if letter == 'p' {
            let is_paused = self.board.status == "paused";
            return Some(Action::Ask(if is_paused {
                Ask::Resume
            } else {
                Ask::Pause
            }));
        }
        let Some(row) = self.chosen() else {
            self.notice = Some("no task is chosen".to_owned());
            return None;
        };
        // To stop or skip a task means its RED, too, as long as that is open; an attempt is that of a half.
        let (task, half) = (row.id.clone(), row.current());
        let (half, is_under_way) = (half.id.clone(), half.is_under_way);
        match letter {
            's' => self.mode = Mode::Asking(Question::Stop(task)),
            'k' => self.mode = Mode::Asking(Question::Skip(task)),
            'r' if is_under_way => self.mode = Mode::Asking(Question::Retry(half)),
            'r' => return Some(Action::Ask(Ask::Retry { task: half })),
            'o' if is_under_way => return Some(Action::Shell(half)),
            _ => {
                self.notice = Some(format!(
                    "{task} has no worktree now; `tm worktrees list` shows its branch"
                ));
            }
        }
        None
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => return,
            KeyCode::Esc => return self.show_all(),
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace => {
                self.filter.pop();
            }
            _ => {}
        }
        self.mode = Mode::Filtering;
        self.keep_selection();
    }

    fn open(&mut self, tab: Tab) {
        self.tab = tab;
        self.pane = Pane::Detail;
        self.scrolled = 0;
        self.detail.clear();
    }

    fn next_tab(&self) -> Tab {
        match self.tab {
            Tab::Log => Tab::Diff,
            Tab::Diff => Tab::Evidence,
            Tab::Evidence => Tab::Log,
        }
    }

    fn scroll_by(&mut self, key: KeyCode) {
        let last = self.detail.len().saturating_sub(1);
        self.scrolled = match self.tab {
            // A log is measured from its end.
            Tab::Log => last - moved(key, last.saturating_sub(self.scrolled), last),
            Tab::Diff | Tab::Evidence => moved(key, self.scrolled, last),
        };
    }

    fn select_by(&mut self, key: KeyCode) {
        let ids = self.shown().map(|row| &row.id).collect_vec();
        let Some(last) = ids.len().checked_sub(1) else {
            return;
        };
        let now = ids.iter().position(|id| self.selected.as_ref() == Some(id));
        let next = ids[moved(key, now.unwrap_or(0), last)].clone();
        self.select(Some(next));
    }

    /// Chooses the first task that is shown when the chosen one is not, one at work before the others.
    fn keep_selection(&mut self) {
        if self.chosen().is_some_and(|row| self.lets_through(row)) {
            return;
        }
        let first = self
            .shown()
            .find(|row| row.group == Group::AtWork)
            .or_else(|| self.shown().next())
            .map(|row| row.id.clone());
        self.select(first);
    }

    fn select(&mut self, id: Option<TaskId>) {
        if self.selected != id {
            self.selected = id;
            self.scrolled = 0;
            self.detail.clear();
        }
    }
}

/// Where a key leads from one of several places.
fn moved(key: KeyCode, from: usize, last: usize) -> usize {
    let to = match key {
        KeyCode::Up => from.saturating_sub(1),
        KeyCode::Down => from + 1,
        KeyCode::PageUp => from.saturating_sub(PAGE),
        KeyCode::PageDown => from + PAGE,
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => from,
    };
    to.min(last)
}
