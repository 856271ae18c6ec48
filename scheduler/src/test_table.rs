//! Tables of tests that are written as text, a line a case.

/// The columns of each line of a table.
pub(crate) fn rows<const COLUMNS: usize>(table: &str) -> impl Iterator<Item = [&str; COLUMNS]> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        columns.try_into().expect("as many columns as there are")
    })
}
