//! What tasks found out, kept in one file and chosen for a prompt: by kinship, by size, each thing once.
//!
//! Knows the text of that file; not whose agent reads it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use tm_scheduler::TaskId;

/// So many bytes go into a prompt, and so many of what one task found out.
pub(crate) const LEARNT_BYTES: usize = 16 * 1024;
const ENTRY_BYTES: usize = 4 * 1024;

/// The line before what a task found out; people who read the file as Markdown don't see it.
const MARK: &str = "<!-- found out by ";
const MARK_END: &str = " -->";

/// What one attempt found out.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Entry<'a> {
    task: TaskId,
    text: &'a str,
}

/// Returns what an attempt found out as it is added to the file.
pub(crate) fn entry(task: &TaskId, title: &str, text: &str) -> String {
    let text = text.replace(MARK, "<!-- ");
    format!(
        "{MARK}{task}{MARK_END}\n### {task} {title}\n\n{}\n\n",
        text.trim()
    )
}

/// Chooses from the file what a task may want to know: first what was found out by those that it builds on, `ancestors`, the
/// nearest first, then the latest of all others. What another one said already is left out.
pub(crate) fn learnt(file: &str, ancestors: &[TaskId], bytes: usize) -> String {
    let entries = entries(file);
    let mut order: Vec<usize> = ancestors
        .iter()
        .flat_map(|near| {
            (0..entries.len())
                .filter(|&at| entries[at].task == *near)
                .collect::<Vec<_>>()
        })
        .collect();
    order.extend(
        (0..entries.len())
            .rev()
            .filter(|&at| !ancestors.contains(&entries[at].task)),
    );
    let (mut said, mut left) = (BTreeSet::new(), bytes);
    let mut chosen: Vec<(usize, String)> = Vec::new();
    let mut left_out = BTreeSet::new();
    for at in order {
        let text = said_anew(entries[at].text, &mut said);
        if text.is_empty() {
            continue;
        }
        if text.len() + 1 > left {
            left_out.insert(entries[at].task.clone());
            continue;
        }
        left -= text.len() + 1;
        chosen.push((at, text));
    }
    chosen.sort_unstable();
    let mut learnt = chosen
        .into_iter()
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join("\n\n");
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().take(20).map(TaskId::as_str).collect();
        let _ = write!(
            learnt,
            "\n\n[… left out for its length: what {} found out …]",
            names.join(", ")
        );
    }
    learnt
}

fn entries(file: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for part in file.split(MARK).skip(1) {
        if let Some((task, text)) = part.split_once(MARK_END) {
            entries.push(Entry {
                task: task.into(),
                text: text.trim(),
            });
        }
    }
    entries
}

/// What an entry says that has not been said, bounded; empty when only its heading is left.
fn said_anew(text: &str, said: &mut BTreeSet<String>) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut length = 0;
    for line in text.lines().map(str::trim_end) {
        let is_blank = line.is_empty();
        if is_blank && kept.last().is_none_or(|last| last.is_empty())
            || !is_blank && !said.insert(line.to_owned())
        {
            continue;
        }
        length += line.len() + 1;
        if length > ENTRY_BYTES {
            kept.push("[…]");
            break;
        }
        kept.push(line);
    }
    let says_something = kept.iter().skip(1).any(|line| !line.is_empty());
    if says_something {
        kept.join("\n").trim_end().to_owned()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(entries: &[(&str, &str)]) -> String {
        entries
            .iter()
            .map(|(task, text)| entry(&(*task).into(), "Build", text))
            .collect()
    }

    #[test]
    fn all_of_it_is_told_in_its_order_while_there_is_room() {
        let file = file(&[
            ("1", "Tests are in t/.\n### A heading of its own"),
            ("2", "Use `make`."),
        ]);
        assert_eq!(
            learnt(&file, &[], LEARNT_BYTES),
            "### 1 Build\n\nTests are in t/.\n### A heading of its own\n\n### 2 Build\n\nUse `make`."
        );
        assert_eq!(learnt("", &[], LEARNT_BYTES), "");
    }

    #[test]
    fn what_the_task_builds_on_comes_before_what_is_new() {
        let file = file(&[("1", "one"), ("2", "two"), ("3", "three")]);
        let room = "### 1 Build\n\none".len() + 1;
        let told = learnt(&file, &["1".into()], room);
        assert!(
            told.starts_with("### 1 Build\n\none\n\n[… left out"),
            "{told}"
        );
        assert!(told.ends_with("what 2, 3 found out …]"), "{told}");
        assert!(learnt(&file, &[], room + 2).starts_with("### 3 Build\n\nthree"));
    }

    #[test]
    fn what_was_said_already_is_not_said_again_and_long_entries_are_cut() {
        let lines: Vec<String> = (0..2_000).map(|number| format!("line {number}")).collect();
        let long = lines.join("\n");
        let file = file(&[("1", "Use `make`."), ("2", "Use `make`."), ("3", &long)]);
        let told = learnt(&file, &[], LEARNT_BYTES);
        assert_eq!(told.matches("Use `make`.").count(), 1, "{told}");
        assert!(
            told.len() < ENTRY_BYTES + 200 && told.ends_with("[…]"),
            "{}",
            told.len()
        );
    }
}
