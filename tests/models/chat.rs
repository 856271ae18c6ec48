//! `OpenAI`'s chat completions, as opencode and Qwen Code ask for them.

use super::conversation::{Conversation, Reply, Tool};
use super::stream::Events;
use super::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let tools = body["tools"].as_array().into_iter().flatten();
    let mut conversation =
        Conversation::with(tools.filter_map(|tool| Tool::offered(&tool["function"], "parameters")));
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("tool") => conversation.answers += 1,
            Some("user") => conversation.hear_all(&message["content"]),
            Some(_) | None => {}
        }
    }
    conversation
}

pub(super) fn events(number: usize, model: &Value, reply: &Reply) -> Events {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1, "model": model,
               "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let delta = match reply {
        Reply::Call { .. } => json!({"tool_calls": [call(number, reply)]}),
        Reply::Say(text) => json!({"content": text}),
    };
    let mut last = chunk(json!({}), Value::Null);
    last["choices"] = json!([]);
    last["usage"] = usage();
    Events::default()
        .plain(&chunk(
            json!({"role": "assistant", "content": ""}),
            Value::Null,
        ))
        .plain(&chunk(delta, Value::Null))
        .plain(&chunk(json!({}), finish_reason(reply).into()))
        .plain(&last)
        .plain("[DONE]")
}

pub(super) fn document(number: usize, model: &Value, reply: &Reply) -> Value {
    let message = match reply {
        Reply::Call { .. } => {
            json!({"role": "assistant", "content": null, "tool_calls": [call(number, reply)]})
        }
        Reply::Say(text) => json!({"role": "assistant", "content": text}),
    };
    json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1, "model": model,
           "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(reply)}], "usage": usage()})
}

const fn finish_reason(reply: &Reply) -> &'static str {
    match reply {
        Reply::Call { .. } => "tool_calls",
        Reply::Say(_) => "stop",
    }
}

fn call(number: usize, reply: &Reply) -> Value {
    let Reply::Call { tool, arguments } = reply else {
        return Value::Null;
    };
    json!({"index": 0, "id": format!("call_{number}"), "type": "function",
           "function": {"name": tool, "arguments": arguments.to_string()}})
}

fn usage() -> Value {
    json!({"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
           "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS, "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS}})
}
