//! What is told of a session: one JSON object a line, each with a `type` of its own.

use super::permissions::Answer;
use agent_client_protocol::Error as ProtocolError;
use agent_client_protocol::v1::schema::{PromptResponse, RequestPermissionRequest, SessionUpdate};
use serde_json::{Value, json};

/// Something that the program does or says, as it tells it.
pub(super) fn update(update: &SessionUpdate) -> Value {
    json!({"type": "acp/update", "update": update})
}

/// A question of the program, and its answer.
pub(super) fn permission(request: &RequestPermissionRequest, answer: &Answer) -> Value {
    let tool = &request.tool_call;
    json!({"type": "acp/permission", "tool": tool.fields.title.as_deref().unwrap_or("a tool"), "kind": tool.fields.kind,
           "answer": answer.decision.as_str(), "why": answer.decision.why()})
}

/// The end of its turn.
pub(super) fn end(answer: &PromptResponse) -> Value {
    json!({"type": "acp/end", "stop_reason": answer.stop_reason, "usage": answer.usage, "meta": answer.meta})
}

/// An error instead of an end.
pub(super) fn error(error: &ProtocolError) -> Value {
    json!({"type": "acp/error", "code": error.code, "message": error.message, "data": error.data})
}
