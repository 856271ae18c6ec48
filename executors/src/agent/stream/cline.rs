//! Cline's `--json`. Its usage events hold totals, so the last one counts.

use super::{Heard, number, refused};
use serde_json::Value;
use tm_scheduler::{Timestamp, Tokens};

pub(super) fn hear(heard: &mut Heard, event: &Value, now: Timestamp) {
    match event["type"].as_str() {
        Some("agent_event") => agent_event(heard, &event["event"]),
        Some("run_result") => {
            let whole = &event["aggregateUsage"];
            let usage = if whole.is_object() { whole } else { &event["usage"] };
            let tokens = Tokens { input: number(usage, "inputTokens"), output: number(usage, "outputTokens") };
            total(heard, tokens, usage);
            let text = event["text"].as_str().unwrap_or_default();
            if event["finishReason"] == "completed" {
                heard.succeeds();
                heard.says(text);
            } else {
                let message = event["error"]["message"].as_str().or_else(|| event["error"].as_str()).unwrap_or(text);
                heard.gives_up(message, refused::words(message, now));
            }
        }
        Some("error") => {
            let message = event["message"].as_str().unwrap_or("it gives no reason");
            heard.gives_up(message, refused::words(message, now));
        }
        Some(_) | None => {}
    }
}

fn agent_event(heard: &mut Heard, event: &Value) {
    match (event["type"].as_str(), event["contentType"].as_str()) {
        (Some("usage"), _) => {
            let tokens =
                Tokens { input: number(event, "totalInputTokens"), output: number(event, "totalOutputTokens") };
            total(heard, tokens, event);
        }
        (Some("content_start"), Some("tool")) => heard.uses(event["toolName"].as_str().unwrap_or("a tool"), None),
        (Some("content_end"), Some("text")) => heard.says(event["text"].as_str().unwrap_or_default()),
        _ => {}
    }
}

/// It writes a cost of 0 for models whose price it does not know.
fn total(heard: &mut Heard, tokens: Tokens, usage: &Value) {
    heard.tokens = Some(tokens);
    heard.cost_usd = usage["totalCost"].as_f64().filter(|cost| *cost > 0.0).or(heard.cost_usd);
}
