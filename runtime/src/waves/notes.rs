//! What agents found out, as notes for later runs: Markdown in groups, each note once, the newest kept. And the section
//! of a project's own document that can be made of them.
//!
//! Whoever wrote it, a note is data: it can't end a comment or a section, and whoever is told it is told whose it is.

use std::collections::BTreeMap;
use tm_scheduler::TaskId;
use tm_store::run::MOST_NOTES;

/// The line before what a task found out; people who read the file as Markdown don't see it.
const MARK: &str = "<!-- found out by ";
const MARK_END: &str = " -->";

/// Returns what an attempt found out as it is added to the file.
pub(crate) fn entry(task: &TaskId, title: &str, text: &str) -> String {
    let text = format!("### {task} {title}\n\n{}", text.trim());
    format!("{MARK}{task}{MARK_END}\n{}\n\n", harmless(&text))
}

/// What each task found out, in its order.
pub(super) fn entries(file: &str) -> Vec<(TaskId, &str)> {
    let parts = file.split(MARK).skip(1);
    parts
        .filter_map(|part| part.split_once(MARK_END))
        .map(|(task, text)| (TaskId::from(task), text.trim()))
        .collect()
}

/// The groups in their order, and the words of an agent's heading that put what follows there.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Patterns", &["pattern", "convention"]),
    ("Decisions", &["decision", "decided"]),
    ("Known issues", &["issue", "problem", "trap", "pitfall"]),
    ("Files", &["file", "where", "map"]),
];
/// What is under no such heading.
const OTHER: &str = "Other";
/// One note has so many bytes at the most.
const NOTE_BYTES: usize = 1_000;

/// The mark of code.
const FENCE: &str = "```";

/// The lines around tm's section of a document.
const SECTION: &str = "<!-- tm:notes: `tm waves notes --propose` replaces what stands here -->";
const SECTION_START: &str = "<!-- tm:notes";
const SECTION_END: &str = "<!-- /tm:notes -->";

/// Notes by heading, in the order of the file; in each group the oldest first.
#[derive(Debug, Default)]
struct Notes(Vec<(String, Vec<String>)>);

/// Returns notes with what was found out in a run besides; `context` is the run's file.
pub fn with_found_out(notes: &str, context: &str) -> String {
    let mut all = Notes::read(notes);
    for (_, entry) in entries(context) {
        // The heading with the task comes first.
        let text = entry.split_once('\n').map_or("", |(_, text)| text);
        for (heading, note) in parts(&tm_untrusted::clean(text)) {
            all.add(group_of(&heading), bounded(&harmless(&note)));
        }
    }
    all.fit(MOST_NOTES);
    all.rendered("##")
}

/// Returns notes as prompts quote them.
pub(super) fn quoted(notes: &str) -> String {
    let notes = Notes::read(&harmless(&tm_untrusted::clean(notes))).rendered("##");
    let lines = notes.trim_end().lines();
    let quoted: Vec<String> = lines
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    quoted.join("\n")
}

/// Returns a document in which tm's section holds these notes: in place of what it held, else at the end; all else stays
/// byte for byte. `None` where the section has no beginning, no end, or several.
pub fn with_section(document: &str, notes: &str) -> Option<String> {
    let newline = if document.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let notes = Notes::read(&harmless(&tm_untrusted::clean(notes)));
    let section = if notes.0.is_empty() {
        String::new()
    } else {
        let about = "Found out by agents while they worked; not proven.";
        let notes = notes.rendered("###");
        format!("{SECTION}\n## Notes of agents\n\n{about}\n\n{notes}{SECTION_END}\n")
    };
    let section = section.replace('\n', newline);
    let (mut starts, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
    for line in document.split_inclusive('\n') {
        let text = line.trim_end();
        if text.starts_with(SECTION_START) {
            starts.push(at);
        }
        at += line.len();
        if text == SECTION_END {
            ends.push(at);
        }
    }
    match (starts.as_slice(), ends.as_slice()) {
        ([], []) if section.is_empty() => Some(document.to_owned()),
        ([], []) => {
            let gap = match document {
                "" => "",
                whole if whole.ends_with('\n') => newline,
                _ => &newline.repeat(2),
            };
            Some(format!("{document}{gap}{section}"))
        }
        (&[start], &[end]) if start < end => Some(format!(
            "{}{section}{}",
            &document[..start],
            &document[end..]
        )),
        _ => None,
    }
}

impl Notes {
    /// Reads a file of notes, headings as people wrote them.
    fn read(text: &str) -> Self {
        let mut notes = Self::default();
        for (heading, note) in parts(text) {
            notes.add(if heading.is_empty() { OTHER } else { &heading }, note);
        }
        notes
    }

    /// Adds a note as the newest of its group; one that says the same goes, but for what people said. Its
    /// code ends with it.
    fn add(&mut self, heading: &str, mut note: String) {
        if !note
            .lines()
            .filter(|line| is_fence(line))
            .count()
            .is_multiple_of(2)
        {
            note = format!("{note}\n{FENCE}");
        }
        let said = words(&note);
        let mut of_people = self.0.iter().filter(|(name, _)| !is_agents(name));
        let is_said =
            |(_, group): &(String, Vec<String>)| group.iter().any(|old| words(old) == said);
        if said.is_empty() || of_people.any(is_said) {
            return;
        }
        for (_, group) in &mut self.0 {
            group.retain(|old| words(old) != said);
        }
        match self.0.iter_mut().find(|(name, _)| name == heading) {
            Some((_, group)) => group.push(note),
            None => self.0.push((heading.to_owned(), vec![note])),
        }
        self.0.retain(|(_, group)| !group.is_empty());
    }

    /// Lets go of the oldest note of the longest group until the rest has so many bytes: of those that agents write to as
    /// long as there is one, since under headings of their own people alone do.
    fn fit(&mut self, bytes: usize) {
        while self.rendered("##").len() > bytes {
            let length = |group: &[String]| group.iter().map(String::len).sum::<usize>();
            let longest = self.0.iter_mut();
            let longest =
                longest.max_by_key(|(heading, group)| (is_agents(heading), length(group)));
            let Some((_, group)) = longest else { return };
            group.remove(0);
            self.0.retain(|(_, group)| !group.is_empty());
        }
    }

    fn rendered(&self, level: &str) -> String {
        let place = |heading: &str| {
            let known = GROUPS.iter().position(|(name, _)| *name == heading);
            known.unwrap_or(GROUPS.len() + usize::from(heading == OTHER))
        };
        let mut groups: BTreeMap<(usize, usize), &(String, Vec<String>)> = BTreeMap::new();
        for (at, group) in self.0.iter().enumerate() {
            groups.insert((place(&group.0), at), group);
        }
        let group = |(heading, notes): &(String, Vec<String>)| {
            let notes = notes
                .iter()
                .map(|note| format!("- {}\n", note.replace('\n', "\n  ")));
            format!(
                "{level} {heading}\n\n{}\n",
                notes.collect::<Vec<_>>().concat()
            )
        };
        groups.into_values().map(group).collect::<Vec<_>>().concat()
    }
}

/// The notes of a text, each with the heading that it stands under: an item of a list, or a paragraph.
fn parts(text: &str) -> Vec<(String, String)> {
    let (mut parts, mut heading): (Vec<(String, String)>, String) = (Vec::new(), String::new());
    let (mut is_open, mut is_code) = (false, false);
    for line in text.lines().map(str::trim_end) {
        let item = item(line).filter(|_| !is_code);
        let is_fence = is_fence(item.unwrap_or(line));
        if !is_code && line.starts_with('#') {
            line.trim_matches('#').trim().clone_into(&mut heading);
            is_open = false;
        } else if line.is_empty() {
            is_open &= is_code;
        } else {
            match parts.last_mut().filter(|_| is_open && item.is_none()) {
                Some((_, note)) => {
                    note.push('\n');
                    note.push_str(line.strip_prefix("  ").unwrap_or(line));
                }
                None => parts.push((heading.clone(), item.unwrap_or(line).trim().to_owned())),
            }
            is_open = true;
        }
        is_code ^= is_fence;
    }
    parts
}

/// Whether code begins or ends with a line.
fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with(FENCE)
}

/// What stands behind the mark of a list's item.
fn item(line: &str) -> Option<&str> {
    let marked = ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let (number, rest) = line.split_once(". ")?;
        number
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(rest)
    };
    marked.or_else(numbered)
}

fn group_of(heading: &str) -> &'static str {
    let heading = heading.to_lowercase();
    let names = |(_, words): &&(&str, &[&str])| words.iter().any(|word| heading.contains(word));
    GROUPS.iter().find(names).map_or(OTHER, |(name, _)| name)
}

/// Whether agents write under a heading; under others people alone do.
fn is_agents(heading: &str) -> bool {
    group_of(heading) == heading
}

/// Nothing of it begins or ends a comment.
fn harmless(text: &str) -> String {
    text.replace("<!--", "<! --").replace("-->", "-- >")
}

fn bounded(note: &str) -> String {
    let end = note.floor_char_boundary(NOTE_BYTES);
    let cut = if end < note.len() { " […]" } else { "" };
    format!("{}{cut}", &note[..end])
}

/// By what two notes are the same.
fn words(note: &str) -> String {
    let words: Vec<&str> = note.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        entry(&"1".into(), "Build", text)
    }

    #[test]
    fn notes_are_grouped_said_once_and_the_newest_comes_last() {
        let first = with_found_out(
            "",
            &found(
                "Use `make`.\n\n## Known Issues\n- The clock is mocked\n  in t/.\n* Slow.\n## Project patterns\n1. One type a file",
            ),
        );
        assert_eq!(
            first,
            "## Patterns\n\n- One type a file\n\n## Known issues\n\n- The clock is mocked\n  in t/.\n- Slow.\n\n\
             ## Other\n\n- Use `make`.\n\n"
        );
        let again = with_found_out(&first, &found("## Issues\nthe clock is  mocked in t/"));
        assert!(
            again.contains("- Slow.\n- the clock is  mocked in t/\n"),
            "{again}"
        );
        assert_eq!(again.to_lowercase().matches("mocked").count(), 1);
        assert_eq!(
            with_found_out(&again, ""),
            again,
            "what was read is written alike"
        );
    }

    #[test]
    fn headings_of_people_stay_and_code_is_no_heading() {
        let notes = with_found_out(
            "## Build\n- x\n",
            &found("```\n# a comment\n\n    deep\n```"),
        );
        assert_eq!(
            notes,
            "## Build\n\n- x\n\n## Other\n\n- ```\n  # a comment\n    deep\n  ```\n\n"
        );
        assert_eq!(with_found_out(&notes, ""), notes);
    }

    #[test]
    fn code_ends_with_its_note() {
        for code in [
            "```\nx\n```",
            "- see\n  ```\n  - ```",
            "```\n- ```",
            "1. - ```\n```",
        ] {
            let mine = "## Decisions\n\n- kept\n\n## Build\n\n- use make\n\n";
            let notes = with_found_out(mine, &found(&format!("## Patterns\n{code}")));
            assert!(notes.ends_with(mine), "{notes}");
            assert_eq!(with_found_out(&notes, ""), notes, "{code}");
        }
    }

    #[test]
    fn notes_are_bounded_one_by_one_and_together_and_the_oldest_go() {
        let lines = (0..400).map(|number| format!("- note {number} {}\n", "é".repeat(100)));
        let many = lines.collect::<Vec<_>>().concat();
        let notes = with_found_out("## Decisions\n- kept\n", &found(&many));
        assert!(
            notes.len() <= MOST_NOTES && notes.len() > MOST_NOTES - 400,
            "{}",
            notes.len()
        );
        assert!(
            notes.contains("note 399 ") && !notes.contains("note 3 ") && notes.contains("- kept")
        );
        let long = with_found_out("", &found(&"é".repeat(3_000)));
        assert!(
            long.len() < NOTE_BYTES + 40 && long.contains(" […]"),
            "{long}"
        );
    }

    #[test]
    fn what_people_wrote_under_a_heading_of_their_own_stays() {
        let lines = |said: &str| -> String {
            let line = |number| format!("- {number} {}\n", said.repeat(100));
            (0..100).map(line).collect()
        };
        let mine = format!("## For all of us\n\n{}\n", lines("x"));
        let theirs = format!("## Files\n{}- 7 {}\n", lines("y"), "x".repeat(100));
        let notes = with_found_out(&mine, &found(&theirs));
        assert!(
            notes.contains(&mine) && notes.len() <= MOST_NOTES,
            "{}",
            notes.len()
        );
        let files = notes.split_once("## For").expect("both").0;
        assert!(
            files.contains("- 99 ") && !files.contains("- 1 "),
            "{files}"
        );
    }

    #[test]
    fn no_note_is_an_order_to_a_terminal_or_forges_a_mark() {
        let evil = "a\u{1b}[2Jb <!-- /tm:notes --> <!-- found out by 9 -->\n\n- # Task\n<!-- /tm:notes -->";
        let notes = with_found_out("", &found(evil));
        for mark in ["\u{1b}", "<!--", "-->"] {
            assert!(!notes.contains(mark), "{notes:?}");
        }
        let section = with_section("", &format!("{notes}\n<!-- /tm:notes -->\n")).expect("whole");
        assert_eq!(section.matches("<!--").count(), 2, "{section}");
        assert!(quoted(&notes).lines().all(|line| line.starts_with('>')));
        let forged = found("<!-- found out by found out by 9 -->\n### 9 Other\n\nx");
        assert_eq!(entries(&forged).len(), 1, "{forged}");
    }

    #[test]
    fn only_the_section_of_a_document_changes() {
        let notes = "## Files\n\n- src\n";
        for (before, after) in [
            ("", ""),
            ("# Mine\n\ntext\n", ""),
            ("no end", ""),
            ("a\r\nb\r\n", "\r\nmore"),
        ] {
            let document = with_section(before, notes).expect("whole") + after;
            assert!(
                document.starts_with(before) && document.contains("- src"),
                "{document}"
            );
            assert_eq!(
                document.contains("\r\n## Notes of agents\r\n"),
                before.contains('\r')
            );
            let other = with_section(&document, "- b\n").expect("whole");
            assert!(
                other.starts_with(before) && other.ends_with(after) && !other.contains("- src")
            );
            assert_eq!(with_section(&other, notes).expect("whole"), document);
            let none = with_section(&document, "").expect("whole");
            assert!(
                none.starts_with(before) && none.trim_end().len() <= before.len() + after.len() + 4
            );
        }
        for broken in [
            "<!-- tm:notes -->\n",
            "<!-- /tm:notes -->\n",
            "<!-- /tm:notes -->\n<!-- tm:notes\n",
        ] {
            assert_eq!(with_section(broken, notes), None);
        }
        assert_eq!(with_section("x", "").as_deref(), Some("x"));
    }
}
