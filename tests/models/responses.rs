//! `OpenAI`'s responses, as Codex asks for them.

use super::conversation::{Conversation, Reply, Tool};
use super::stream::Events;
use super::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, THOUGHT_TOKENS};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let tools = body["tools"].as_array().into_iter().flatten();
    let mut conversation =
        Conversation::with(tools.filter_map(|tool| Tool::offered(tool, "parameters")));
    conversation.hear_all(&Value::String(
        body["input"].as_str().unwrap_or_default().to_owned(),
    ));
    for item in body["input"].as_array().into_iter().flatten() {
        if item["type"]
            .as_str()
            .is_some_and(|name| name.ends_with("_output"))
        {
            conversation.answers += 1;
        } else if item["role"] == "user" {
            conversation.hear_all(&item["content"]);
        }
    }
    conversation
}

pub(super) fn events(number: usize, model: &Value, reply: &Reply) -> Events {
    let item = item(number, reply);
    let begun = json!({"id": format!("resp_{number}"), "object": "response", "status": "in_progress", "model": model,
                       "output": []});
    let mut events = Events::default()
        .named(&json!({"type": "response.created", "response": begun}))
        .named(&json!({"type": "response.output_item.added", "output_index": 0, "item": item}));
    if let Reply::Say(text) = reply {
        events = events.named(
            &json!({"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0,
                                      "content_index": 0, "delta": text}),
        );
    }
    events
        .named(&json!({"type": "response.output_item.done", "output_index": 0, "item": item}))
        .named(&json!({"type": "response.completed", "response": document(number, model, reply)}))
}

pub(super) fn document(number: usize, model: &Value, reply: &Reply) -> Value {
    json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "model": model,
           "output": [item(number, reply)],
           "usage": {"input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
                     "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS},
                     "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}})
}

fn item(number: usize, reply: &Reply) -> Value {
    match reply {
        Reply::Call { tool, arguments } => {
            json!({"type": "function_call", "id": format!("fc_{number}"),
            "call_id": format!("call_{number}"), "name": tool, "arguments": arguments.to_string()})
        }
        Reply::Say(text) => {
            json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
    }
}
