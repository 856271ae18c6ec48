//! opencode's `run --format json`. It has no last event; each step tells its own tokens and cost.

use super::{StreamState, dollars, number, refused, sum, text};
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
    let wait = text(&data["responseHeaders"]["retry-after"]).parse::<u64>();
    let until = wait.map(|seconds| heard.now.plus(seconds.saturating_mul(1_000)));
    let named = [&data["message"], &error["name"]];
    let message = named.into_iter().find(|words| words.is_string());
    heard.gives_up(message.unwrap_or(&Value::Null));
    if let Some(refusal) = refused::status(number(data, "statusCode"), until.ok()) {
        heard.refusal = Some(refusal);
    }
}
