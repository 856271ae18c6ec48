//! Text in columns: the one way in which tables are laid out for people.

use comfy_table::{ContentArrangement, Table, presets};

/// Returns rows of cells as lines, each column as wide as its widest cell; where there is a width, cells go on in further
/// lines so that no line is wider.
pub fn columns<R: AsRef<[String]>>(rows: &[R], width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    for row in rows {
        table.add_row(row.as_ref());
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines();
    lines
        .flat_map(|line| [line.trim_end().to_owned(), "\n".to_owned()])
        .collect()
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
