//! Claude Code's `stream-json`, and Qwen Code's, which has the same shape.
//!
//! Usage of single messages is partial; only that of the last event counts.

use super::{StreamState, dollars, number, refused, sum};
use serde_json::Value;
use tm_scheduler::{ServiceRefusal, Timestamp};

/// Whether the input tokens of the usage hold those that were cached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Input {
    WithCached,
    WithoutCached,
}

pub(super) fn hear(heard: &mut StreamState, event: &Value, input: Input, now: Timestamp) {
    match event["type"].as_str() {
        Some("assistant") if !event["error"].is_null() => {
            heard.shows(
                event["message"]["content"][0]["text"]
                    .as_str()
                    .unwrap_or_default(),
            );
        }
        Some("assistant") => {
            heard.waits_behind = None;
            for part in event["message"]["content"].as_array().into_iter().flatten() {
                message_part(heard, part);
            }
        }
        Some("system") => system(heard, event, now),
        Some("rate_limit_event") => {
            let info = &event["rate_limit_info"];
            if info["status"] == "rejected" {
                heard.waits_behind = Some(ServiceRefusal::RateLimited {
                    until: refused::epoch(&info["resetsAt"]),
                });
            }
        }
        Some("result") => result(heard, event, input, now),
        Some(_) | None => {}
    }
}

fn message_part(heard: &mut StreamState, part: &Value) {
    match (
        part["type"].as_str(),
        part["text"].as_str(),
        part["name"].as_str(),
    ) {
        (Some("text"), Some(text), _) => heard.says(text),
        (Some("tool_use"), _, Some(tool)) => {
            let input = &part["input"];
            heard.uses(
                tool,
                input["command"]
                    .as_str()
                    .or_else(|| input["file_path"].as_str()),
            );
        }
        _ => {}
    }
}

fn system(heard: &mut StreamState, event: &Value, now: Timestamp) {
    match event["subtype"].as_str() {
        Some("api_retry") => {
            heard.waits_behind = refused::status(number(event, "error_status"), None);
            heard.shows(&format!(
                "waits for its service: {}",
                event["error"].as_str().unwrap_or("it asks again")
            ));
        }
        // Qwen Code names a pause behind a limit, and none where it asks again for other reasons.
        Some("retry") => {
            let until = event["data"]["delayMs"]
                .as_u64()
                .map(|pause| now.plus(pause));
            heard.waits_behind =
                until.map(|until| ServiceRefusal::RateLimited { until: Some(until) });
            heard.shows("waits for its service");
        }
        Some("permission_denied") => {
            heard.tool_was_refused(event["tool_name"].as_str().unwrap_or("a tool"));
        }
        Some(_) | None => {}
    }
}

fn result(heard: &mut StreamState, event: &Value, input: Input, now: Timestamp) {
    let usage = &event["usage"];
    if usage.is_object() {
        let cached = match input {
            Input::WithCached => 0,
            Input::WithoutCached => sum(
                usage,
                &["cache_read_input_tokens", "cache_creation_input_tokens"],
            ),
        };
        heard.add_tokens(
            number(usage, "input_tokens").saturating_add(cached),
            number(usage, "output_tokens"),
        );
    }
    // A total of the whole program's, not of this event's.
    heard.costs_in_all(dollars(&event["total_cost_usd"]));
    for denial in event["permission_denials"].as_array().into_iter().flatten() {
        heard.tool_was_refused(denial["tool_name"].as_str().unwrap_or("a tool"));
    }
    let text = event["result"]
        .as_str()
        .or_else(|| event["error"]["message"].as_str());
    if event["is_error"] != true {
        heard.succeeds();
        if let Some(text) = text {
            heard.says(text);
        }
        return;
    }
    let text = text
        .or_else(|| event["subtype"].as_str())
        .unwrap_or("it gives no reason");
    let declared = match heard.waits_behind {
        Some(ServiceRefusal::RateLimited { until }) => until,
        Some(ServiceRefusal::Auth) | None => None,
    };
    let by_status = refused::status(
        number(event, "api_error_status"),
        declared.or_else(|| refused::until(text, now)),
    );
    let is_of_the_service = event["terminal_reason"] == "api_error"
        || text.contains("API Error")
        || !event["error"].is_null();
    let by_words = || {
        if is_of_the_service || text.contains("limit reached") || text.contains("Not logged in") {
            refused::by_words(text, now)
        } else {
            None
        }
    };
    let refusal = by_status.or_else(by_words);
    heard.gives_up(text, refusal);
}
