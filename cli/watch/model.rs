//! What is seen on the screen, and what a key does to it. Pure: a key in, perhaps something to do out.

use super::board::{Board, Link, Row};
use tm_runtime::steering::Ask;
use tm_scheduler::{TaskId, Timestamp};

/// So many lines are one page.
const PAGE: usize = 10;

/// A key, whatever terminal it was pressed at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    Interrupt,
}

/// Something to do outside of the screen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    /// Leave.
    Quit,
    /// Ask the live run.
    Ask(Ask),
    /// Open a shell in the task's worktree.
    Shell(TaskId),
}

/// What keys go to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Pane {
    /// The tasks by wave.
    #[default]
    Board,
    /// The chosen task.
    Detail,
}

/// What is shown of the chosen task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Tab {
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
    pub(crate) const ALL: [Self; 3] = [Self::Log, Self::Diff, Self::Evidence];

    /// Returns the name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Diff => "diff",
            Self::Evidence => "evidence",
        }
    }
}

/// What is being done with the keys.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum Mode {
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
pub(crate) enum Question {
    /// Whether and how to stop the task.
    Stop(TaskId),
    /// Whether to stop its attempt and begin anew.
    Retry(TaskId),
    /// Whether and how to leave it out.
    Skip(TaskId),
}

impl Question {
    /// Returns the question with its answers.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Stop(task) => format!("stop {task}?  y within the grace period  ! at once  n no"),
            Self::Retry(task) => format!("stop the attempt at {task} and begin anew?  y yes  n no"),
            Self::Skip(task) => {
                format!("skip {task}?  y blocking what needs it  s as satisfied  n no")
            }
        }
    }

    fn answer(&self, key: Key) -> Option<Ask> {
        match (self, key) {
            (Self::Stop(task), Key::Char('y')) => Some(Ask::StopTask {
                task: task.clone(),
                now: false,
            }),
            (Self::Stop(task), Key::Char('!')) => Some(Ask::StopTask {
                task: task.clone(),
                now: true,
            }),
            (Self::Retry(task), Key::Char('y')) => Some(Ask::Retry { task: task.clone() }),
            (Self::Skip(task), Key::Char('y')) => Some(Ask::Skip {
                task: task.clone(),
                satisfied: false,
            }),
            (Self::Skip(task), Key::Char('s')) => Some(Ask::Skip {
                task: task.clone(),
                satisfied: true,
            }),
            (Self::Stop(_) | Self::Retry(_) | Self::Skip(_), _) => None,
        }
    }
}

/// Everything on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    /// The run.
    pub(crate) board: Board,
    /// Whether it can be steered.
    pub(crate) link: Link,
    /// The time now.
    pub(crate) now: Timestamp,
    /// The chosen task.
    pub(crate) selected: Option<TaskId>,
    /// What is known of it, by the tab that is open.
    pub(crate) detail: Vec<String>,
    /// What keys go to.
    pub(crate) pane: Pane,
    /// What is shown of the chosen task.
    pub(crate) tab: Tab,
    /// Lines away from the end of a log, or from the beginning of anything else.
    pub(crate) scrolled: usize,
    /// What tasks have to contain to be shown.
    pub(crate) filter: String,
    /// What is being done with the keys.
    pub(crate) mode: Mode,
    /// What there is to say about the last key.
    pub(crate) notice: Option<String>,
}

impl Model {
    /// Takes in how the run stands now, and keeps what was chosen.
    pub(crate) fn update(&mut self, board: Board, link: Link) {
        self.board = board;
        self.link = link;
        self.keep_selection();
    }

    /// Takes in what is known of the chosen task now; a log that was scrolled back stays where it is.
    pub(crate) fn show(&mut self, detail: Vec<String>) {
        if self.tab == Tab::Log && self.scrolled > 0 {
            self.scrolled += detail.len().saturating_sub(self.detail.len());
        }
        self.detail = detail;
    }

    /// Returns the tasks that the filter lets through.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Row> {
        self.board.rows().filter(|row| self.lets_through(row))
    }

    /// Whether the filter lets a task through.
    pub(crate) fn lets_through(&self, row: &Row) -> bool {
        let wanted = self.filter.to_lowercase();
        [row.id.as_str(), &row.title, row.word, &row.note]
            .iter()
            .any(|text| text.to_lowercase().contains(&wanted))
    }

    /// Returns the chosen task.
    pub(crate) fn chosen(&self) -> Option<&Row> {
        self.selected.as_ref().and_then(|id| self.board.row(id))
    }

    /// Takes a key in.
    pub(crate) fn press(&mut self, key: Key) -> Option<Action> {
        if key == Key::Interrupt {
            return Some(Action::Quit);
        }
        self.notice = None;
        match std::mem::take(&mut self.mode) {
            Mode::Looking => self.command(key),
            Mode::Filtering => {
                self.type_filter(key);
                None
            }
            Mode::Asking(question) => {
                let ask = question.answer(key);
                if ask.is_none() {
                    self.notice = Some("nothing was done".to_owned());
                }
                ask.map(Action::Ask)
            }
            Mode::Help => None,
        }
    }

    fn command(&mut self, key: Key) -> Option<Action> {
        match key {
            Key::Char('q') => return Some(Action::Quit),
            Key::Char('?') => self.mode = Mode::Help,
            Key::Char('/') => self.mode = Mode::Filtering,
            Key::Char('1') => self.open(Tab::Log),
            Key::Char('2') => self.open(Tab::Diff),
            Key::Char('3') => self.open(Tab::Evidence),
            Key::Tab => self.open(self.next_tab()),
            Key::Enter | Key::Right => self.pane = Pane::Detail,
            Key::Left | Key::Backspace => self.pane = Pane::Board,
            Key::Escape => self.back(),
            Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Home | Key::End => {
                self.move_by(key);
            }
            Key::Char(letter) => return self.steer(letter),
            Key::Interrupt => {}
        }
        None
    }

    fn back(&mut self) {
        match self.pane {
            Pane::Detail => self.pane = Pane::Board,
            Pane::Board => {
                self.filter.clear();
                self.keep_selection();
            }
        }
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
        let (task, is_under_way) = (row.id.clone(), row.is_under_way);
        match letter {
            's' => self.mode = Mode::Asking(Question::Stop(task)),
            'k' => self.mode = Mode::Asking(Question::Skip(task)),
            'r' if is_under_way => self.mode = Mode::Asking(Question::Retry(task)),
            'r' => return Some(Action::Ask(Ask::Retry { task })),
            'o' if is_under_way => return Some(Action::Shell(task)),
            _ => {
                self.notice = Some(format!(
                    "{task} has no worktree now; `tm worktrees list` shows its branch"
                ));
            }
        }
        None
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => return,
            Key::Escape => {
                self.filter.clear();
                self.keep_selection();
                return;
            }
            Key::Char(letter) => self.filter.push(letter),
            Key::Backspace => {
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

    fn move_by(&mut self, key: Key) {
        match self.pane {
            Pane::Board => self.select_by(key),
            Pane::Detail => {
                let last = self.detail.len().saturating_sub(1);
                let step = self.scrolled;
                // A log is measured from its end, so up is further away from there.
                let (up, down) = match self.tab {
                    Tab::Log => (1, -1),
                    Tab::Diff | Tab::Evidence => (-1, 1),
                };
                let by = |direction: isize, lines: usize| match direction {
                    1 => step.saturating_add(lines).min(last),
                    _ => step.saturating_sub(lines),
                };
                self.scrolled = match key {
                    Key::Up => by(up, 1),
                    Key::Down => by(down, 1),
                    Key::PageUp => by(up, PAGE),
                    Key::PageDown => by(down, PAGE),
                    Key::Home => by(up, usize::MAX),
                    Key::End => by(down, usize::MAX),
                    _ => step,
                };
            }
        }
    }

    fn select_by(&mut self, key: Key) {
        let ids: Vec<TaskId> = self.shown().map(|row| row.id.clone()).collect();
        let Some(last) = ids.len().checked_sub(1) else {
            return;
        };
        let now = self
            .selected
            .as_ref()
            .and_then(|id| ids.iter().position(|other| other == id))
            .unwrap_or(0);
        let next = match key {
            Key::Up => now.saturating_sub(1),
            Key::Down => now + 1,
            Key::PageUp => now.saturating_sub(PAGE),
            Key::PageDown => now + PAGE,
            Key::Home => 0,
            Key::End => last,
            _ => now,
        };
        self.select(Some(ids[next.min(last)].clone()));
    }

    /// Chooses the first task that is shown when the chosen one is not, one at work before the others.
    fn keep_selection(&mut self) {
        let is_shown = |id: &TaskId| self.shown().any(|row| row.id == *id);
        if self.selected.as_ref().is_some_and(is_shown) {
            return;
        }
        let first = self
            .shown()
            .find(|row| row.is_under_way)
            .or_else(|| self.shown().next());
        let first = first.map(|row| row.id.clone());
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
