//! Claude Code's `stream-json`, and Qwen Code's, which has the same shape.
//!
//! Usage of single messages is partial; only that of the last event counts.

use super::{NO_REASON, StreamState, dollars, number, refused, sum, text, what_for};
use serde_json::Value;
use tm_scheduler::ServiceRefusal;

/// The numbers of the usage that are input; Qwen Code's first one holds those that were cached.
pub(super) const INPUT: [&str; 3] = [
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];

pub(super) fn hear(heard: &mut StreamState, event: &Value, input: &[&str]) {
    let content = &event["message"]["content"];
    match text(&event["type"]) {
        // It is told to people, and no answer.
        "assistant" if !event["error"].is_null() => heard.notes(&content[0]["text"]),
        "assistant" => {
            heard.gets_through();
            for part in content.as_array().into_iter().flatten() {
                match text(&part["type"]) {
                    "text" => heard.says(&part["text"]),
                    "tool_use" => heard.uses(&part["name"], what_for(&part["input"])),
                    _ => {}
                }
            }
        }
        "system" => system(heard, event),
        "rate_limit_event" if event["rate_limit_info"]["status"] == "rejected" => {
            heard.waits_behind = Some(ServiceRefusal::RateLimited {
                until: refused::epoch(&event["rate_limit_info"]["resetsAt"]),
            });
        }
        "result" => result(heard, event, input),
        _ => {}
    }
}

fn system(heard: &mut StreamState, event: &Value) {
    match text(&event["subtype"]) {
        "api_retry" => {
            let status = &event["error_status"];
            let why = text(&event["error"]);
            let (behind, why) = if status.is_null() {
                let lost = Some(ServiceRefusal::ConnectionLost);
                (lost, format!("no answer ({why})"))
            } else {
                let behind = refused::status(number(event, "error_status"), None);
                (behind, format!("{status} {why}"))
            };
            heard.waits(behind, &format!("waits for its service: {why}"));
        }
        // Qwen Code names a pause behind a limit, and none where it asks again for other reasons.
        "retry" => {
            let pause = event["data"]["delayMs"].as_u64();
            let behind = pause.map(|pause| ServiceRefusal::RateLimited {
                until: Some(heard.now.plus(pause)),
            });
            heard.waits(behind, "waits for its service");
        }
        "permission_denied" => heard.tool_was_refused(&event["tool_name"]),
        _ => {}
    }
}

fn result(heard: &mut StreamState, event: &Value, input: &[&str]) {
    let usage = &event["usage"];
    if usage.is_object() {
        heard.add_tokens(sum(usage, input), number(usage, "output_tokens"));
    }
    // A total of the whole program's, not of this event's.
    heard.costs_in_all(dollars(&event["total_cost_usd"]));
    for denial in event["permission_denials"].as_array().into_iter().flatten() {
        heard.tool_was_refused(&denial["tool_name"]);
    }
    let said = event["result"]
        .as_str()
        .or_else(|| event["error"]["message"].as_str());
    if event["is_error"] == true {
        gives_up(
            heard,
            event,
            said.or_else(|| event["subtype"].as_str())
                .unwrap_or(NO_REASON),
        );
    } else {
        heard.succeeds();
        if let Some(said) = said {
            heard.closes_with(said);
        }
    }
}

fn gives_up(heard: &mut StreamState, event: &Value, said: &str) {
    let declared = heard.waits_behind.as_ref().and_then(ServiceRefusal::until);
    let until = declared.or_else(|| refused::until(said, heard.now));
    let named = match (text(&event["terminal_reason"]), text(&event["stop_reason"])) {
        ("prompt_too_long", _) => Some(ServiceRefusal::ContextTooLong),
        (_, "refusal") => Some(ServiceRefusal::RefusedByModel),
        _ => None,
    };
    let by_status = refused::status(number(event, "api_error_status"), until);
    let own_words = ["API Error", "limit reached", "Not logged in"];
    let is_of_the_service = event["terminal_reason"] == "api_error"
        || !event["error"].is_null()
        || own_words.iter().any(|words| said.contains(words));
    let by_words = || refused::by_words(said, heard.now).filter(|_| is_of_the_service);
    let refusal = named.or(by_status).or_else(by_words);
    heard.gave_up(said, refusal);
}
