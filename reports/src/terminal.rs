//! Text on its way to a terminal: tones, cells of tables, and how wide it may be.
//!
//! Layouts mark what is in a tone and where cells end; whoever prints says how wide the terminal is and whether it shows
//! colours. Marks are control characters, which texts of others never hold: those are taken out where they come in. Knows
//! no terminal.

use crate::columns::columns;
use crate::fold::fold;
use itertools::Itertools as _;

/// What a colour says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tone {
    /// Is going on.
    Busy,
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
    /// Is worth less than it looks, or waits for somebody.
    Weak,
    /// Waits, or matters less.
    Quiet,
    /// Heads something.
    Strong,
}

/// Every tone, at the place that its mark names.
const TONES: [(Tone, char, &str); 6] = [
    (Tone::Busy, '\u{11}', "36"),
    (Tone::Good, '\u{12}', "32"),
    (Tone::Bad, '\u{13}', "31"),
    (Tone::Weak, '\u{14}', "33"),
    (Tone::Quiet, '\u{15}', "2"),
    (Tone::Strong, '\u{16}', "1"),
];
/// Ends what is in a tone.
const END: char = '\u{17}';
/// Ends a cell of a table.
const CELL: char = '\u{1f}';
/// How a terminal is told to begin a tone, and to end it.
const RESET: &str = "\u{1b}[0m";

impl Tone {
    /// Returns the number by which a terminal knows it (ECMA-48, select graphic rendition).
    pub fn code(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (Self, char, &'static str) {
        let mut rows = TONES.into_iter();
        rows.find(|row| row.0 == self).expect("each tone has a row")
    }

    /// Returns the tone in which the status of a run is shown.
    pub(crate) fn of_run(status: &str) -> Self {
        match status {
            "completed" => Self::Good,
            "failed" | "unreadable" | "refused" => Self::Bad,
            "running" => Self::Busy,
            _ => Self::Weak,
        }
    }

    /// Returns the tone in which a state of a task is shown.
    pub(crate) fn of_state(state: &str) -> Self {
        match state {
            "landed" | "held" | "pass" | "done" => Self::Good,
            "failed" | "in doubt" | "fail" => Self::Bad,
            "blocked" | "paused" | "skipped" | "partial" => Self::Weak,
            "waiting" | "ready" | "not-run" | "" => Self::Quiet,
            _ => Self::Busy,
        }
    }
}

/// Returns text in a tone.
pub fn toned(text: &str, tone: Tone) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{}{text}{END}", tone.row().1)
}

/// Returns lines of cells, which a tab ends, as the rows of a table.
pub(crate) fn table(lines: &str) -> String {
    lines.replace('\t', CELL.to_string().as_str())
}

/// Whether colours are shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Colours {
    /// They are.
    On,
    /// They are not.
    Off,
}

/// What text is set for.
#[derive(Clone, Copy, Debug)]
pub struct Sheet {
    /// Columns; where none are given, no line is folded.
    pub width: Option<u16>,
    /// Whether colours are shown.
    pub colours: Colours,
}

impl Sheet {
    /// What is read by programs, or from a file.
    pub const PLAIN: Self = Self {
        width: None,
        colours: Colours::Off,
    };

    /// Returns text of a layout with its tables laid out, its lines folded and its tones shown. Whatever it tells of, it
    /// holds no other order to the terminal.
    pub fn set(self, text: &str) -> String {
        let is_table = |line: &&str| line.contains(CELL);
        let blocks = text.lines().chunk_by(is_table);
        let mut set = String::new();
        for (is_table, lines) in &blocks {
            if is_table {
                let rows = lines.map(|line| line.split(CELL).collect_vec());
                set += &columns(&rows.collect_vec(), self.width);
            } else {
                let folded = lines.flat_map(|line| self.folded(line));
                set.extend(folded.map(|line| line + "\n"));
            }
        }
        self.painted(&set)
    }

    /// Lines go on below where their words began.
    fn folded(self, line: &str) -> Vec<String> {
        let Some(width) = self.width.map(usize::from) else {
            return vec![line.to_owned()];
        };
        let words = line.trim_start();
        let indent = &line[..line.len() - words.len()];
        let room = width.saturating_sub(indent.len()).max(1);
        let folded = fold(words, room).into_iter();
        folded.map(|words| format!("{indent}{words}")).collect()
    }

    /// Returns text with its tones shown, and nothing else that is an order.
    pub fn painted(self, text: &str) -> String {
        let mut painted = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(is_mark) {
            painted += &tm_untrusted::shown(&rest[..at]);
            let mark = rest[at..].chars().next().expect("it was found");
            if self.colours == Colours::On {
                painted += &order(mark);
            }
            rest = &rest[at + mark.len_utf8()..];
        }
        painted + &tm_untrusted::shown(rest)
    }
}

fn is_mark(letter: char) -> bool {
    letter == END || TONES.iter().any(|row| row.1 == letter)
}

fn order(mark: char) -> String {
    let tone = TONES.iter().find(|row| row.1 == mark);
    tone.map_or_else(|| RESET.to_owned(), |row| format!("\u{1b}[{}m", row.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tones_are_shown_where_colours_are_and_nothing_else_is_an_order() {
        let text = format!("{} \u{1b}[31mx\u{7}", toned("ok", Tone::Good));
        let on = Sheet {
            colours: Colours::On,
            ..Sheet::PLAIN
        };
        assert_eq!(on.painted(&text), "\u{1b}[32mok\u{1b}[0m x");
        assert_eq!(Sheet::PLAIN.painted(&text), "ok x");
    }

    #[test]
    fn lines_are_folded_between_words_and_tables_laid_out_by_what_is_seen() {
        let text = format!(
            "  some words that are folded\n{}a_very_long_name_that_has_no_end\n",
            table(&format!(
                "{}\tTITLE\nlonger\tone\n",
                toned("ID", Tone::Strong)
            ))
        );
        let sheet = Sheet {
            width: Some(16),
            ..Sheet::PLAIN
        };
        insta::assert_snapshot!(sheet.set(&text), @"
          some words
          that are
          folded
        ID      TITLE
        longer  one
        a_very_long_name
        _that_has_no_end
        ");
    }
}
