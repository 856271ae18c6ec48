//! Commands that look at runs, live or over: `status`, `list`, `report` and `logs`.

use crate::advice::first_parents;
use crate::arguments::{LogsArguments, ReportArguments, ReportForm, RunChoice};
use crate::display::{json_text, print_data, print_json, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::open;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use tm_app::{Project, write_reports};
use tm_executors::agent::{LogEnd, LogReader};
use tm_executors::process::run_attended;
use tm_reports::{Summary, junit_xml, metrics_text, report_html, status_text, summary_markdown};
use tm_runtime::replay;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{AttemptNumber, RunId, TaskId};
use tm_store::run::{RunDirectory, read_json};

/// How often a log that is followed is read again.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);
/// So much of the end of what an agent complained about is shown.
const MOST_ERRORS: u64 = 16 * 1024 * 1024;

pub(crate) fn status(start: &Path, choice: &RunChoice) -> Result<u8, CommandFailure> {
    let project = open(start, Vec::new())?;
    let (_, summary) = tm_app::status(&project, choice.run.as_deref())?;
    print_data(&if choice.json {
        json_text(&summary)?
    } else {
        status_text(&summary)
    });
    Ok(0)
}

pub(crate) async fn report(
    start: &Path,
    arguments: &ReportArguments,
) -> Result<u8, CommandFailure> {
    let project = open(start, Vec::new())?;
    let (directory, summary) = tm_app::status(&project, arguments.run.as_deref())?;
    let form = &arguments.form;
    if form.open {
        write_reports(&summary, directory.path())?;
        print_line(&directory.report().display().to_string());
        show(&directory).await?;
        return Ok(tell_doubts(&summary));
    }
    print_data(&match form {
        ReportForm { json: true, .. } => json_text(&summary)?,
        ReportForm { html: true, .. } => report_html(&summary),
        ReportForm { junit: true, .. } => junit_xml(&summary),
        ReportForm { .. } => summary_markdown(&summary),
    });
    Ok(tell_doubts(&summary))
}

/// Shows the report in the program that this desktop has for it.
async fn show(directory: &RunDirectory) -> Result<(), CommandFailure> {
    let programs = ["wslview", "xdg-open", "open"];
    let Some(program) = programs
        .into_iter()
        .find(|program| which::which(program).is_ok())
    else {
        return Err(CommandFailure::new(format!(
            "open the report: there is none of {}",
            programs.join(", ")
        )));
    };
    let report = directory.report().display().to_string();
    let ended = run_attended(program, &[&report], directory.path()).await?;
    if !ended.success() {
        return Err(CommandFailure::new(format!(
            "open the report: `{program}` ended with {ended}"
        )));
    }
    Ok(())
}

pub(crate) fn metrics(start: &Path, run: Option<&str>) -> Result<u8, CommandFailure> {
    let project = open(start, Vec::new())?;
    print_data(&metrics_text(&tm_app::status(&project, run)?.1));
    Ok(0)
}

/// Says on stderr what is in doubt; returns the exit code of whoever reports it.
fn tell_doubts(summary: &Summary) -> u8 {
    if summary.doubts.is_empty() {
        return 0;
    }
    print_line(&format!(
        "warning: the journal of the run {} says of work that it has landed, and git does not show it",
        summary.run_id
    ));
    print_line(&format!(
        "hint: {}",
        first_parents(&summary.integration_branch)
    ));
    ExitCode::Refused.number()
}

pub(crate) fn list(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let project = open(start, Vec::new())?;
    let mut rows = Vec::new();
    for id in project.directory.runs()? {
        let directory = project.directory.run(&id)?;
        let replayed = replay(&directory.journal());
        rows.push(match replayed {
            Ok(replayed) => {
                let summary = tm_app::summary(&project, &directory, &replayed);
                let landed = summary.tasks.iter().filter(|task| task.landed).count();
                json!({"run_id": id, "status": summary.status, "tasks": summary.tasks.len(), "landed": landed,
                       "started_at": summary.started_at, "integration_branch": summary.integration_branch})
            }
            Err(error) => match refused_before(&project, &id) {
                Some(why) => json!({"run_id": id, "status": "refused", "error": why}),
                None => json!({"run_id": id, "status": "unreadable", "error": error.to_string()}),
            },
        });
    }
    if json {
        print_json(&rows)?;
        return Ok(0);
    }
    for row in &rows {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let branch = if row["error"].is_null() {
            text("integration_branch")
        } else {
            text("error")
        };
        let landed = format!("{}/{} landed", row["landed"], row["tasks"]);
        print_data(&format!(
            "{}  {:11}  {landed:16}  {branch}\n",
            text("run_id"),
            text("status")
        ));
    }
    if rows.is_empty() {
        print_line("there has been no run; `tm waves run` starts one");
    }
    Ok(0)
}

/// Why a run never began.
fn refused_before(project: &Project, id: &RunId) -> Option<String> {
    let seen: Preflight = read_json(&project.directory.run(id).ok()?.preflight()).ok()?;
    seen.lines()
        .into_iter()
        .next()
        .filter(|_| !seen.is_good() && !seen.is_overridden)
}

pub(crate) fn logs(start: &Path, arguments: &LogsArguments) -> Result<u8, CommandFailure> {
    let project = open(start, Vec::new())?;
    let (directory, replayed) = project.replayed(arguments.run.as_deref())?;
    let task = TaskId::from(arguments.task.as_str());
    let Some(view) = replayed.scheduler.task(&task) else {
        return Err(CommandFailure::new(format!(
            "find the task `{task}` in the run {}",
            replayed.header.run_id
        ))
        .hint("`tm waves status` lists its tasks; a test task is `<id>:red`"));
    };
    let last = view.attempts.last().map(|record| record.number);
    let Some(attempt) = arguments.attempt.map(AttemptNumber).or(last) else {
        return Err(CommandFailure::new(format!(
            "show what `{task}` printed: it has not been started"
        )));
    };
    let attempt_directory = directory.attempt(&task, attempt);
    let mut log = LogReader::new(attempt_directory.stdout());
    loop {
        let is_over = !arguments.follow || has_ended(&directory.journal(), &task, attempt);
        print_fresh(
            &mut log,
            if is_over {
                LogEnd::Final
            } else {
                LogEnd::Growing
            },
        )?;
        if is_over {
            break;
        }
        std::thread::sleep(FOLLOW_EVERY);
    }
    let errors =
        tm_untrusted::read_end(&attempt_directory.stderr(), MOST_ERRORS).unwrap_or_default();
    if !errors.is_empty() {
        print_line(&format!(
            "stderr of attempt {attempt}:\n{}",
            tm_untrusted::clean(&String::from_utf8_lossy(&errors))
        ));
    }
    if let Some(record) = view
        .attempts
        .iter()
        .find(|record| record.number == attempt && record.failure().is_some())
    {
        print_line(&format!(
            "attempt {attempt} failed:\n{}",
            tm_untrusted::clean(record.evidence())
        ));
    }
    Ok(0)
}

fn has_ended(journal: &Path, task: &TaskId, attempt: AttemptNumber) -> bool {
    let Ok(replayed) = replay(journal) else {
        return true;
    };
    let ended = replayed.scheduler.task(task).is_none_or(|view| {
        let record = view.attempts.iter().find(|record| record.number == attempt);
        record.is_none_or(|record| record.report().is_some())
    });
    ended || replayed.scheduler.ended().is_some()
}

/// Prints what has been added to a log since: whole lines while it grows, so that nothing is taken apart that has to be
/// left out.
fn print_fresh(log: &mut LogReader, end: LogEnd) -> Result<(), CommandFailure> {
    loop {
        let read = log.read(end);
        let text =
            read.map_err(|error| CommandFailure::new(format!("read what it printed: {error}")))?;
        if text.is_empty() {
            return Ok(());
        }
        print_data(&tm_untrusted::clean(&text));
    }
}
