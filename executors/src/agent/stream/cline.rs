//! Cline's `--json`. Its usage events hold totals, so the last one counts.

use super::{StreamState, dollars, first, number, refused, text};
use serde_json::Value;
use tm_scheduler::{ServiceRefusal, Tokens};

pub(super) fn hear(heard: &mut StreamState, event: &Value) {
    match text(&event["type"]) {
        "agent_event" => agent_event(heard, &event["event"]),
        "run_result" => run_result(heard, event),
        "error" => heard.gives_up(&event["message"]),
        _ => {}
    }
}

fn agent_event(heard: &mut StreamState, event: &Value) {
    match (text(&event["type"]), text(&event["contentType"])) {
        ("usage", _) => total(heard, event, ["totalInputTokens", "totalOutputTokens"]),
        ("content_start", "tool") => heard.uses(&event["toolName"], &Value::Null),
        ("content_end", "text") => heard.says(&event["text"]),
        ("content_end", "tool")
            if text(&event["output"]["error"]).contains("requires approval") =>
        {
            heard.tool_was_refused(&event["toolName"]);
        }
        // One that it recovers from quotes a tool's output; it tells of limits in words only.
        ("error", _) if event["recoverable"] != true => {
            heard.gives_up(&event["error"]["message"]);
            if event["errorClass"] == "auth" {
                heard.refusal = Some(ServiceRefusal::Auth);
            }
        }
        _ => {}
    }
}

fn run_result(heard: &mut StreamState, event: &Value) {
    total(
        heard,
        first(
            ["aggregateUsage", "usage"].map(|name| &event[name]),
            Value::is_object,
        ),
        ["inputTokens", "outputTokens"],
    );
    let (said, reason) = (text(&event["text"]), text(&event["finishReason"]));
    if reason == "completed" {
        heard.succeeds();
        heard.closes_with(said);
        return;
    }
    let error = event["error"]["message"]
        .as_str()
        .or_else(|| event["error"].as_str());
    // The class of the error was told by the event before. Its text is what the model said, who may say anything.
    let refusal = error
        .and_then(|error| refused::by_words(error, heard.now))
        .or_else(|| heard.refusal.take());
    let words = if said.is_empty() { reason } else { said };
    heard.gave_up(error.unwrap_or(words), refusal);
}

/// It writes a cost of 0 for models whose price it does not know.
fn total(heard: &mut StreamState, usage: &Value, [input, output]: [&str; 2]) {
    heard.tokens = Some(Tokens {
        input: number(usage, input),
        output: number(usage, output),
    });
    heard.costs_in_all(dollars(&usage["totalCost"]).filter(|cost| *cost > 0.0));
}
