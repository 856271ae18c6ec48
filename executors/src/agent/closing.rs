//! How an agent closed: its final message.
//!
//! A program that prints lines for people has its last lines as final message. One that prints events has the text that
//! its own last event names; what it read or ran on the way is none of its words.

use super::stream::Listener;
use std::path::Path;
use tm_scheduler::{OutputFormat, Timestamp};

/// So much of the end of a log is looked at.
const MOST_BYTES: u64 = 64 * 1024;
/// So many lines of a program that prints lines are its final message.
const LAST_LINES: usize = 20;

/// How an agent closed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Closing {
    /// What it said last, without orders to a terminal and without secrets.
    pub message: String,
    /// Whether the agent prints events, which say little to people.
    pub prints_events: bool,
}

/// Reads the closing of an agent from the log of what it printed; a log that is not there says nothing.
pub fn closing(stdout_log: &Path, format: OutputFormat) -> Closing {
    let heard = Listener::new(format, stdout_log).finish(Timestamp(0));
    let message = if heard.prints_events {
        heard.message
    } else {
        last_lines(&end_of(stdout_log))
    };
    Closing {
        message: tm_untrusted::clean(&message),
        prints_events: heard.prints_events,
    }
}

fn end_of(path: &Path) -> String {
    String::from_utf8_lossy(&tm_untrusted::read_end(path, MOST_BYTES).unwrap_or_default())
        .into_owned()
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
        closing(&log, OutputFormat::Text)
    }

    #[test]
    fn the_final_message_of_a_stream_is_what_its_last_event_says() {
        for stream in [
            "{\"type\":\"system\",\"subtype\":\"init\"}\n{\"type\":\"result\",\"result\":\"Done.\",\"total_cost_usd\":0.5,\
             \"usage\":{\"input_tokens\":7,\"output_tokens\":3}}\n",
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"First\"}}\n\
             {\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"aggregated_output\":\"x\"}}\n\
             {\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Done.\"}}\n\
             {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}",
            "{\"type\":\"init\",\"session_id\":\"x\"}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Let me see\"}\n{\"type\":\"tool_use\"}\n\
             {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"Do\"}\n\
             {\"type\":\"message\",\"role\":\"assistant\",\"content\":\"ne.\"}\n{\"type\":\"result\",\"status\":\"success\"}",
            "{\"type\":\"step_start\",\"part\":{}}\n{\"type\":\"text\",\"part\":{\"type\":\"text\",\"text\":\"Done.\"}}\n\
             {\"type\":\"step_finish\",\"part\":{\"cost\":0.25,\"tokens\":{\"input\":3,\"output\":1}}}\n\
             {\"type\":\"step_finish\",\"part\":{\"cost\":0.25,\"tokens\":{\"input\":4,\"output\":2}}}",
        ] {
            assert_eq!(of(stream).message, "Done.", "{stream}");
        }
    }

    #[test]
    fn the_final_message_of_a_text_is_its_last_lines_made_safe() {
        let long = format!(
            "<loop-complete>EARLY</loop-complete>\n{}\u{1b}[1mThe end.\u{1b}[0m\n\n",
            "line\n".repeat(30)
        );
        let message = of(&long).message;
        assert!(
            message.ends_with("line\nThe end.") && !message.contains("EARLY"),
            "{message}"
        );
        assert_eq!(of("{\"a\": 1}\n").message, "{\"a\": 1}");
        assert_eq!(
            closing(Path::new("/nowhere/at/all"), OutputFormat::Text),
            Closing::default()
        );
    }
}
