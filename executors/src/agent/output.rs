//! What an agent printed: the last line for people, the last words for reports, signs of a refusal, how it closed.
//!
//! Output is text from a stranger: escapes and control characters never reach a terminal.

use super::stream::Listener;
use std::path::Path;
use tm_scheduler::{OutputFormat, ServiceRefusal, Timestamp};

/// So much of the end of a log is looked at.
const TAIL_BYTES: u64 = 16 * 1024;
/// So much of it is looked at for a final message, of which so many lines count.
const MESSAGE_BYTES: u64 = 64 * 1024;
const LAST_LINES: usize = 20;
/// So much is kept as last words.
const LAST_WORDS_BYTES: usize = 4 * 1024;
/// A line for people has so many characters at the most.
pub(super) const LINE_CHARACTERS: usize = 200;

/// Returns the end of a log as text without orders to a terminal and without secrets.
pub(super) fn tail(path: &Path) -> String {
    end_of(path, TAIL_BYTES)
}

fn end_of(path: &Path, most: u64) -> String {
    let end = tm_untrusted::read_end(path, most).unwrap_or_default();
    // A log that is not there says nothing.
    tm_untrusted::clean(&String::from_utf8_lossy(&end))
}

/// Returns the last line that says something.
pub(super) fn last_line(text: &str) -> Option<String> {
    Some(
        text.lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())?
            .chars()
            .take(LINE_CHARACTERS)
            .collect(),
    )
}

/// Returns the end of both logs, errors last.
pub(super) fn last_words(stdout: &str, stderr: &str) -> String {
    let joined = [stdout.trim(), stderr.trim()]
        .iter()
        .filter(|text| !text.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    let start = joined.ceil_char_boundary(joined.len().saturating_sub(LAST_WORDS_BYTES));
    joined[start..].to_owned()
}

/// Tells a refusal of the service behind the agent by the words of its last output, whatever their case.
pub(super) fn refusal(
    text: &str,
    rate_limited: &[String],
    auth: &[String],
) -> Option<ServiceRefusal> {
    let text = text.to_lowercase();
    let says = |patterns: &[String]| {
        patterns
            .iter()
            .any(|pattern| text.contains(&pattern.to_lowercase()))
    };
    if says(rate_limited) {
        return Some(ServiceRefusal::RateLimited { until: None });
    }
    says(auth).then_some(ServiceRefusal::Auth)
}

/// How an agent closed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Closing {
    /// What it said last, without orders to a terminal and without secrets.
    pub message: String,
    /// Whether the agent prints events, which say little to people.
    pub prints_events: bool,
}

/// Reads the closing of an agent from the log of what it printed; a log that is not there says nothing.
///
/// A program that prints lines for people has its last lines as final message. One that prints events has the text that
/// its own last event names; what it read or ran on the way is none of its words.
pub fn closing(stdout_log: &Path, format: OutputFormat) -> Closing {
    let heard = Listener::new(format, stdout_log).finish(Timestamp(0));
    let message = if heard.prints_events {
        tm_untrusted::clean(&heard.message)
    } else {
        let text = end_of(stdout_log, MESSAGE_BYTES);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    };
    Closing {
        message,
        prints_events: heard.prints_events,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_never_come_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(
            &log,
            "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}a\r10%\r\nnext\u{8}\u{0}",
        )
        .expect("a log");
        assert_eq!(tail(&log), "red a\n10%\nnext");
        assert_eq!(last_line(&tail(&log)).as_deref(), Some("next"));
    }

    #[test]
    fn last_words_keep_the_end() {
        let long = "é".repeat(LAST_WORDS_BYTES);
        assert!(last_words(&long, "the end").ends_with("\nthe end"));
        assert!(last_words(&long, "the end").len() <= LAST_WORDS_BYTES);
    }

    #[test]
    fn a_refusal_is_known_by_its_words() {
        let words = (["Rate Limit".to_owned()], ["401".to_owned()]);
        let refused = |text| refusal(text, &words.0, &words.1);
        assert_eq!(
            refused("hit the rate limit"),
            Some(ServiceRefusal::RateLimited { until: None })
        );
        assert_eq!(refused("HTTP 401"), Some(ServiceRefusal::Auth));
        assert_eq!(refused("fine"), None);
    }

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
