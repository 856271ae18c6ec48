//! Tells that a run or a loop is over: by a command of the user's, and over channels. Trouble with either is told and
//! changes nothing about what is over.

use crate::arguments::AfterRun;
use crate::display::print_line;
use crate::failure::{CommandFailure, ExitCode};
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_within, shell_words};
use tm_runtime::notices::{Channel, Notice};
use tm_runtime::{JournalHeader, Told};
use tm_scheduler::Event;
use tm_store::run::RunDirectory;

/// How long the command may take.
const LIMIT: Duration = Duration::from_mins(10);

/// So much of the end of what it printed is shown.
const MOST_SHOWN: u64 = 1024 * 1024;

/// The command of `--on-complete`.
#[derive(Debug)]
pub(crate) struct OnComplete<'a> {
    /// As `sh` runs it.
    pub(crate) command: &'a str,
    /// Where it works.
    pub(crate) folder: &'a Path,
    /// Where its words are kept.
    pub(crate) log_folder: &'a Path,
    /// The facts, on top of this process's environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// What is over; no two have the same.
    pub(crate) id: &'a str,
}

/// Reads the channels, before anything begins that would have to tell them.
///
/// # Errors
/// A text names no channel.
pub(crate) fn channels(texts: &[String]) -> Result<Vec<Channel>, CommandFailure> {
    let usage = |error| CommandFailure::from(error).code(ExitCode::Usage).hint("`--notify desktop`, or `--notify URL`");
    texts.iter().map(|text| text.parse().map_err(usage)).collect()
}

/// Tells every channel; `scratch` is a folder for what that needs.
pub(crate) async fn deliver<T: Serialize + Sync>(channels: &[Channel], notice: &Notice<T>, scratch: &Path) {
    for channel in channels {
        warn(channel.deliver(notice, scratch).await);
    }
}

/// Tells every channel that a run is paused by itself; whoever paused it knows.
pub(crate) fn tell_of_pause(told: &Told, header: &JournalHeader, directory: &RunDirectory, after: &AfterRun) {
    let Told::Event(Event::RunPaused { why: Some(why) }) = told else { return };
    let channels = channels(&after.notify).unwrap_or_default();
    if channels.is_empty() {
        return;
    }
    let (id, why, scratch) = (header.run_id.to_string(), why.clone(), directory.path().to_owned());
    // The run does not wait for it.
    tokio::spawn(async move {
        let text = format!("run {id} is paused: {why}");
        let summary = serde_json::json!({"run_id": id, "status": "paused", "broken_by": why});
        deliver(&channels, &Notice { text, summary: &summary }, &scratch).await;
    });
}

/// Runs the command to its end, and shows what it printed.
pub(crate) async fn on_complete(completed: OnComplete<'_>) {
    warn(run(completed).await);
}

async fn run(completed: OnComplete<'_>) -> Result<(), String> {
    let command = completed.command;
    let (program, arguments) = shell_words(command);
    let log = completed.log_folder.join("on-complete.log");
    // A run that is taken up ends twice; what was printed the first time has been shown.
    let shown = tm_untrusted::size(&log);
    let tree = TreeCommand {
        program,
        arguments,
        working_folder: completed.folder.to_owned(),
        environment: completed.environment,
        stdout: log.clone(),
        stderr: log.clone(),
        marks: vec![("TM_ON_COMPLETE".to_owned(), completed.id.to_owned())],
        ..TreeCommand::default()
    };
    let ended = run_within(&tree, LIMIT).await.map_err(|error| error.with_causes())?;
    let fresh = tm_untrusted::size(&log).saturating_sub(shown).min(MOST_SHOWN);
    let printed = tm_untrusted::read_end(&log, fresh).unwrap_or_default();
    let printed = tm_untrusted::clean(&String::from_utf8_lossy(&printed));
    if !printed.is_empty() {
        print_line(printed.trim_end());
    }
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("run the command `{command}`: {status}; `{}` has its words", log.display())),
        None => Err(format!("run the command `{command}`: it took longer than {} minutes", LIMIT.as_secs() / 60)),
    }
}

pub(crate) fn warn(outcome: Result<(), String>) {
    if let Err(why) = outcome {
        print_line(&format!("warning: failed to {why}"));
    }
}
