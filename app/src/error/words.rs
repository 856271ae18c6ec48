//! Puts errors into words, with what caused them.

use tm_runtime::JournalHeader;
use tm_scheduler::{AuditItem, Status, quoted};

/// Returns the words of an error and of what caused it.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !message.contains(&words) {
            message = format!("{message}: {words}");
        }
        source = cause.source();
    }
    message
}

pub(super) fn not_shown(header: &JournalHeader, item: &AuditItem) -> String {
    let task = item
        .task
        .as_ref()
        .map_or_else(|| "nobody".to_owned(), |task| format!("task `{task}`"));
    let evidence = if item.evidence.is_empty() {
        String::new()
    } else {
        format!("\n{}", item.evidence.trim_end())
    };
    tm_untrusted::clean(&format!(
        "take up the run {}, and to go on with its branch `{}`: the work of {task}, `{}`, can't be shown again ({}): \
         {}{evidence}",
        header.run_id, header.integration_branch, item.commit, item.outcome, item.what
    ))
}

pub(super) fn known_statuses() -> String {
    quoted(&Status::KNOWN)
}
