//! Follows what an agent prints, line by line as people read it, while it prints.
//!
//! Of a program that prints events, what it says and which tools it uses is shown, and nothing else.

use serde_json::Value;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

/// So much is read at once; what an agent prints beyond that between two looks is skipped.
const MOST_BYTES: u64 = 256 * 1024;
/// A line for people has so many characters at the most.
const LINE_CHARACTERS: usize = 400;

/// A log that grows.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    offset: u64,
}

impl Follower {
    /// Begins at the start of a log, which need not be there yet.
    pub const fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// Returns the lines that have been finished since; at the end, the unfinished one too.
    pub fn lines(&mut self, is_over: LogEnd) -> Vec<String> {
        let Ok(bytes) = self.fresh() else { return Vec::new() };
        let end = match is_over {
            LogEnd::Growing => bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1),
            LogEnd::Final => bytes.len(),
        };
        self.offset += end as u64;
        let text = tm_untrusted::clean(&String::from_utf8_lossy(&bytes[..end]));
        text.lines().flat_map(shown).map(|line| line.chars().take(LINE_CHARACTERS).collect()).collect()
    }

    fn fresh(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = tm_untrusted::open(&self.path)?;
        let length = file.metadata()?.len();
        self.offset = self.offset.max(length.saturating_sub(MOST_BYTES));
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether a log still grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogEnd {
    /// Its last line may be half written.
    Growing,
    /// Nothing more comes.
    Final,
}

fn shown(line: &str) -> Vec<String> {
    let event = serde_json::from_str::<Value>(line).ok().filter(|value| value["type"].is_string());
    let texts = match &event {
        None => vec![line.to_owned()],
        Some(event) => texts_of(event),
    };
    let texts: Vec<String> = texts.iter().map(|text| tm_untrusted::clean(text)).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim_end);
    lines.filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

fn texts_of(event: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let tool = |value: &Value| value.as_str().map(|name| format!("({name})"));
    let found = match event["type"].as_str() {
        Some("assistant") => {
            let parts = event["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            return parts.iter().filter_map(|part| text(&part["text"]).or_else(|| tool(&part["name"]))).collect();
        }
        Some("message") if event["role"] == "assistant" => text(&event["content"]),
        Some("text") => text(&event["part"]["text"]),
        Some("acp/update") => match event["update"]["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => text(&event["update"]["content"]["text"]),
            Some("tool_call") => tool(&event["update"]["title"]),
            Some(_) | None => None,
        },
        Some("tool_use") => tool(&event["tool_name"]).or_else(|| tool(&event["part"]["tool"])),
        Some("item.completed") => text(&event["item"]["text"]).or_else(|| tool(&event["item"]["command"])),
        Some(_) | None => None,
    };
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write as _;

    #[test]
    fn whole_lines_are_shown_once_and_the_rest_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut follower = Follower::new(path.clone());
        assert!(follower.lines(LogEnd::Growing).is_empty());
        let mut file = File::create(path).expect("a log");
        file.write_all(b"one\n\x1b[1mtwo\x1b[0m\nthr").expect("written");
        assert_eq!(follower.lines(LogEnd::Growing), ["one", "two"]);
        file.write_all(b"ee\nfour").expect("written");
        assert_eq!(follower.lines(LogEnd::Growing), ["three"]);
        assert_eq!(follower.lines(LogEnd::Final), ["four"]);
        assert!(follower.lines(LogEnd::Final).is_empty());
    }

    #[test]
    fn of_events_the_words_and_the_tools_are_shown() {
        for (line, expected) in [
            (r#"{"type":"system","subtype":"init"}"#, vec![]),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"a\nb"},{"type":"tool_use","name":"Bash"}]}}"#,
                vec!["a", "b", "(Bash)"],
            ),
            (r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done"}}"#, vec!["Done"]),
            (r#"{"type":"message","role":"user","content":"x"}"#, vec![]),
            (r#"{"type":"text","part":{"type":"text","text":"hi"}}"#, vec!["hi"]),
            (r#"{"a":1}"#, vec![r#"{"a":1}"#]),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
