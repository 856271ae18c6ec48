//! Codex's `exec --json`.

use super::{StreamState, number, refused, text};
use serde_json::Value;

pub(super) fn hear(heard: &mut StreamState, event: &Value) {
    match text(&event["type"]) {
        "item.started" => {
            item(heard, &event["item"]);
            // People are told of it when it is completed.
            heard.told.clear();
        }
        "item.completed" => item(heard, &event["item"]),
        "turn.completed" => {
            heard.succeeds();
            // Cached tokens are among the input.
            let usage = &event["usage"];
            heard.add_tokens(
                number(usage, "input_tokens"),
                number(usage, "output_tokens"),
            );
        }
        "error" => {
            let message = text(&event["message"]);
            heard.waits(refused::by_words(message, heard.now), message);
        }
        "turn.failed" => heard.gives_up(&event["error"]["message"]),
        _ => {}
    }
}

fn item(heard: &mut StreamState, item: &Value) {
    let kind = text(&item["type"]);
    if kind != "error" {
        heard.gets_through();
    }
    match kind {
        "agent_message" => heard.says(&item["text"]),
        "command_execution" => {
            heard.runs(&item["command"]);
            if item["status"] == "declined" {
                heard.tool_was_refused(&item["command"]);
            }
        }
        "file_change" => heard.uses(&"changes".into(), &item["changes"][0]["path"]),
        "mcp_tool_call" => heard.uses(&item["tool"], &Value::Null),
        "reasoning" => heard.notes(&item["text"]),
        _ => {}
    }
}
