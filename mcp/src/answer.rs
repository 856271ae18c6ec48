//! What tools answer: structured content, also for a call that came to nothing.

use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ErrorData};
use serde_json::{Value, json};
use std::fmt;

/// A call that came to nothing, with what to do about it.
#[derive(Debug)]
pub(crate) struct Refusal {
    document: Value,
}

impl Refusal {
    /// Returns a refusal in words.
    pub(crate) fn new(error: &dyn std::error::Error, hint: Option<&str>) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let words = cause.to_string();
            if !message.contains(&words) {
                message = format!("{message}: {words}");
            }
            source = cause.source();
        }
        Self::words(&message, hint)
    }

    /// Returns a refusal with words of its own.
    pub(crate) fn words(message: &str, hint: Option<&str>) -> Self {
        Self { document: json!({"success": false, "error": format!("failed to {message}"), "suggestion": hint}) }
    }

    /// Returns a refusal that is told in full by a program.
    pub(crate) const fn of(document: Value) -> Self {
        Self { document }
    }
}

impl From<tm_runtime::autopilot::Error> for Refusal {
    fn from(error: tm_runtime::autopilot::Error) -> Self {
        let mut refusal = Self::new(&error, error.hint().as_deref());
        if let tm_runtime::autopilot::Error::Refused { verdict, is_paused, .. } = &error {
            refusal.document["validated"] = Value::Bool(false);
            refusal.document["message"] = json!(verdict.message);
            refusal.document["paused"] = json!(is_paused);
        }
        refusal
    }
}

impl From<tm_store::backlog::BacklogError> for Refusal {
    fn from(error: tm_store::backlog::BacklogError) -> Self {
        Self::new(&error, None)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.document.fmt(formatter)
    }
}

impl IntoCallToolResult for Refusal {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured_error(self.document).into())
    }
}

/// Runs what waits for git, files and tests off the threads that serve.
pub(crate) async fn blocking<T: Send + 'static, E: Into<Refusal> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(error) => Err(Refusal::new(&error, None)),
    }
}
