//! What `executors/src/acp/` tells of a session over the Agent Client Protocol.

use super::{NO_REASON, StreamState, dollars, number, refused, sum, text};
use serde_json::Value;
use tm_scheduler::ServiceRefusal;

/// The protocol's own code for "log in first".
const AUTHENTICATION_REQUIRED: i64 = -32_000;

pub(super) fn hear(heard: &mut StreamState, event: &Value) {
    match text(&event["type"]) {
        "acp/update" => hear_update(heard, &event["update"]),
        "acp/permission" if event["answer"] == "refused" => heard.tool_was_refused(&event["tool"]),
        "acp/end" => hear_end(heard, event),
        "acp/error" => hear_error(heard, event),
        _ => {}
    }
}

fn hear_update(heard: &mut StreamState, update: &Value) {
    match text(&update["sessionUpdate"]) {
        "agent_message_chunk" => heard.goes_on(&update["content"]["text"]),
        // A tool in between begins another message.
        "tool_call" => {
            heard.message.clear();
            heard.uses(&update["title"], &Value::Null);
        }
        "tool_call_update" => heard.shows(text(&update["title"])),
        // The cost of the whole session so far.
        "usage_update" if update["cost"]["currency"] == "USD" => {
            heard.costs_in_all(dollars(&update["cost"]["amount"]));
        }
        _ => {}
    }
}

fn hear_end(heard: &mut StreamState, event: &Value) {
    let (usage, quota) = (&event["usage"], &event["meta"]["quota"]["token_count"]);
    if usage.is_object() {
        // Agents differ in whether cached tokens are among the input; they agree on the total.
        let output = sum(usage, &["outputTokens", "thoughtTokens"]);
        heard.add_tokens(
            number(usage, "totalTokens")
                .saturating_sub(output)
                .max(number(usage, "inputTokens")),
            output,
        );
    } else if quota.is_object() {
        heard.add_tokens(
            number(quota, "input_tokens"),
            number(quota, "output_tokens"),
        );
    }
    match event["stop_reason"].as_str() {
        Some("end_turn") => heard.succeeds(),
        Some(reason) => {
            let refusal = (reason == "refusal").then_some(ServiceRefusal::RefusedByModel);
            let reason = reason.replace('_', " ");
            heard.gave_up(&format!("it ended its turn early: {reason}"), refusal);
        }
        None => heard.gave_up(NO_REASON, None),
    }
}

fn hear_error(heard: &mut StreamState, event: &Value) {
    let message = event["message"].as_str().unwrap_or(NO_REASON);
    let words = match &event["data"] {
        Value::Null => message.to_owned(),
        Value::String(details) if details.is_empty() => message.to_owned(),
        Value::String(details) => format!("{message}: {details}"),
        details => format!("{message}: {details}"),
    };
    let by_code = if event["code"] == AUTHENTICATION_REQUIRED {
        Some(ServiceRefusal::Auth)
    } else {
        refused::status(number(event, "code"), refused::until(&words, heard.now))
    };
    heard.gives_up(&words.into());
    heard.refusal = by_code.or(heard.refusal.take());
}
