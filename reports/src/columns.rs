//! Text in columns: the one way in which tables are laid out for people.

use std::fmt::Write as _;

/// Returns rows of cells as lines, each column as wide as its widest cell; the last cell of a row goes on in further
/// lines where the row would be wider than `width`.
pub fn columns<R: AsRef<[String]>>(rows: &[R], width: usize) -> String {
    let mut widths = Vec::new();
    for row in rows {
        let cells = row.as_ref();
        widths.resize(widths.len().max(cells.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(cells) {
            *widest = cell.chars().count().max(*widest);
        }
    }
    let mut text = String::new();
    for row in rows {
        let Some((last, cells)) = row.as_ref().split_last() else {
            continue;
        };
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        let margin = line.chars().count();
        for part in folded(last, width.saturating_sub(margin).max(20)) {
            text += (line + &part).trim_end();
            text.push('\n');
            line = " ".repeat(margin);
        }
    }
    text
}

/// The lines of a text that is broken at blanks.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one line at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_as_wide_as_they_need_and_the_last_one_is_folded() {
        let row = |cells: [&str; 3]| cells.map(ToOwned::to_owned);
        let rows = [
            row(["ID", "", "TITLE"]),
            row(["10.1", "é", "one that is longer than there is room"]),
            row(["2", "x", ""]),
        ];
        insta::assert_snapshot!(columns(&rows, 30), @"
        ID       TITLE
        10.1  é  one that is longer
                 than there is room
        2     x
        ");
    }
}
