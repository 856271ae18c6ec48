//! Commands that look at runs, live or over: `status`, `list`, `report` and `metrics`.

use super::Perform;
use crate::advice::first_parents;
use crate::display::{json_text, print_answer, print_data, print_either, print_text};
use crate::failure::{ExitCode, Result};
use crate::project::open;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::path::Path;
use tm_app::{KnownRun, Project, live_loop, with_excerpts, write_reports};
use tm_executors::process::run_attended;
use tm_reports::{REPORTS, RunReport, Summary, metrics_text, status_text, summary_text};
use tm_runtime::replay;
use tm_scheduler::RunId;
use tm_scheduler::preflight::Preflight;
use tm_store::run::{RunDirectory, read_json};

/// `tm waves status`.
#[derive(Args)]
pub(crate) struct StatusArguments {
    /// The run; the live or last one when not given.
    run: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm waves list`.
#[derive(Args)]
pub(crate) struct ListRuns {
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm waves metrics`.
#[derive(Args)]
pub(crate) struct MetricsArguments {
    /// The run; the live or last one when not given.
    run: Option<String>,
}

/// `tm waves report`.
#[derive(Args)]
pub(crate) struct ReportArguments {
    /// The run; the live or last one when not given.
    run: Option<String>,
    /// What to show.
    #[command(flatten)]
    form: ReportForm,
}

/// Forms of a report; the summary as the end of the run shows it when none is given.
#[derive(Args)]
#[group(id = FORM, multiple = false)]
struct ReportForm {
    /// For programs.
    #[arg(long)]
    json: bool,
    /// One of the reports that a run leaves.
    #[command(flatten)]
    report: ShownReport,
    /// Write `report.html` into the run's folder, and show it in the browser.
    #[arg(long)]
    open: bool,
}

/// The group of flags of which one may be given.
const FORM: &str = "form";

/// One of the reports that a run leaves, by its flag, where one is given.
struct ShownReport(Option<&'static RunReport>);

impl Args for ShownReport {
    fn augment_args(command: Command) -> Command {
        let flag = |(name, help)| Arg::new(name).long(name).help(help).group(FORM);
        let flags = REPORTS.iter().map(|report| flag(report.flag));
        command.args(flags.map(|flag| flag.action(ArgAction::SetTrue)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ShownReport {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let is_asked_for = |report: &&RunReport| matches.get_flag(report.flag.0);
        Ok(Self(REPORTS.iter().find(is_asked_for)))
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Perform for StatusArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let live = live_loop(&project)?.filter(|_| self.run.is_none() && !self.json);
        if let Some(id) = live {
            say!("the loop {id} is live; `tm loop status` shows where it stands");
            if project.directory.runs()?.is_empty() {
                return Ok(0);
            }
        }
        let (_, summary) = tm_app::status(&project, self.run.as_deref())?;
        print_either(self.json, &summary, || status_text(&summary))
    }
}

impl Perform for MetricsArguments {
    async fn perform(self, start: &Path) -> Result {
        print_data(&metrics_text(&summary(start, self.run.as_deref())?.1));
        Ok(0)
    }
}

impl Perform for ReportArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let (directory, summary) = tm_app::status(&project, self.run.as_deref())?;
        if self.form.open {
            write_reports(&project, &directory, &summary)?;
            say!("{}", directory.report().display());
            show(&directory).await?;
            return Ok(tell_doubts(&summary));
        }
        match self.form.report.0 {
            _ if self.form.json => print_data(&json_text(&summary)?),
            Some(report) => {
                let whole = with_excerpts(&project, &directory, &summary);
                print_data(&(report.layout)(&whole));
            }
            None => print_text(&summary_text(&summary)),
        }
        Ok(tell_doubts(&summary))
    }
}

fn summary(start: &Path, run: Option<&str>) -> Result<(RunDirectory, Summary)> {
    Ok(tm_app::status(&open(start)?, run)?)
}

/// Shows the report in the program that this desktop has for it.
async fn show(directory: &RunDirectory) -> Result<()> {
    let programs = ["wslview", "xdg-open", "open"];
    let is_there = |program: &&str| which::which(program).is_ok();
    let Some(program) = programs.into_iter().find(is_there) else {
        let programs = programs.join(", ");
        return Err(failure!("open the report: there is none of {programs}"));
    };
    let report = directory.report().display().to_string();
    let ended = run_attended(program, &[&report], directory.path()).await?;
    if !ended.success() {
        return Err(failure!("open the report: `{program}` ended with {ended}"));
    }
    Ok(())
}

/// Says on stderr what is in doubt; returns the exit code of whoever reports it.
fn tell_doubts(summary: &Summary) -> u8 {
    if summary.doubts.is_empty() {
        return 0;
    }
    say!(
        "warning: the journal of the run {} says of work that it has landed, and git does not show it",
        summary.run_id
    );
    say!(
        "hint: {}",
        first_parents(summary.integration_branch.as_str())
    );
    ExitCode::Refused.number()
}

impl Perform for ListRuns {
    async fn perform(self, start: &Path) -> Result {
        let project = open(start)?;
        let rows: Result<Vec<Value>> = project
            .directory
            .runs()?
            .iter()
            .map(|id| row(&project, id))
            .collect();
        let rows = rows?;
        print_answer(self.json, &rows, "runs.txt")?;
        if rows.is_empty() && !self.json {
            say!("there has been no run; `tm waves run` starts one");
        }
        Ok(0)
    }
}

fn row(project: &Project, id: &RunId) -> Result<Value> {
    let directory = project.directory.run(id)?;
    Ok(match replay(&directory.journal()) {
        Ok(replayed) => {
            let run = KnownRun {
                directory,
                replayed,
            };
            let summary = tm_app::summary(project, &run);
            let landed = summary.tasks.iter().filter(|task| task.landed).count();
            let counts = summary.counts;
            json!({"run_id": id, "status": summary.status, "tasks": summary.tasks.len(), "landed": landed,
                   "tasks_planned": counts.tasks, "tasks_landed": counts.landed, "tag": summary.tag,
                   "started_at": summary.started_at, "integration_branch": summary.integration_branch})
        }
        Err(error) => match refused_before(&directory) {
            Some(why) => json!({"run_id": id, "status": "refused", "error": why}),
            None => json!({"run_id": id, "status": "unreadable", "error": error.to_string()}),
        },
    })
}

/// Why a run never began.
fn refused_before(directory: &RunDirectory) -> Option<String> {
    let seen: Preflight = read_json(&directory.preflight()).ok()?;
    let is_refused = !seen.is_good() && !seen.is_overridden;
    seen.lines().into_iter().next().filter(|_| is_refused)
}
