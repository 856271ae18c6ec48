//! Gemini's `generateContent` and `streamGenerateContent`, as Gemini CLI asks for them.

use super::conversation::{Conversation, Reply, Tool};
use super::stream::Events;
use super::{CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, THOUGHT_TOKENS};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Conversation {
    let offers = body["tools"].as_array().into_iter().flatten();
    let functions = offers.flat_map(|offer| {
        offer["functionDeclarations"]
            .as_array()
            .into_iter()
            .flatten()
    });
    let mut conversation = Conversation::with(functions.filter_map(|function| {
        let key = if function["parametersJsonSchema"].is_object() {
            "parametersJsonSchema"
        } else {
            "parameters"
        };
        Tool::offered(function, key)
    }));
    for content in body["contents"].as_array().into_iter().flatten() {
        let parts = content["parts"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        conversation.answers += parts
            .iter()
            .filter(|part| part["functionResponse"].is_object())
            .count();
        if content["role"] == "user" {
            conversation.hear_all(&content["parts"]);
        }
    }
    conversation
}

pub(super) fn events(number: usize, model: &str, reply: &Reply) -> Events {
    Events::default().plain(&document(number, model, reply))
}

pub(super) fn document(number: usize, model: &str, reply: &Reply) -> Value {
    let part = match reply {
        Reply::Call { tool, arguments } => {
            json!({"functionCall": {"name": tool, "args": arguments}})
        }
        Reply::Say(text) => json!({"text": text}),
    };
    json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
           "usageMetadata": {"promptTokenCount": INPUT_TOKENS, "cachedContentTokenCount": CACHED_TOKENS,
                             "candidatesTokenCount": OUTPUT_TOKENS - THOUGHT_TOKENS,
                             "thoughtsTokenCount": THOUGHT_TOKENS, "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS},
           "modelVersion": model, "responseId": format!("response-{number}")})
}
