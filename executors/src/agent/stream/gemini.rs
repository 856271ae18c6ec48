//! Gemini CLI's `stream-json`.

use super::{StreamState, number, refused};
use serde_json::Value;
use tm_scheduler::Timestamp;

/// What it says of a tool call that it did not let through.
const REFUSED: [&str; 4] = [
    "denied",
    "not allowed",
    "not in workspace",
    "requires user confirmation",
];

pub(super) fn hear(heard: &mut StreamState, event: &Value, now: Timestamp) {
    match event["type"].as_str() {
        // It says its message piece by piece; a tool in between begins another.
        Some("message") if event["role"] == "assistant" => {
            heard.goes_on(event["content"].as_str().unwrap_or_default());
        }
        Some("tool_use") => {
            heard.message.clear();
            let parameters = &event["parameters"];
            let what_for = parameters["command"]
                .as_str()
                .or_else(|| parameters["file_path"].as_str());
            heard.uses(event["tool_name"].as_str().unwrap_or("a tool"), what_for);
        }
        Some("tool_result") if event["status"] == "error" => {
            let message = event["error"]["message"].as_str().unwrap_or_default();
            if REFUSED.iter().any(|words| message.contains(words)) {
                heard.tool_was_refused(message);
            }
        }
        Some("result") => {
            // Cached tokens are among the input; thoughts are in the total alone.
            let stats = &event["stats"];
            if stats.is_object() {
                let input = number(stats, "input_tokens");
                let written = number(stats, "total_tokens").saturating_sub(input);
                heard.add_tokens(input, written.max(number(stats, "output_tokens")));
            }
            if event["status"] == "success" {
                heard.succeeds();
            } else {
                let message = event["error"]["message"]
                    .as_str()
                    .unwrap_or("it gives no reason");
                heard.gives_up(message, refused::by_words(message, now));
            }
        }
        Some(_) | None => {}
    }
}
