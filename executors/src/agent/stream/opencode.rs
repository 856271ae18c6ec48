//! opencode's `run --format json`. It has no last event; each step tells its own tokens and cost.

use super::{StreamState, dollars, number, refused, sum};
use serde_json::Value;
use tm_scheduler::Timestamp;

pub(super) fn hear(heard: &mut StreamState, event: &Value, now: Timestamp) {
    let part = &event["part"];
    match event["type"].as_str() {
        Some("text") => heard.says(part["text"].as_str().unwrap_or_default()),
        Some("tool_use") => {
            let state = &part["state"];
            let tool = part["tool"].as_str().unwrap_or("a tool");
            heard.uses(tool, state["title"].as_str());
            if state["status"] == "error"
                && state["error"]
                    .as_str()
                    .is_some_and(|why| why.contains("reject"))
            {
                heard.tool_was_refused(tool);
            }
        }
        Some("step_finish") => {
            heard.succeeds();
            let (tokens, cache) = (&part["tokens"], &part["tokens"]["cache"]);
            let input = number(tokens, "input").saturating_add(sum(cache, &["read", "write"]));
            heard.add_tokens(input, sum(tokens, &["output", "reasoning"]));
            heard.add_cost(dollars(&part["cost"]));
        }
        Some("error") => {
            let error = &event["error"];
            let data = &error["data"];
            let message = data["message"]
                .as_str()
                .or_else(|| error["name"].as_str())
                .unwrap_or("it gives no reason");
            let wait = data["responseHeaders"]["retry-after"]
                .as_str()
                .and_then(|text| text.parse::<u64>().ok());
            let until = wait.map(|seconds| now.plus(seconds.saturating_mul(1_000)));
            let by_status = refused::status(number(data, "statusCode"), until);
            heard.gives_up(
                message,
                by_status.or_else(|| refused::by_words(message, now)),
            );
        }
        Some(_) | None => {}
    }
}
