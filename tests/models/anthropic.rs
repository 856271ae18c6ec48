//! Anthropic's messages, as Claude Code asks for them.

use super::conversation::{Conversation, Reply, Tool};
use super::stream::Events;
use super::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS};
use serde_json::{Value, json};

/// Tokens of an answer that were written to the cache.
const CACHE_WRITTEN: u64 = 100;

pub(super) fn read(body: &Value) -> Conversation {
    let mut conversation = Conversation::with(
        body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| Tool::offered(tool, "input_schema")),
    );
    for message in body["messages"].as_array().into_iter().flatten() {
        let parts = message["content"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let answers = parts
            .iter()
            .filter(|part| part["type"] == "tool_result")
            .count();
        conversation.answers += answers;
        if message["role"] == "user" && answers == 0 {
            conversation.hear_all(&message["content"]);
        }
    }
    conversation
}

pub(super) fn events(number: usize, model: &Value, reply: &Reply) -> Events {
    let (block, delta) = match reply {
        Reply::Call { tool, arguments } => (
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
        ),
        Reply::Say(text) => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
        ),
    };
    let mut message = message(number, model, &[]);
    message["usage"]["output_tokens"] = 1.into();
    Events::default()
        .named(&json!({"type": "message_start", "message": message}))
        .named(&json!({"type": "content_block_start", "index": 0, "content_block": block}))
        .named(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
        .named(&json!({"type": "content_block_stop", "index": 0}))
        .named(&json!({"type": "message_delta", "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
                       "usage": {"output_tokens": OUTPUT_TOKENS}}))
        .named(&json!({"type": "message_stop"}))
}

pub(super) fn document(number: usize, model: &Value, reply: &Reply) -> Value {
    let block = match reply {
        Reply::Call { tool, arguments } => {
            json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": tool, "input": arguments})
        }
        Reply::Say(text) => json!({"type": "text", "text": text}),
    };
    let mut message = message(number, model, &[block]);
    message["stop_reason"] = stop_reason(reply).into();
    message
}

const fn stop_reason(reply: &Reply) -> &'static str {
    match reply {
        Reply::Call { .. } => "tool_use",
        Reply::Say(_) => "end_turn",
    }
}

fn message(number: usize, model: &Value, content: &[Value]) -> Value {
    json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": content,
           "stop_reason": null, "stop_sequence": null,
           "usage": {"input_tokens": INPUT_TOKENS - CACHED_TOKENS - CACHE_WRITTEN,
                     "cache_creation_input_tokens": CACHE_WRITTEN, "cache_read_input_tokens": CACHED_TOKENS,
                     "output_tokens": OUTPUT_TOKENS}})
}
