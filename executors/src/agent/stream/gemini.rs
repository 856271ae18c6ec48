//! Gemini CLI's `stream-json`.

use super::{StreamState, number, text, what_for};
use serde_json::Value;

/// What it says of a tool call that it did not let through.
const REFUSED: [&str; 4] = [
    "denied",
    "not allowed",
    "not in workspace",
    "requires user confirmation",
];

pub(super) fn hear(heard: &mut StreamState, event: &Value) {
    let error = &event["error"]["message"];
    match text(&event["type"]) {
        // It says its message piece by piece; a tool in between begins another.
        "message" if event["role"] == "assistant" => heard.goes_on(&event["content"]),
        "error" if event["severity"] == "error" => heard.gives_up(&event["message"]),
        "tool_use" => {
            heard.message.clear();
            heard.uses(&event["tool_name"], what_for(&event["parameters"]));
        }
        "tool_result"
            if event["status"] == "error"
                && REFUSED.iter().any(|words| text(error).contains(words)) =>
        {
            heard.tool_was_refused(error);
        }
        "result" => {
            // Cached tokens are among the input; thoughts are in the total alone.
            let stats = &event["stats"];
            if stats.is_object() {
                let input = number(stats, "input_tokens");
                heard.add_tokens(
                    input,
                    number(stats, "total_tokens")
                        .saturating_sub(input)
                        .max(number(stats, "output_tokens")),
                );
            }
            if event["status"] == "success" {
                heard.succeeds();
            } else if error.is_string() || heard.error.is_none() {
                heard.gives_up(error);
            }
        }
        _ => {}
    }
}
