//! Rows of one line each, for lists that are long.

use crate::columns::GAP;
use crate::fold::{columns_of, cut};
use crate::terminal::{Tone, toned};

/// What stands in a column, and in which tone.
#[derive(Clone, Debug)]
pub struct Cell(pub String, pub Option<Tone>);

/// The last column keeps so many columns, also where that is more than there is room for.
const NARROWEST_LAST: usize = 20;

/// Returns rows of cells, of which the first are the heads, as one line each: columns in which nothing stands are left
/// out, and the last cell is cut where there is no room.
pub fn one_line_each(rows: &[Vec<Cell>], width: usize) -> String {
    let last = rows
        .first()
        .map_or(0, |heads| heads.len().saturating_sub(1));
    let is_used = |column: &usize| {
        *column == last || rows.iter().skip(1).any(|row| !row[*column].0.is_empty())
    };
    let used: Vec<usize> = (0..=last).filter(is_used).collect();
    let widest = |column: usize| rows.iter().map(|row| columns_of(&row[column].0)).max();
    let before: Vec<usize> = used
        .iter()
        .filter(|column| **column != last)
        .copied()
        .map(|column| widest(column).unwrap_or(0))
        .collect();
    let taken: usize = before.iter().map(|width| width + GAP).sum();
    let room = width.saturating_sub(taken).max(NARROWEST_LAST);
    let line = |row: &Vec<Cell>| {
        let mut line = String::new();
        for (&column, &width) in used.iter().zip(&before) {
            let Cell(text, tone) = &row[column];
            line += &in_tone(text, *tone);
            line += &" ".repeat(width - columns_of(text) + GAP);
        }
        let Cell(text, tone) = &row[last];
        line += &in_tone(&cut(text, room), *tone);
        line.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn in_tone(text: &str, tone: Option<Tone>) -> String {
    tone.map_or_else(|| text.to_owned(), |tone| toned(text, tone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_line_leave_out_what_is_empty_and_cut_what_comes_last() {
        let row = |cells: [&str; 4]| cells.map(|cell| Cell(cell.to_owned(), None)).to_vec();
        let rows = [
            row(["ID", "SIZE", "WHO", "TITLE"]),
            row(["10.1", "", "é", "one that is longer than there is room"]),
            row(["2", "", "日本", "日本語日本語日本語日本語日本語"]),
            row(["3", "", "x", ""]),
        ];
        insta::assert_snapshot!(one_line_each(&rows, 30), @"
        ID    WHO   TITLE
        10.1  é     one that is longer …
        2     日本  日本語日本語日本語…
        3     x
        ");
        assert_eq!(one_line_each(&[], 30), "");
    }
}
