//! Follows what an agent prints, line by line as people read it, while it prints.
//!
//! Of a program that prints events, what it says and which tools it uses is shown, and nothing else.

use super::stream::told;
use super::{LogEnd, LogReader};
use std::path::PathBuf;

/// What an agent prints between two looks is skipped beyond this.
const MOST_BEHIND: u64 = 1024 * 1024;
/// A line for people has so many characters at the most.
const LINE_CHARACTERS: usize = 400;

/// A log that grows, as people read it.
#[derive(Debug)]
pub struct Follower(LogReader);

impl Follower {
    /// Begins at the start of a log, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self(LogReader::new(path).at_most_behind(MOST_BEHIND))
    }

    /// Returns the lines that have been finished since; at the end, the unfinished one too.
    pub fn lines(&mut self, end: LogEnd) -> Vec<String> {
        tm_untrusted::clean(&self.0.read(end).unwrap_or_default())
            .lines()
            .flat_map(spoken)
            .map(|line| line.chars().take(LINE_CHARACTERS).collect())
            .collect()
    }
}

/// Returns the lines that people read of a line that an agent printed: of an event, what it says and which tools it uses.
pub fn spoken(line: &str) -> Vec<String> {
    let event = tm_untrusted::json_value(line)
        .ok()
        .filter(|value| value["type"].is_string());
    let texts: Vec<String> = event
        .map_or_else(|| vec![line.to_owned()], |event| told(&event))
        .iter()
        .map(|text| tm_untrusted::clean(text))
        .collect();
    texts
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_events_the_words_and_the_tools_are_shown() {
        for (line, expected) in [
            (r#"{"type":"system","subtype":"init"}"#, vec![]),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\nb"},{"type":"tool_use","name":"Bash"}]}}"#,
                vec!["a", "b", "(Bash)"],
            ),
            (
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done"}}"#,
                vec!["Done"],
            ),
            (r#"{"type":"message","role":"user","content":"x"}"#, vec![]),
            (
                r#"{"type":"text","part":{"type":"text","text":"hi"}}"#,
                vec!["hi"],
            ),
            (r#"{"a":1}"#, vec![r#"{"a":1}"#]),
        ] {
            assert_eq!(spoken(line), expected, "{line}");
        }
    }
}
