//! Makes errors of what was found, and puts them into words.

use super::Error;
use tm_runtime::{JournalHeader, StepError};
use tm_scheduler::AuditItem;

pub(super) fn not_shown(header: &JournalHeader, item: &AuditItem) -> String {
    let task = item.task.as_ref();
    let task = task.map_or_else(|| "nobody".to_owned(), |task| format!("task `{task}`"));
    let mut words = format!(
        "take up the run {}, and to go on with its branch `{}`: the work of {task}, `{}`, can't be shown again ({}): {}",
        header.run_id, header.integration_branch, item.commit, item.outcome, item.what
    );
    if !item.evidence.is_empty() {
        words = words + "\n" + item.evidence.trim_end();
    }
    tm_untrusted::clean(&words)
}

impl Error {
    /// Refuses to go on where something was found that forbids it.
    pub(crate) fn refuse<T>(found: Option<T>, error: impl FnOnce(T) -> Self) -> Result<(), Self> {
        found.map_or(Ok(()), |found| Err(error(found)))
    }

    /// Returns what makes an error of trouble with judging.
    pub(crate) fn unjudged(what: impl Into<String>) -> impl FnOnce(StepError) -> Self {
        move |why| Self::Unjudged {
            what: what.into(),
            why: why.to_string(),
        }
    }
}
