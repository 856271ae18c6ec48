//! Changes a status line by line, where each task is a block of lines. Fast; every other layout is for `patch`.

use tm_scheduler::{Status, TaskId};

/// Changes the status of one task in the text; `None` when it is not laid out as a block of lines.
pub(super) fn set_status(text: &str, id: &TaskId, status: &Status) -> Option<String> {
    let (parent, number) = match id.as_str().split_once('.') {
        Some((parent, number)) => (Some(parent), number),
        None => (None, id.as_str()),
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut start = 0;
    if let Some(parent) = parent {
        start = find_entry(&lines, 0, parent)? + 1;
    }
    let at = find_entry(&lines, start, number).or_else(|| find_entry(&lines, 0, id.as_str()))?;
    let column = key_column(lines[at]);
    let is_of_entry = |line: &&&str| {
        line.trim().is_empty() || key_column(line) >= column && !begins_entry(line, column)
    };
    let length = lines[at + 1..].iter().take_while(is_of_entry).count();
    let before = lines[..at]
        .iter()
        .rev()
        .take_while(|line| key_column(line) >= column)
        .count();
    let from = at
        - before.min(if begins_entry(lines[at], column) {
            0
        } else {
            before
        });
    let found = (from..=at + length)
        .find(|&line| key_column(lines[line]) == column && key(lines[line]) == Some("status"));
    let mut edited: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    match found {
        Some(line) => edited[line] = with_value(lines[line], status)?,
        None => edited.insert(at + 1, format!("{}status: {status}\n", " ".repeat(column))),
    }
    Some(edited.concat())
}

/// Returns the line that holds the id.
fn find_entry(lines: &[&str], start: usize, id: &str) -> Option<usize> {
    let holds_it =
        |line: &str| key(line) == Some("id") && value(line).trim_matches(['"', '\'']) == id;
    (start..lines.len()).find(|&line| holds_it(lines[line]))
}

/// Where the key of a line begins, behind the dashes of a list.
fn key_column(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}

fn begins_entry(line: &str, column: usize) -> bool {
    line[..column.min(line.len())].contains('-')
}

fn key(line: &str) -> Option<&str> {
    let (key, _) = line.trim_start_matches([' ', '-']).split_once(':')?;
    Some(key.trim_matches(['"', '\'']))
}

fn value(line: &str) -> &str {
    let value = line.split_once(':').map_or("", |(_, value)| value);
    value
        .split_once(" #")
        .map_or(value, |(value, _)| value)
        .trim()
}

fn with_value(line: &str, status: &Status) -> Option<String> {
    let old = value(line);
    let start = line.find(':')? + 1;
    if old.is_empty() {
        return Some(format!("{} {status}{}", &line[..start], &line[start..]));
    }
    let at = start + line[start..].find(old)?;
    Some(format!(
        "{}{status}{}",
        &line[..at],
        &line[at + old.len()..]
    ))
}
