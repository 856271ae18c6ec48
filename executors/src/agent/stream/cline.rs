//! Cline's `--json`. Its usage events hold totals, so the last one counts.

use super::{StreamState, dollars, number, refused};
use serde_json::Value;
use tm_scheduler::{ServiceRefusal, Timestamp, Tokens};

pub(super) fn hear(heard: &mut StreamState, event: &Value, now: Timestamp) {
    match event["type"].as_str() {
        Some("agent_event") => agent_event(heard, &event["event"], now),
        Some("run_result") => run_result(heard, event, now),
        Some("error") => {
            let message = event["message"].as_str().unwrap_or("it gives no reason");
            heard.gives_up(message, refused::by_words(message, now));
        }
        Some(_) | None => {}
    }
}

fn agent_event(heard: &mut StreamState, event: &Value, now: Timestamp) {
    match (event["type"].as_str(), event["contentType"].as_str()) {
        (Some("usage"), _) => {
            let tokens = Tokens {
                input: number(event, "totalInputTokens"),
                output: number(event, "totalOutputTokens"),
            };
            total(heard, tokens, event);
        }
        (Some("content_start"), Some("tool")) => {
            heard.uses(event["toolName"].as_str().unwrap_or("a tool"), None);
        }
        (Some("content_end"), Some("text")) => {
            heard.says(event["text"].as_str().unwrap_or_default());
        }
        (Some("content_end"), Some("tool"))
            if event["output"]["error"]
                .as_str()
                .is_some_and(|why| why.contains("requires approval")) =>
        {
            heard.tool_was_refused(event["toolName"].as_str().unwrap_or("a tool"));
        }
        // One that it recovers from quotes a tool's output.
        (Some("error"), _) if event["recoverable"] != true => error(heard, event, now),
        _ => {}
    }
}

fn run_result(heard: &mut StreamState, event: &Value, now: Timestamp) {
    let whole = &event["aggregateUsage"];
    let usage = if whole.is_object() {
        whole
    } else {
        &event["usage"]
    };
    total(
        heard,
        Tokens {
            input: number(usage, "inputTokens"),
            output: number(usage, "outputTokens"),
        },
        usage,
    );
    let (text, reason) = (
        event["text"].as_str().unwrap_or_default(),
        event["finishReason"].as_str().unwrap_or_default(),
    );
    if reason == "completed" {
        heard.succeeds();
        heard.says(text);
        return;
    }
    let error = event["error"]["message"]
        .as_str()
        .or_else(|| event["error"].as_str());
    // The class of the error was told by the event before. Its text is what the model said, who may say anything.
    let refusal = error
        .and_then(|error| refused::by_words(error, now))
        .or_else(|| heard.refusal.take());
    heard.gives_up(
        error.unwrap_or(if text.is_empty() { reason } else { text }),
        refusal,
    );
}

/// It tells of limits in words only.
fn error(heard: &mut StreamState, event: &Value, now: Timestamp) {
    let message = event["error"]["message"]
        .as_str()
        .unwrap_or("it gives no reason");
    let by_class = (event["errorClass"] == "auth").then_some(ServiceRefusal::Auth);
    heard.gives_up(
        message,
        by_class.or_else(|| refused::by_words(message, now)),
    );
}

/// It writes a cost of 0 for models whose price it does not know.
fn total(heard: &mut StreamState, tokens: Tokens, usage: &Value) {
    heard.tokens = Some(tokens);
    heard.costs_in_all(dollars(&usage["totalCost"]).filter(|cost| *cost > 0.0));
}
