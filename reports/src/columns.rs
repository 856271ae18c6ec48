//! Text in columns: the one way in which tables are laid out for people.

use crate::fold::{columns_of, fold};
use std::borrow::Cow;
use std::iter::repeat_n;

/// Columns between two columns.
pub(crate) const GAP: usize = 2;
/// No column is made narrower than this for want of room.
const NARROWEST: usize = 10;

/// Returns rows of cells as lines, each column as wide as its widest cell; where there is a width, cells go on in further
/// lines so that no line is wider: the widest column gives way first.
pub fn columns<C: AsRef<str>, R: AsRef<[C]>>(rows: &[R], width: Option<u16>) -> String {
    let widths = widths(rows, width.map_or(usize::MAX, usize::from));
    let mut text = String::new();
    for row in rows {
        add_lines(&mut text, row.as_ref(), &widths);
    }
    text
}

fn widths<C: AsRef<str>, R: AsRef<[C]>>(rows: &[R], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        let cells = row.as_ref();
        widths.resize(widths.len().max(cells.len()), 0);
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = columns_of(cell.as_ref()).max(*width);
        }
    }
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NARROWEST => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// Adds the lines of one row.
fn add_lines<C: AsRef<str>>(text: &mut String, cells: &[C], widths: &[usize]) {
    let folded: Vec<Vec<Cow<'_, str>>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, &width)| fold(cell.as_ref(), width))
        .collect();
    let height = folded.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        let begin = text.len();
        for (parts, width) in folded.iter().zip(widths) {
            let part = parts.get(at).map_or("", Cow::as_ref);
            *text += part;
            text.extend(repeat_n(' ', width - columns_of(part) + GAP));
        }
        text.truncate(begin + text[begin..].trim_end().len());
        text.push('\n');
    }
}

/// A title in a list has so many characters at the most.
const LISTED_TITLE: usize = 200;

/// Returns a title as lists show it: one line that is not too long.
pub fn listed(title: &str) -> String {
    tm_untrusted::line(title, LISTED_TITLE)
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_as_wide_as_they_need_and_folded_where_there_is_no_room() {
        let row = |cells: [&str; 3]| cells.map(ToOwned::to_owned);
        let rows = [
            row(["ID", "", "TITLE"]),
            row(["10.1", "é", "one that is longer than there is room"]),
            row(["2", "x", ""]),
        ];
        insta::assert_snapshot!(columns(&rows, Some(30)), @"
        ID       TITLE
        10.1  é  one that is longer
                 than there is room
        2     x
        ");
    }
}
