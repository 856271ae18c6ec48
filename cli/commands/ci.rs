//! Tells CI systems how a run ended, each in its own way. Trouble with it changes nothing about the run.

use crate::arguments::CiSystem;
use crate::display::{print_data, print_line};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;
use tm_executors::process::{Stdin, TreeCommand, run_within};
use tm_reports::{Summary, Verdict, summary_markdown};
use tm_store::run::RunDirectory;

/// How long a CI system's own program may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Tells the system that is named; GitHub's step summary is written wherever its variable is set.
pub(crate) fn tell_ci(system: Option<CiSystem>, summary: &Summary, directory: &RunDirectory) {
    if let Err(why) = step_summary(summary) {
        print_line(&format!("warning: failed to {why}"));
    }
    match system {
        Some(CiSystem::Github) => print_data(&github_annotations(summary)),
        Some(CiSystem::Gitlab) => print_data(&gitlab_section(summary)),
        Some(CiSystem::Buildkite) => {
            if let Err(why) = buildkite(summary, directory) {
                print_line(&format!("warning: failed to {why}"));
            }
        }
        None => {}
    }
}

fn step_summary(summary: &Summary) -> Result<(), String> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = opened.and_then(|mut file| file.write_all(summary_markdown(summary).as_bytes()));
    written.map_err(|error| format!("write `{}`: {error}", path.display()))
}

/// One error for each failed task, in the form of workflow commands.
fn github_annotations(summary: &Summary) -> String {
    let mut text = String::new();
    for task in summary.tasks.iter().filter(|task| task.verdict == Verdict::Fail) {
        let failure = task.failure.map_or("failed", tm_scheduler::Failure::as_str);
        let reason = task.reason.as_deref().unwrap_or_default();
        let title = escaped(&format!("task {} {}", task.id, task.title)).replace(':', "%3A").replace(',', "%2C");
        let _ = writeln!(text, "::error title={title}::{}", escaped(&format!("{failure}: {reason}")));
    }
    text
}

/// Percent, carriage return and line feed end or change a workflow command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The summary as a section of the job's log that can be folded.
fn gitlab_section(summary: &Summary) -> String {
    let at = |moment: &str| moment.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_second);
    format!(
        "\u{1b}[0Ksection_start:{}:tm_summary\r\u{1b}[0Ktm: {}\n{}\u{1b}[0Ksection_end:{}:tm_summary\r\u{1b}[0K\n",
        at(&summary.started_at),
        summary.status,
        summary_markdown(summary),
        at(&summary.ended_at)
    )
}

/// Puts the summary on the build's page.
fn buildkite(summary: &Summary, directory: &RunDirectory) -> Result<(), String> {
    let style = match summary.status.as_str() {
        "completed" => "success",
        "failed" => "error",
        _ => "warning",
    };
    let log = directory.path().join("buildkite.log");
    let command = TreeCommand {
        program: "buildkite-agent".into(),
        arguments: ["annotate", "--context", "tm", "--style", style].map(Into::into).into(),
        working_folder: directory.path().to_owned(),
        stdin: Stdin::File(directory.summary()),
        stdout: log.clone(),
        stderr: log.clone(),
        marks: vec![("TM_CI".to_owned(), summary.run_id.clone())],
        ..TreeCommand::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("tell Buildkite: {error}"))?;
    match runtime.block_on(run_within(&command, LIMIT)) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(_) => Err(format!("tell Buildkite: `buildkite-agent` failed; `{}` has its words", log.display())),
        Err(error) => Err(format!("tell Buildkite: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_can_not_begin_a_workflow_command_of_their_own() {
        assert_eq!(escaped("50%\n::error::x\r"), "50%25%0A::error::x%0D");
    }
}
