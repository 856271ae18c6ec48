//! How an agent closed: its final message, and what it says of its cost.
//!
//! A program that prints lines for people has its last lines as final message. One that prints events has the text that
//! its own last event names; what it read or ran on the way is none of its words.

use super::output::plain;
use serde_json::Value;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tm_scheduler::Tokens;

/// So much of the end of a log is looked at.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// So many lines of a program that prints lines are its final message.
const LAST_LINES: usize = 20;

/// How an agent closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closing {
    /// What it said last, without escapes and control characters.
    pub message: String,
    /// Whether the agent prints events, which say little to people.
    pub prints_events: bool,
    /// US dollars, when it says so.
    pub cost_usd: Option<f64>,
    /// Tokens, when it says so.
    pub tokens: Option<Tokens>,
}

/// Reads the closing of an agent from the log of what it printed; a log that is not there says nothing.
pub fn closing(stdout_log: &Path) -> Closing {
    let text = end_of(stdout_log).unwrap_or_default();
    let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect();
    let mut closing = Closing::default();
    for event in &events {
        closing.prints_events |= closing.hear(event);
    }
    if !closing.prints_events {
        closing.message = last_lines(&text);
    }
    closing.message = plain(&closing.message);
    closing
}

impl Closing {
    /// Takes one event in; tells whether it is one that is known.
    fn hear(&mut self, event: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            // Claude Code and those that print as it does; Gemini's has no text of its own.
            Some("result") => {
                if let Some(result) = event["result"].as_str() {
                    result.clone_into(&mut self.message);
                }
                self.cost_usd = event["total_cost_usd"].as_f64().or(self.cost_usd);
                self.add_tokens(&event["usage"], "input_tokens", "output_tokens");
            }
            Some("item.completed") if event["item"]["type"] == "agent_message" => {
                self.message = text(&event["item"]["text"]);
            }
            Some("turn.completed") => self.add_tokens(&event["usage"], "input_tokens", "output_tokens"),
            // Gemini says its message piece by piece; a tool in between begins another.
            Some("message") if event["role"] == "assistant" => self.message.push_str(&text(&event["content"])),
            Some("tool_use" | "tool_result") => self.message.clear(),
            Some("text") if event["part"]["type"] == "text" => self.message = text(&event["part"]["text"]),
            Some("step_finish") => {
                let cost = event["part"]["cost"].as_f64();
                self.cost_usd = cost.map(|cost| cost + self.cost_usd.unwrap_or(0.0)).or(self.cost_usd);
                self.add_tokens(&event["part"]["tokens"], "input", "output");
            }
            Some("item.completed" | "item.started" | "turn.started" | "thread.started" | "step_start") => {}
            Some(_) | None => return false,
        }
        true
    }

    fn add_tokens(&mut self, usage: &Value, input: &str, output: &str) {
        let (Some(input), Some(output)) = (usage[input].as_u64(), usage[output].as_u64()) else { return };
        let before = self.tokens.unwrap_or_default();
        self.tokens = Some(Tokens { input: before.input + input, output: before.output + output });
    }
}

fn end_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Closing {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("stdout.log");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(&log, text).expect("a log");
        closing(&log)
    }

    #[test]
    fn the_final_message_of_a_stream_is_what_its_last_event_says() {
        for stream in [
            "{\"type\":\"assistant\",\"message\":{}}\n{\"type\":\"result\",\"result\":\"Done.\",\"total_cost_usd\":0.5,\
             \"usage\":{\"input_tokens\":7,\"output_tokens\":3}}\n",
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"First\"}}\n\
             {\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"aggregated_output\":\"x\"}}\n\
             {\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Done.\"}}\n\
             {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}",
            "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Let me see\"}\n{\"type\":\"tool_use\"}\n\
             {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Do\"}\n\
             {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"ne.\"}\n{\"type\":\"result\",\"status\":\"success\"}",
            "{\"type\":\"text\",\"part\":{\"type\":\"text\",\"text\":\"Done.\"}}\n\
             {\"type\":\"step_finish\",\"part\":{\"cost\":0.25,\"tokens\":{\"input\":3,\"output\":1}}}\n\
             {\"type\":\"step_finish\",\"part\":{\"cost\":0.25,\"tokens\":{\"input\":4,\"output\":2}}}",
        ] {
            let closing = of(stream);
            assert_eq!(closing.message, "Done.", "{stream}");
            assert!(closing.tokens.is_none_or(|tokens| tokens == Tokens { input: 7, output: 3 }), "{closing:?}");
            assert!(closing.cost_usd.is_none_or(|cost| (cost - 0.5).abs() < 1e-9), "{closing:?}");
        }
    }

    #[test]
    fn the_final_message_of_a_text_is_its_last_lines_made_safe() {
        let long =
            format!("<loop-complete>EARLY</loop-complete>\n{}\u{1b}[1mThe end.\u{1b}[0m\n\n", "line\n".repeat(30));
        let message = of(&long).message;
        assert!(message.ends_with("line\nThe end.") && !message.contains("EARLY"), "{message}");
        assert_eq!(of("{\"a\": 1}\n").message, "{\"a\": 1}");
        assert_eq!(closing(Path::new("/nowhere/at/all")), Closing::default());
    }
}
