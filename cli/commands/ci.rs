//! Tells CI systems how a run ended, each in its own way. Trouble with it changes nothing about the run.

use crate::display::{print_data, print_own};
use crate::environment::variable;
use clap::ValueEnum;
use itertools::Itertools as _;
use std::io::Write as _;
use std::time::Duration;
use tm_executors::process::{Stdin, TreeCommand, run_within};
use tm_reports::{Sheet, Summary, TaskSummary, Verdict, summary_markdown, summary_text};
use tm_scheduler::{Failure, in_a_line};
use tm_store::run::RunDirectory;

/// How long a CI system's own program may take.
const LIMIT: Duration = Duration::from_secs(30);

/// CI systems.
#[derive(Debug, Clone, Copy, Eq, PartialEq, ValueEnum)]
pub(crate) enum CiSystem {
    /// The one that the environment names.
    Auto,
    /// None of them.
    None,
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
    /// Buildkite.
    Buildkite,
}

/// Tells the system that is named; GitHub's step summary is written wherever its variable is set.
pub(crate) async fn tell_ci(system: Option<&str>, summary: &Summary, directory: &RunDirectory) {
    if let Err(why) = step_summary(summary) {
        say!("warning: failed to {why}");
    }
    let system = system.and_then(|name| CiSystem::from_str(name, true).ok());
    match chosen(system, |name| std::env::var(name).ok()) {
        Some(CiSystem::Github) => print_data(&github_annotations(summary)),
        Some(CiSystem::Gitlab) => print_own(&gitlab_section(summary)),
        Some(CiSystem::Buildkite) => {
            if let Err(why) = buildkite(summary, directory).await {
                say!("warning: failed to {why}");
            }
        }
        Some(CiSystem::Auto | CiSystem::None) | None => {}
    }
}

/// The system that is named, or else the one in whose jobs the variable is set.
fn chosen(system: Option<CiSystem>, variable: impl Fn(&str) -> Option<String>) -> Option<CiSystem> {
    let is_set = |name: &str| {
        variable(name).is_some_and(|value| !matches!(value.as_str(), "" | "false" | "0"))
    };
    match system {
        Some(CiSystem::Auto) | None => [
            ("GITHUB_ACTIONS", CiSystem::Github),
            ("GITLAB_CI", CiSystem::Gitlab),
            ("BUILDKITE", CiSystem::Buildkite),
        ]
        .into_iter()
        .find_map(|(name, system)| is_set(name).then_some(system)),
        named => named,
    }
}

fn step_summary(summary: &Summary) -> Result<(), String> {
    let Some(path) = variable("GITHUB_STEP_SUMMARY") else {
        return Ok(());
    };
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(summary_markdown(summary).as_bytes()))
        .map_err(|error| format!("write `{}`: {error}", path.display()))
}

/// One error for each failed task, in the form of workflow commands.
fn github_annotations(summary: &Summary) -> String {
    summary
        .tasks
        .iter()
        .filter(|task| task.verdict == Verdict::Fail)
        .map(annotation)
        .join("")
}

fn annotation(task: &TaskSummary) -> String {
    let failure = task.failure.map_or("failed", Failure::as_str);
    let reason = in_a_line(task.reason.as_deref().unwrap_or_default());
    let title = escaped(&format!("task {} {}", task.id, task.title))
        .replace(':', "%3A")
        .replace(',', "%2C");
    let why = escaped(&format!("{failure}: {reason}"));
    format!("::error title={title}::{why}\n")
}

/// Percent, carriage return and line feed end or change a workflow command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// The summary as a section of the job's log that can be folded. A section begins and ends with an escape sequence:
/// nothing that a task or an agent said can hold one.
fn gitlab_section(summary: &Summary) -> String {
    let at = |moment: &str| {
        moment
            .parse::<jiff::Timestamp>()
            .map_or(0, jiff::Timestamp::as_second)
    };
    format!(
        "\u{1b}[0Ksection_start:{}:tm_summary\r\u{1b}[0Ktm: {}\n{}\u{1b}[0Ksection_end:{}:tm_summary\r\u{1b}[0K\n",
        at(&summary.started_at),
        summary.status,
        Sheet::PLAIN
            .set(&summary_text(summary))
            .replace(|letter: char| letter.is_control() && letter != '\n', " "),
        at(&summary.ended_at)
    )
}

/// Puts the summary on the build's page.
async fn buildkite(summary: &Summary, directory: &RunDirectory) -> Result<(), String> {
    let style = match summary.status.as_str() {
        "completed" => "success",
        "failed" => "error",
        _ => "warning",
    };
    let log = directory.path().join("buildkite.log");
    let command = TreeCommand {
        program: "buildkite-agent".into(),
        arguments: ["annotate", "--context", "tm", "--style", style]
            .map(Into::into)
            .into(),
        working_folder: directory.path().to_owned(),
        stdin: Stdin::File(directory.summary()),
        stdout: log.clone(),
        stderr: log.clone(),
        env_markers: vec![("TM_CI".to_owned(), summary.run_id.clone())],
        ..TreeCommand::default()
    };
    match run_within(&command, LIMIT).await {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(_) => Err(format!(
            "tell Buildkite: `buildkite-agent` failed; `{}` has its words",
            log.display()
        )),
        Err(error) => Err(format!("tell Buildkite: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_system_unless_a_flag_does() {
        let in_job = |set: &'static str| move |name: &str| (name == set).then(|| "true".to_owned());
        assert_eq!(chosen(None, in_job("GITLAB_CI")), Some(CiSystem::Gitlab));
        assert_eq!(
            chosen(Some(CiSystem::Auto), in_job("BUILDKITE")),
            Some(CiSystem::Buildkite)
        );
        assert_eq!(
            chosen(Some(CiSystem::None), in_job("GITHUB_ACTIONS")),
            Some(CiSystem::None)
        );
        assert_eq!(
            chosen(Some(CiSystem::Github), in_job("GITLAB_CI")),
            Some(CiSystem::Github)
        );
        assert_eq!(chosen(None, |_| None), None);
        assert_eq!(chosen(None, |_| Some("false".to_owned())), None);
    }

    #[test]
    fn no_title_can_end_the_section_of_a_log() {
        let mut summary: Summary = serde_json::from_value(serde_json::json!({
            "version": 1, "run_id": "i\u{1b}[0Ksection_end:0:tm_summary\r\u{1b}[0K", "status": "failed", "exit_code": 3, "tag": "t", "base_commit": "b",
            "integration_branch": "i", "integration_commit": "c",
            "max_parallel": 1, "dispatch": "rolling", "started_at": "2026-11-21T01:45:12Z",
            "ended_at": "2026-11-21T01:45:13Z", "wall_ms": 1, "lower_bound_ms": 1, "waves": [], "tasks": [],
            "tdd": {"pairs": 0, "compliant": 0, "rate": null, "table": []},
            "totals": {"passed": 0, "partial": 0, "failed": 0, "blocked": 0, "tokens": 0, "cost_usd": null},
        }))
        .expect("a summary");
        let section = gitlab_section(&summary);
        assert!(
            section
                .starts_with("\u{1b}[0Ksection_start:1795225512:tm_summary\r\u{1b}[0Ktm: failed\n"),
            "{section:?}"
        );
        assert!(
            section.ends_with("\u{1b}[0Ksection_end:1795225513:tm_summary\r\u{1b}[0K\n"),
            "{section:?}"
        );
        assert_eq!(section.matches('\u{1b}').count(), 4, "{section:?}");
        assert!(section.contains("isection_end:0:tm_summary"), "{section:?}");
        summary.run_id.clear();
        assert_eq!(gitlab_section(&summary).matches('\u{1b}').count(), 4);
    }

    #[test]
    fn reasons_can_not_begin_a_workflow_command_of_their_own() {
        assert_eq!(escaped("50%\n::error::x\r"), "50%25%0A::error::x%0D");
    }
}
