//! What is done when a run is over: the command with the facts in its environment, and the notices.

use super::telling::{OnComplete, channels, deliver, on_complete, warn};
use crate::arguments::AfterRun;
use std::ffi::OsString;
use tm_reports::Summary;
use tm_runtime::notices::Notice;
use tm_store::run::RunDirectory;

/// Runs the command and delivers the notices.
pub(crate) fn aftermath(after: &AfterRun, summary: &Summary, directory: &RunDirectory) {
    if after.on_complete.is_none() && after.notify.is_empty() {
        return;
    }
    let told = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().and_then(|runtime| {
        let folder = std::env::current_dir()?;
        runtime.block_on(async {
            if let Some(command) = &after.on_complete {
                let environment = environment(summary, directory);
                let (log_folder, id) = (directory.path(), summary.run_id.as_str());
                on_complete(OnComplete { command, folder: &folder, log_folder, environment, id }).await;
            }
            let notice = Notice { text: in_a_line(summary), summary };
            deliver(&channels(&after.notify).unwrap_or_default(), &notice, directory.path()).await;
        });
        Ok(())
    });
    warn(told.map_err(|error| format!("tell that the run is over: {error}")));
}

fn in_a_line(summary: &Summary) -> String {
    let totals = summary.totals;
    format!(
        "run {} {}: {} of {} tasks landed, {} failed, {} blocked",
        summary.run_id,
        summary.status,
        summary.tasks.iter().filter(|task| task.landed).count(),
        summary.tasks.len(),
        totals.failed,
        totals.blocked
    )
}

fn environment(summary: &Summary, directory: &RunDirectory) -> Vec<(OsString, OsString)> {
    let totals = summary.totals;
    let exit_code = summary.exit_code.map(|code| code.to_string()).unwrap_or_default();
    [
        ("TM_RUN_ID", OsString::from(&summary.run_id)),
        ("TM_STATUS", OsString::from(&summary.status)),
        ("TM_EXIT_CODE", exit_code.into()),
        ("TM_PASSED", (totals.passed + totals.partial).to_string().into()),
        ("TM_FAILED", totals.failed.to_string().into()),
        ("TM_BLOCKED", totals.blocked.to_string().into()),
        ("TM_INTEGRATION_BRANCH", OsString::from(&summary.integration_branch)),
        ("TM_SUMMARY_FILE", directory.summary_json().into()),
        ("TM_REPORT_FILE", directory.report().into()),
    ]
    .map(|(name, value)| (name.into(), value))
    .into()
}
