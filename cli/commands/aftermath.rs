//! The command and the notices for a run that is over. Trouble with them is told and changes nothing about the run.

use crate::arguments::AfterRun;
use crate::display::print_line;
use crate::failure::{CommandFailure, ExitCode};
use std::ffi::OsString;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_within, shell_words};
use tm_reports::Summary;
use tm_runtime::notices::{Channel, Notice};
use tm_store::run::RunDirectory;

/// How long the command may take.
const LIMIT: Duration = Duration::from_mins(10);

/// Reads the channels, before a run begins that would have to tell them.
///
/// # Errors
/// A text names no channel.
pub(crate) fn channels(after: &AfterRun) -> Result<Vec<Channel>, CommandFailure> {
    let usage = |error| CommandFailure::from(error).code(ExitCode::Usage).hint("`--notify desktop`, or `--notify URL`");
    after.notify.iter().map(|text| text.parse().map_err(usage)).collect()
}

/// Runs the command and delivers the notices.
pub(crate) fn aftermath(after: &AfterRun, summary: &Summary, directory: &RunDirectory) {
    if after.on_complete.is_none() && after.notify.is_empty() {
        return;
    }
    let told = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map(|runtime| {
        runtime.block_on(async {
            if let Some(command) = &after.on_complete {
                warn(on_complete(command, summary, directory).await);
            }
            let notice = Notice { text: in_a_line(summary), summary };
            for channel in channels(after).unwrap_or_default() {
                warn(channel.deliver(&notice, directory.path()).await);
            }
        });
    });
    warn(told.map_err(|error| format!("tell that the run is over: {error}")));
}

fn warn(outcome: Result<(), String>) {
    if let Err(why) = outcome {
        print_line(&format!("warning: failed to {why}"));
    }
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

async fn on_complete(command: &str, summary: &Summary, directory: &RunDirectory) -> Result<(), String> {
    let (program, arguments) = shell_words(command);
    let log = directory.path().join("on-complete.log");
    let tree = TreeCommand {
        program,
        arguments,
        working_folder: std::env::current_dir().map_err(|error| format!("run the command `{command}`: {error}"))?,
        environment: environment(summary, directory),
        stdout: log.clone(),
        stderr: log.clone(),
        marks: vec![("TM_ON_COMPLETE".to_owned(), summary.run_id.clone())],
        ..TreeCommand::default()
    };
    match run_within(&tree, LIMIT).await {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(format!("run the command `{command}`: {status}; `{}` has its words", log.display())),
        Ok(None) => Err(format!("run the command `{command}`: it took longer than {} minutes", LIMIT.as_secs() / 60)),
        Err(error) => Err(error.to_string()),
    }
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
