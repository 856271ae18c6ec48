//! What `executors/src/acp/` tells of a session over the Agent Client Protocol.

use super::{StreamState, dollars, number, refused, sum};
use serde_json::Value;
use tm_scheduler::{ServiceRefusal, Timestamp};

/// The protocol's own code for "log in first".
const AUTHENTICATION_REQUIRED: i64 = -32_000;

pub(super) fn hear(heard: &mut StreamState, event: &Value, now: Timestamp) {
    match event["type"].as_str() {
        Some("acp/update") => hear_update(heard, &event["update"]),
        Some("acp/permission") if event["answer"] == "refused" => {
            heard.tool_was_refused(event["tool"].as_str().unwrap_or("a tool"));
        }
        Some("acp/end") => hear_end(heard, event),
        Some("acp/error") => hear_error(heard, event, now),
        Some(_) | None => {}
    }
}

fn hear_update(heard: &mut StreamState, update: &Value) {
    match update["sessionUpdate"].as_str() {
        Some("agent_message_chunk") => {
            heard.goes_on(update["content"]["text"].as_str().unwrap_or_default());
        }
        // A tool in between begins another message.
        Some("tool_call") => {
            heard.message.clear();
            heard.uses(update["title"].as_str().unwrap_or("a tool"), None);
        }
        Some("tool_call_update") => {
            if let Some(title) = update["title"].as_str() {
                heard.shows(title);
            }
        }
        // The cost of the whole session so far.
        Some("usage_update") if update["cost"]["currency"] == "USD" => {
            heard.costs_in_all(dollars(&update["cost"]["amount"]));
        }
        Some(_) | None => {}
    }
}

fn hear_end(heard: &mut StreamState, event: &Value) {
    let (usage, quota) = (&event["usage"], &event["meta"]["quota"]["token_count"]);
    if usage.is_object() {
        // Agents differ in whether cached tokens are among the input; they agree on the total.
        let output = sum(usage, &["outputTokens", "thoughtTokens"]);
        let input = number(usage, "totalTokens").saturating_sub(output);
        heard.add_tokens(input.max(number(usage, "inputTokens")), output);
    } else if quota.is_object() {
        heard.add_tokens(
            number(quota, "input_tokens"),
            number(quota, "output_tokens"),
        );
    }
    match event["stop_reason"].as_str() {
        Some("end_turn") => heard.succeeds(),
        Some(reason) => heard.gives_up(
            &format!("it ended its turn early: {}", reason.replace('_', " ")),
            None,
        ),
        None => heard.gives_up("it gives no reason", None),
    }
}

fn hear_error(heard: &mut StreamState, event: &Value, now: Timestamp) {
    let message = event["message"].as_str().unwrap_or("it gives no reason");
    let details = match &event["data"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let words = if details.is_empty() {
        message.to_owned()
    } else {
        format!("{message}: {details}")
    };
    let code = event["code"].as_i64().unwrap_or(0);
    let by_code = match code {
        AUTHENTICATION_REQUIRED => Some(ServiceRefusal::Auth),
        code => refused::status(
            u64::try_from(code).unwrap_or(0),
            refused::until(&words, now),
        ),
    };
    heard.gives_up(&words, by_code.or_else(|| refused::by_words(&words, now)));
}
