//! What tools answer: structured content, and a document as text for a call that came to nothing.

use crate::advice;
use rmcp::RoleServer;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorData, ProgressNotificationParam,
};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;
use tm_reports::cleaned;
use tm_scheduler::with_causes;

/// What a tool answers: structured content without a schema of its own, since clients that hand schemas of answers to
/// their models pay several times for them what they pay for the tools.
pub(crate) type Answer = Result<CallToolResult, Refusal>;

/// A call that came to nothing, with what to do about it.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Refusal {
    document: Value,
}

impl Refusal {
    /// Returns a refusal in words.
    pub(crate) fn new(error: &dyn std::error::Error, hint: Option<&str>) -> Self {
        Self::of_words(&with_causes(error), hint)
    }

    /// Returns a refusal with words of its own.
    pub(crate) fn of_words(message: &str, hint: Option<&str>) -> Self {
        Self {
            document: json!({"success": false, "error": format!("failed to {message}"), "suggestion": hint}),
        }
    }

    /// Returns a refusal that was told in full elsewhere.
    pub(crate) const fn of(document: Value) -> Self {
        Self { document }
    }
}

impl From<tm_app::Error> for Refusal {
    fn from(error: tm_app::Error) -> Self {
        Self::new(&error, advice::on(&error).as_deref())
    }
}

impl From<tm_runtime::autopilot::Error> for Refusal {
    fn from(error: tm_runtime::autopilot::Error) -> Self {
        let mut refusal = Self::new(&error, advice::on_autopilot(&error).as_deref());
        if error.kind() == tm_runtime::autopilot::ErrorKind::Usage {
            refusal.document["error"] = json!(error.to_string());
        }
        if let tm_runtime::autopilot::Error::Refused {
            verdict, is_paused, ..
        } = &error
        {
            refusal.document["validated"] = Value::Bool(false);
            refusal.document["message"] = json!(verdict.message);
            refusal.document["paused"] = json!(is_paused);
        }
        refusal
    }
}

impl From<tm_store::backlog::BacklogError> for Refusal {
    fn from(error: tm_store::backlog::BacklogError) -> Self {
        Self::new(&error, advice::on_backlog(&error))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.document.fmt(formatter)
    }
}

/// As text alone, which every client hands to its model.
impl IntoCallToolResult for Refusal {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::error(vec![ContentBlock::text(self.to_string())]).into())
    }
}

/// Returns a result whose texts have no orders to a terminal and no secrets in them, as a document and as text.
pub(crate) fn cleaned_result(mut result: CallToolResult) -> CallToolResult {
    result.structured_content = result.structured_content.map(cleaned);
    for block in &mut result.content {
        if let ContentBlock::Text(content) = block {
            let document = serde_json::from_str::<Value>(&content.text).map(cleaned);
            content.text = document.map_or_else(
                |_| tm_untrusted::clean(&content.text),
                |document| document.to_string(),
            );
        }
    }
    result
}

/// How often a client that wants to know is told that a call is at work.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Waits for a call that may take long, and tells a client that asks for progress what there is to tell: a number that
/// grows, and words.
pub(crate) async fn told<T>(
    context: &RequestContext<RoleServer>,
    mut news: impl FnMut() -> Option<(f64, String)>,
    work: impl Future<Output = T>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else {
        return work.await;
    };
    let mut work = std::pin::pin!(work);
    loop {
        if let Ok(done) = tokio::time::timeout(TELL_EVERY, &mut work).await {
            return done;
        }
        if let Some((number, words)) = news() {
            let progress = ProgressNotificationParam::new(token.clone(), number);
            let progress = progress.with_message(words);
            // A client that does not listen is told again next time.
            let _told_next_time = context.peer.notify_progress(progress).await;
        }
    }
}
