//! How the model looks. Pure: a model in, a frame out, at any size, with or without colour.
//!
//! Everything that colour says is said in words as well.

use super::board::{Cell, Row, Tone};
use super::{Mode, Model, Pane, Tab};
use crate::screen::clock;
use crate::screen::layout::phase;
use itertools::Itertools as _;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

/// From so many columns on, tasks and the chosen task stand side by side.
const WIDE: u16 = 110;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Palette {
    /// They are.
    Colour,
    /// Bold, dim and reversed only.
    Plain,
}

impl Palette {
    fn of(self, tone: Tone) -> Style {
        let style = Style::new();
        match (self, tone) {
            (_, Tone::Quiet) => style.dim(),
            (Self::Plain, Tone::Bad) => style.bold(),
            (Self::Plain, Tone::Waiting | Tone::Active | Tone::Good) => style,
            (Self::Colour, Tone::Waiting) => style.fg(Color::Yellow),
            (Self::Colour, Tone::Active) => style.fg(Color::Cyan),
            (Self::Colour, Tone::Good) => style.fg(Color::Green),
            (Self::Colour, Tone::Bad) => style.fg(Color::Red),
        }
    }

    fn diff_line(self, line: String) -> Line<'static> {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            Some(b'@') => Tone::Active,
            Some(b' ') | None => return Line::from(line),
            Some(_) => Tone::Quiet,
        };
        Line::styled(line, self.of(tone))
    }
}

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, palette: Palette) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let headline = model.board.headline(model.now, head.width.into());
    frame.render_widget(Paragraph::new(fit(&headline, head.width)).reversed(), head);
    if head.width >= WIDE {
        let [left, gap, right] = Layout::horizontal([
            Constraint::Percentage(40),
            Constraint::Length(3),
            Constraint::Fill(1),
        ])
        .areas(body);
        board(frame, left, model, palette);
        let bars = vec![Line::from(" | "); usize::from(gap.height)];
        frame.render_widget(Paragraph::new(bars).dim(), gap);
        detail(frame, right, model, palette);
    } else {
        match model.pane {
            Pane::Board => board(frame, body, model, palette),
            Pane::Detail => detail(frame, body, model, palette),
        }
    }
    frame.render_widget(
        Paragraph::new(fit(&footer(model), foot.width)).reversed(),
        foot,
    );
    if model.mode == Mode::Help {
        help(frame, body);
    }
}

fn footer(model: &Model) -> String {
    let words = match (&model.mode, &model.notice, model.pane) {
        (Mode::Asking(question), _, _) => question.describe(),
        (Mode::Filtering, _, _) => format!("/{}_   enter keep  esc clear", model.filter),
        (Mode::Looking | Mode::Help, Some(notice), _) => notice.clone(),
        (Mode::Looking | Mode::Help, None, Pane::Board) => {
            "enter open  p pause  s stop  r retry  k skip  o shell  / filter  ? help  q quit"
                .to_owned()
        }
        (Mode::Looking | Mode::Help, None, Pane::Detail) => {
            "esc back  tab log/diff/evidence  arrows scroll  s stop  r retry  ? help  q quit"
                .to_owned()
        }
    };
    format!(" {words}")
}

/// Draws the tasks by how they stand, so that the chosen one is on the screen.
fn board(frame: &mut Frame<'_>, area: Rect, model: &Model, palette: Palette) {
    let rows = &model.board.rows;
    let ids = rows.iter().map(|row| row.id.as_str().chars().count());
    let columns = Columns {
        id: ids.max().unwrap_or(0),
        has_pairs: rows.iter().any(|row| row.red().is_some()),
    };
    let (head, area) = if columns.has_pairs {
        let layout = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]);
        let [head, rest] = layout.areas(area);
        (Some(head), rest)
    } else {
        (None, area)
    };
    if let Some(head) = head {
        frame.render_widget(Paragraph::new(columns.heads()).dim(), head);
    }
    let (mut lines, mut chosen_at) = (Vec::new(), 0);
    for (group, rows) in &model.shown().chunk_by(|row| row.group) {
        let rows = rows.collect_vec();
        lines.push(Line::from(format!("{}  {}", group.heading(), rows.len())).bold());
        for row in rows {
            let is_chosen = model.selected.as_ref() == Some(&row.id);
            if is_chosen {
                chosen_at = lines.len();
            }
            lines.push(columns.line(row, is_chosen, model, palette));
        }
    }
    if lines.is_empty() {
        lines.push(Line::from(match model.filter.as_str() {
            "" => "there is no task".to_owned(),
            filter => format!("no task matches `{filter}`; esc shows all"),
        }));
    }
    let height = usize::from(area.height);
    // The heading above the first task of a group is worth a line.
    let first = (chosen_at + 2)
        .saturating_sub(height)
        .min(lines.len().saturating_sub(height));
    let visible: Vec<Line<'_>> = lines.into_iter().skip(first).take(height).collect();
    frame.render_widget(Paragraph::new(visible), area);
}

/// So wide is the cell of a half.
const CELL: usize = 11;

/// What the rows of tasks are made of.
struct Columns {
    /// So wide is the widest id.
    id: usize,
    /// Whether there is a cell for RED.
    has_pairs: bool,
}

impl Columns {
    fn heads(&self) -> String {
        format!("  {:id$}  {:CELL$} GREEN", "", "RED", id = self.id)
    }

    fn line<'a>(&self, row: &'a Row, is_chosen: bool, model: &Model, palette: Palette) -> Line<'a> {
        let marker = if is_chosen { "> " } else { "  " };
        let since = row.since.map(|since| clock(model.now.since(since)));
        let note: String = [row.note.clone(), since.unwrap_or_default()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .flat_map(|text| [text, "  ".to_owned()])
            .collect();
        let cell = |half: Option<&Cell>| {
            let style = half.map_or(Style::new(), |half| palette.of(half.tone));
            let word = half.map_or("", |half| half.word);
            Span::styled(format!("{word:CELL$} "), style)
        };
        let red = self.has_pairs.then(|| cell(row.red()));
        let id = Span::raw(format!("{marker}{:id$}  ", row.id.as_str(), id = self.id));
        let line: Line<'_> = [id]
            .into_iter()
            .chain(red)
            .chain([
                cell(Some(row.work())),
                note.into(),
                row.title.as_str().into(),
            ])
            .collect();
        if is_chosen { line.bold() } else { line }
    }
}

fn detail(frame: &mut Frame<'_>, area: Rect, model: &Model, palette: Palette) {
    let [head, tabs, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
    ])
    .areas(area);
    let Some(row) = model.chosen() else {
        frame.render_widget(Paragraph::new("no task is chosen"), head);
        return;
    };
    let halves = row.halves.iter().flat_map(|half| {
        let name = match row.red() {
            Some(_) => format!("{} ", phase(half.phase)),
            None => String::new(),
        };
        let word = Span::styled(format!("{} ", half.word), palette.of(half.tone));
        [Span::raw(name), word]
    });
    let heading: Line<'_> = [format!("{} ", row.id).bold()]
        .into_iter()
        .chain(halves)
        .chain([row.title.as_str().into()])
        .collect();
    frame.render_widget(Paragraph::new(heading), head);
    frame.render_widget(Paragraph::new(tab_line(model.tab)), tabs);
    let lines = visible(model, usize::from(body.width), usize::from(body.height))
        .into_iter()
        .map(|line| match model.tab {
            Tab::Diff => palette.diff_line(line),
            Tab::Log | Tab::Evidence => Line::from(line),
        });
    frame.render_widget(Paragraph::new(lines.collect_vec()), body);
}

fn tab_line(open: Tab) -> Line<'static> {
    let span = |(number, &tab): (usize, &Tab)| match tab.name() {
        name if tab == open => format!("[{number} {name}] ").bold(),
        name => format!(" {number} {name}  ").dim(),
    };
    (1..).zip(&Tab::ALL).map(span).collect()
}

/// The lines of the open tab that fit, long ones folded; a log from its end, anything else from its beginning.
fn visible(model: &Model, width: usize, height: usize) -> Vec<String> {
    let lines = &model.detail;
    match model.tab {
        Tab::Log => {
            let end = lines.len().saturating_sub(model.scrolled);
            let mut folded: Vec<String> = Vec::new();
            for line in lines[..end].iter().rev() {
                if folded.len() >= height {
                    break;
                }
                folded.extend(fold(line, width).into_iter().rev());
            }
            folded.truncate(height);
            folded.reverse();
            folded
        }
        Tab::Diff => lines
            .iter()
            .skip(model.scrolled)
            .take(height)
            .cloned()
            .collect(),
        Tab::Evidence => lines
            .iter()
            .skip(model.scrolled)
            .flat_map(|line| fold(line, width))
            .take(height)
            .collect(),
    }
}

/// Breaks a line where the screen ends.
fn fold(line: &str, width: usize) -> Vec<String> {
    if line.len() <= width || width == 0 {
        return vec![line.to_owned()];
    }
    let (mut folded, mut current, mut used) = (Vec::new(), String::new(), 0);
    for letter in line.chars() {
        let wide = Span::raw(letter.to_string()).width();
        if used + wide > width && !current.is_empty() {
            folded.push(std::mem::take(&mut current));
            used = 0;
        }
        current.push(letter);
        used += wide;
    }
    folded.push(current);
    folded
}

/// Cuts a line where the screen ends, and fills it up to there.
fn fit(line: &str, width: u16) -> String {
    let width = usize::from(width);
    let cut = fold(line, width).into_iter().next().unwrap_or_default();
    format!("{cut:width$}")
}

const HELP: [&str; 18] = [
    "arrows, page up and down, home, end   choose a task, or scroll what is shown of it",
    "enter, right   open the task          esc, left   back to the tasks",
    "tab, 1, 2, 3   log, diff, evidence",
    "/              show only tasks that contain a text; esc shows all again",
    "",
    "p   pause the run: nothing more is started; again: let it go on",
    "s   stop the task: its work is kept, what needs it is blocked",
    "r   retry the task: a fresh attempt, for one that failed or is under way",
    "k   skip the task: it is left out of the run",
    "o   open a shell in the worktree of the task; leaving it comes back here",
    "",
    "q   leave; the run goes on",
    "",
    "waiting: for what it needs    ready: for a slot      paused: before the next attempt",
    "held: RED is done, and lands with its GREEN    landed: on the integration branch",
    "blocked: what it needs failed or was skipped",
    "",
    "any key closes this",
];

fn help(frame: &mut Frame<'_>, area: Rect) {
    frame.render_widget(Clear, area);
    let mut lines = HELP.iter().flat_map(|line| fold(line, area.width.into()));
    frame.render_widget(Paragraph::new(lines.join("\n")), area);
}
