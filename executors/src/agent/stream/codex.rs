//! Codex's `exec --json`.

use super::{StreamState, number, refused};
use serde_json::Value;
use tm_scheduler::Timestamp;

pub(super) fn hear(heard: &mut StreamState, event: &Value, now: Timestamp) {
    match event["type"].as_str() {
        Some("item.started" | "item.completed") => item(heard, &event["item"]),
        Some("turn.completed") => {
            heard.succeeds();
            // Cached tokens are among the input.
            let usage = &event["usage"];
            heard.add_tokens(
                number(usage, "input_tokens"),
                number(usage, "output_tokens"),
            );
        }
        Some("error") => {
            let message = event["message"].as_str().unwrap_or_default();
            heard.waits_behind = refused::by_words(message, now);
            heard.shows(message);
        }
        Some("turn.failed") => {
            let message = event["error"]["message"]
                .as_str()
                .unwrap_or("it gives no reason");
            heard.gives_up(message, refused::by_words(message, now));
        }
        Some(_) | None => {}
    }
}

fn item(heard: &mut StreamState, item: &Value) {
    let kind = item["type"].as_str();
    if kind != Some("error") {
        heard.waits_behind = None;
    }
    match kind {
        Some("agent_message") => heard.says(item["text"].as_str().unwrap_or_default()),
        Some("command_execution") => {
            heard.uses("$", item["command"].as_str());
            if item["status"] == "declined" {
                heard.tool_was_refused(item["command"].as_str().unwrap_or("a command"));
            }
        }
        Some("file_change") => heard.uses("changes", item["changes"][0]["path"].as_str()),
        Some("mcp_tool_call") => heard.uses(item["tool"].as_str().unwrap_or("a tool"), None),
        Some(_) | None => {}
    }
}
