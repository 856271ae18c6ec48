//! Puts errors into words.

use tm_runtime::JournalHeader;
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
