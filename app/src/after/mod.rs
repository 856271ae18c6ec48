//! Tells that a run or a loop is over: by a command of the user's, and over channels. Trouble with either is told and
//! changes nothing about what is over.

#[cfg(feature = "otel")]
mod traces;

use crate::error::Error;
use crate::notice;
use crate::project::Project;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_within, shell_words};
use tm_reports::Summary;
use tm_runtime::RunEvent;
use tm_runtime::notices::{Channel, Notice};
use tm_scheduler::{Event, RunId, counted};
use tm_store::run::RunDirectory;

/// How long the command may take.
const LIMIT: Duration = Duration::from_mins(10);

/// So much of the end of what it printed is shown.
const MOST_SHOWN: u64 = 1024 * 1024;

/// What a run does when it is over, besides writing its own folder. A run that is taken up does the same again, as far
/// as nothing else is given then.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AfterRun {
    /// Where reports are written besides.
    pub report_dir: Option<PathBuf>,
    /// The CI system that is told, in the words of whoever tells it.
    pub ci: Option<String>,
    /// A command that `sh` runs.
    pub on_complete: Option<String>,
    /// Channels that are told.
    pub notify: Vec<String>,
    /// Whether they are told of each task that is given up, too.
    pub notify_failures: bool,
}

impl AfterRun {
    /// Makes sure that everybody can be told, before anything is done.
    ///
    /// # Errors
    /// A channel is none.
    pub fn checked(self) -> Result<Self, Error> {
        channels(&self.notify).map(|_| self)
    }

    /// Returns what was given, completed by what was given before; a folder is named from the root on, since a run may
    /// be taken up from elsewhere.
    ///
    /// # Errors
    /// There is no current folder.
    pub(crate) fn or(&self, before: &Self) -> std::io::Result<Self> {
        let report_dir = self.report_dir.as_ref().map(std::path::absolute);
        let (now, before) = (self.clone(), before.clone());
        Ok(Self {
            report_dir: report_dir.transpose()?.or(before.report_dir),
            ci: now.ci.or(before.ci),
            on_complete: now.on_complete.or(before.on_complete),
            notify: if now.notify.is_empty() {
                before.notify
            } else {
                now.notify
            },
            notify_failures: now.notify_failures || before.notify_failures,
        })
    }

    /// Runs the command, delivers the notices, and sends the traces, when a run is over.
    pub(crate) async fn tell(
        &self,
        project: &Project,
        summary: &Summary,
        directory: &RunDirectory,
    ) {
        #[cfg(feature = "otel")]
        warn(project, traces::export(summary));
        if let (Some(command), Ok(folder)) = (&self.on_complete, std::env::current_dir()) {
            let completed = OnComplete {
                command,
                folder: &folder,
                log_folder: directory.path(),
                environment: environment(summary, directory),
                id: &summary.run_id,
            };
            completed.run(project).await;
        }
        let text = in_a_line(summary);
        let channels = channels(&self.notify).unwrap_or_default();
        let notice = Notice { text, summary };
        deliver(project, &channels, &notice, directory.path()).await;
    }
}

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
pub(crate) fn channels(texts: &[String]) -> Result<Vec<Channel>, Error> {
    texts.iter().map(|text| Ok(text.parse()?)).collect()
}

/// Tells every channel; `scratch` is a folder for what that needs.
pub(crate) async fn deliver<T: Serialize + Sync>(
    project: &Project,
    channels: &[Channel],
    notice: &Notice<T>,
    scratch: &Path,
) {
    for channel in channels {
        let delivered = channel.deliver(notice, scratch, project.root()).await;
        warn(project, delivered.map_err(|error| error.to_string()));
    }
}

/// Tells every channel what of a run that goes on is worth looking at; the run does not wait for it.
pub(crate) fn tell_meanwhile(
    run_event: &RunEvent,
    after: &AfterRun,
    (project, run, directory): (&Project, &RunId, &RunDirectory),
) {
    let channels = channels(&after.notify).unwrap_or_default();
    let Some(notice) = meanwhile(run_event, after, run).filter(|_| !channels.is_empty()) else {
        return;
    };
    let (project, scratch) = (project.clone(), directory.path().to_owned());
    tokio::spawn(async move { deliver(&project, &channels, &notice, &scratch).await });
}

/// That a run is paused by itself, since whoever paused it knows, and, where that is asked for, that a task is given up.
fn meanwhile(run_event: &RunEvent, after: &AfterRun, run: &RunId) -> Option<Notice<Value>> {
    let RunEvent::Event(event) = run_event else {
        return None;
    };
    Some(match event {
        Event::RunPaused { why: Some(why) } => Notice {
            text: format!("run {run} is paused: {why}"),
            summary: json!({"run_id": run, "status": "paused", "broken_by": why}),
        },
        Event::TaskFailed {
            task,
            failure,
            reason,
        } if after.notify_failures => Notice {
            text: format!(
                "run {run}: {task} is given up: {}: {reason}",
                failure.as_str()
            ),
            summary: json!({"run_id": run, "status": "running",
                            "failed": {"task": task, "failure": failure, "reason": reason}}),
        },
        _ => return None,
    })
}

impl OnComplete<'_> {
    /// Runs the command to its end, and shows what it printed.
    pub(crate) async fn run(self, project: &Project) {
        warn(project, run(project, self).await);
    }
}

async fn run(project: &Project, completed: OnComplete<'_>) -> Result<(), String> {
    let command = completed.command;
    let (_, arguments) = shell_words(command);
    let log = completed.log_folder.join("on-complete.log");
    // A run that is taken up ends twice; what was printed the first time has been shown.
    let shown = tm_untrusted::size(&log);
    let tree = TreeCommand {
        // A loop's agents may have put another one where the user's is looked for.
        program: "/bin/sh".into(),
        arguments,
        working_folder: completed.folder.to_owned(),
        environment: completed.environment,
        stdout: log.clone(),
        stderr: log.clone(),
        env_markers: vec![("TM_ON_COMPLETE".to_owned(), completed.id.to_owned())],
        ..TreeCommand::default()
    };
    let ended = run_within(&tree, LIMIT)
        .await
        .map_err(|error| error.with_causes())?;
    let printed = printed_since(&log, shown);
    if !printed.is_empty() {
        project.tell(&notice::Notice::Printed(printed.trim_end()));
    }
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!(
            "run the command `{command}`: {status}; `{}` has its words",
            log.display()
        )),
        None => Err(format!(
            "run the command `{command}`: it took longer than {} minutes",
            LIMIT.as_secs() / 60
        )),
    }
}

/// What was printed since a log had so many bytes, its end at the most.
fn printed_since(log: &Path, shown: u64) -> String {
    let fresh = tm_untrusted::size(log).saturating_sub(shown);
    let printed = tm_untrusted::read_end(log, fresh.min(MOST_SHOWN)).unwrap_or_default();
    tm_untrusted::clean(&String::from_utf8_lossy(&printed))
}

fn warn(project: &Project, outcome: Result<(), String>) {
    if let Err(why) = outcome {
        project.tell(&notice::Notice::Failed(&why));
    }
}

fn in_a_line(summary: &Summary) -> String {
    let counts = summary.counts;
    format!(
        "run {} {}: {} of {} landed, {} failed, {} blocked",
        summary.run_id,
        summary.status,
        counts.landed,
        counted(counts.tasks, "task"),
        counts.failed,
        counts.blocked
    )
}

fn environment(summary: &Summary, directory: &RunDirectory) -> Vec<(OsString, OsString)> {
    let totals = summary.totals;
    let exit_code = summary
        .exit_code
        .map(|code| code.to_string())
        .unwrap_or_default();
    [
        ("TM_RUN_ID", OsString::from(&summary.run_id)),
        ("TM_STATUS", OsString::from(&summary.status)),
        ("TM_EXIT_CODE", exit_code.into()),
        (
            "TM_PASSED",
            (totals.passed + totals.partial).to_string().into(),
        ),
        ("TM_FAILED", totals.failed.to_string().into()),
        ("TM_BLOCKED", totals.blocked.to_string().into()),
        (
            "TM_INTEGRATION_BRANCH",
            OsString::from(summary.integration_branch.as_str()),
        ),
        ("TM_SUMMARY_FILE", directory.summary_json().into()),
        ("TM_REPORT_FILE", directory.report().into()),
    ]
    .map(|(name, value)| (name.into(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_now_outweighs_what_was_given_before() {
        let before = AfterRun {
            report_dir: Some("/reports".into()),
            ci: Some("github".to_owned()),
            on_complete: Some("make done".to_owned()),
            notify: vec!["desktop".to_owned()],
            notify_failures: true,
        };
        assert_eq!(AfterRun::default().or(&before).expect("a folder"), before);
        let now = AfterRun {
            ci: Some("none".to_owned()),
            notify: vec!["http://x".to_owned()],
            ..AfterRun::default()
        };
        let both = now.or(&before).expect("a folder");
        assert_eq!(
            (&both.ci, &both.notify, &both.on_complete),
            (&now.ci, &now.notify, &before.on_complete)
        );
        let relative = AfterRun {
            report_dir: Some("reports".into()),
            ..AfterRun::default()
        };
        assert!(
            relative
                .or(&before)
                .expect("a folder")
                .report_dir
                .is_some_and(|folder| folder.is_absolute())
        );
    }
}
