//! opencode's `run --format json`. It has no last event; each step tells its own tokens and cost.

use super::{StreamState, dollars, first, number, refused, sum, text};
use serde_json::Value;

pub(super) fn hear(heard: &mut StreamState, event: &Value) {
    let part = &event["part"];
    match text(&event["type"]) {
        "text" => heard.says(&part["text"]),
        "tool_use" => {
            let state = &part["state"];
            heard.uses(&part["tool"], &state["title"]);
            if state["status"] == "error" && text(&state["error"]).contains("reject") {
                heard.tool_was_refused(&part["tool"]);
            }
        }
        "step_finish" => {
            heard.succeeds();
            let (tokens, cache) = (&part["tokens"], &part["tokens"]["cache"]);
            let input = number(tokens, "input").saturating_add(sum(cache, &["read", "write"]));
            heard.add_tokens(input, sum(tokens, &["output", "reasoning"]));
            heard.add_cost(dollars(&part["cost"]));
        }
        "error" => error(heard, &event["error"]),
        _ => {}
    }
}

fn error(heard: &mut StreamState, error: &Value) {
    let data = &error["data"];
    let until = text(&data["responseHeaders"]["retry-after"])
        .parse::<u64>()
        .map(|seconds| heard.now.plus(seconds.saturating_mul(1_000)));
    heard.gives_up(first([&data["message"], &error["name"]], Value::is_string));
    if let Some(refusal) = refused::status(number(data, "statusCode"), until.ok()) {
        heard.refusal = Some(refusal);
    }
}
