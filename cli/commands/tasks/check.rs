//! `tm tasks check`: what can't be planned, what is odd, and where it stands.

use crate::commands::Perform;
use crate::commands::backlog::{BacklogChoice, ChosenBacklog, of_tag, told};
use crate::display::{print_data, print_json};
use crate::failure::{CommandFailure, ExitCode, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{HeldTask, PlanOptions, Problem, TaskId, TddMode, Unit, WavePlan, problems};
use tm_store::backlog::{Backlog, BacklogError, BacklogSource, Position, ReadOptions, Warning};

/// `tm tasks check`.
#[derive(Args)]
pub(crate) struct TasksCheck {
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Every tag.
    #[arg(long, conflicts_with = "tag")]
    all_tags: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl Perform for TasksCheck {
    async fn perform(self, start: &Path) -> Result {
        let chosen = told(self.json, self.choice.find(start))?;
        let tags = match self.tags(&chosen) {
            Err(error @ BacklogError::Syntax { .. }) => return self.unreadable(error),
            tags => told(self.json, tags.map_err(Into::into))?,
        };
        let mut reports = Vec::new();
        for options in &tags {
            let report = Report::new(&chosen.source, options).map_err(Into::into);
            reports.push(told(self.json, report)?);
        }
        let is_valid = reports.iter().all(|report| report.errors.is_empty());
        if self.json {
            print_json(&document(&reports, is_valid))?;
        } else {
            print_data(&reports.iter().map(Report::text).join(""));
        }
        if is_valid {
            return Ok(0);
        }
        say!(
            "hint: `tm tasks fix --dry-run` shows what has one right answer; the rest is yours to decide"
        );
        Ok(ExitCode::Invalid.number())
    }
}

impl TasksCheck {
    /// What is read: the chosen tag, or each.
    fn tags(&self, chosen: &ChosenBacklog) -> std::result::Result<Vec<ReadOptions>, BacklogError> {
        let first = chosen.source.read(&chosen.options)?;
        if !self.all_tags || first.tags.is_empty() {
            return Ok(vec![chosen.options.clone()]);
        }
        Ok(first.tags.iter().map(of_tag).collect())
    }

    /// A file that is not in its format is what is wrong.
    fn unreadable(&self, error: BacklogError) -> Result {
        let position = match &error {
            BacklogError::Syntax { position, .. } => position.clone(),
            _ => None,
        };
        let failure = CommandFailure::from(error).code(ExitCode::Invalid);
        if self.json {
            let finding = Finding {
                position,
                ..Finding::new("syntax", None, &failure.message)
            };
            print_json(
                &json!({"valid": false, "tags": [], "errors": [finding.json()], "warnings": []}),
            )?;
        }
        Err(failure)
    }
}

/// One thing that is wrong or odd.
struct Finding {
    kind: &'static str,
    task: Option<TaskId>,
    field: Option<String>,
    message: String,
    position: Option<Position>,
}

impl Finding {
    fn new(kind: &'static str, task: Option<TaskId>, message: impl Into<String>) -> Self {
        Self {
            kind,
            task,
            field: None,
            message: message.into(),
            position: None,
        }
    }

    fn json(&self) -> Value {
        let place = self.position.as_ref();
        json!({"type": self.kind, "task": self.task, "field": self.field, "message": self.message,
               "file": place.and_then(|place| place.file.clone()), "line": place.map(|place| place.line),
               "column": place.map(|place| place.column)})
    }

    fn line(&self, level: &str) -> String {
        let task = self.task.as_ref().map(|task| format!("task {task}"));
        let field = self.field.as_ref().map(|field| format!("`{field}`"));
        let position = self.position.as_ref().map(ToString::to_string);
        let place = [task, field, position].into_iter().flatten().join(", ");
        let colon = if place.is_empty() { "" } else { ": " };
        format!("{level}: {place}{colon}{}\n", self.message)
    }
}

impl From<&Warning> for Finding {
    fn from(warning: &Warning) -> Self {
        Self {
            field: Some(warning.field.clone()),
            position: warning.position.clone(),
            ..Self::new("odd", warning.task.clone(), &warning.message)
        }
    }
}

/// What is wrong with the tasks of one tag.
struct Report {
    backlog: Backlog,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl Report {
    fn new(
        source: &BacklogSource,
        options: &ReadOptions,
    ) -> std::result::Result<Self, BacklogError> {
        let backlog = source.read(options)?;
        let problems = problems(&backlog.tasks);
        let wanted = problems.iter().map(culprit).collect_vec();
        let places = source.locate(options, &wanted)?;
        let mut warnings = backlog.warnings.iter().map(Finding::from).collect_vec();
        if problems.is_empty() {
            warnings.extend(of_planning(&backlog));
        }
        let found = problems.iter().zip(&places);
        Ok(Self {
            errors: found
                .map(|(problem, places)| error(problem, places))
                .collect(),
            backlog,
            warnings,
        })
    }

    fn text(&self) -> String {
        let errors = self.errors.iter().map(|finding| finding.line("error"));
        let warnings = self.warnings.iter().map(|finding| finding.line("warning"));
        let count =
            |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let sums = format!(
            "tag {}, {}: {}, {}\n",
            self.backlog.tag,
            count(self.backlog.tasks.len(), "task"),
            count(self.errors.len(), "error"),
            count(self.warnings.len(), "warning")
        );
        errors.chain(warnings).chain([sums]).collect()
    }
}

/// The task and the field that a problem is about.
fn culprit(problem: &Problem) -> (TaskId, &'static str) {
    match problem {
        Problem::Duplicate { task } => (task.clone(), "id"),
        Problem::Itself { task } | Problem::Missing { task, .. } => (task.clone(), "dependencies"),
        Problem::Circular { tasks } => (
            tasks.first().cloned().unwrap_or_else(|| TaskId::from("")),
            "dependencies",
        ),
    }
}

fn error(problem: &Problem, places: &[Position]) -> Finding {
    let (task, field) = culprit(problem);
    let message = match places {
        [] | [_] => problem.to_string(),
        several => format!("{problem} ({})", several.iter().join("; ")),
    };
    let kind = match problem {
        Problem::Duplicate { .. } => "duplicate",
        Problem::Itself { .. } => "self",
        Problem::Missing { .. } => "missing",
        Problem::Circular { .. } => "circular",
    };
    Finding {
        field: Some(field.to_owned()),
        position: places.first().cloned(),
        ..Finding::new(kind, Some(task), message)
    }
}

/// What a run would leave out, or could not plan by subtasks.
fn of_planning(backlog: &Backlog) -> Vec<Finding> {
    let plan = |unit| {
        let options = PlanOptions {
            unit,
            tdd: TddMode::Off,
            ..PlanOptions::default()
        };
        WavePlan::new(&backlog.tasks, &options)
    };
    let refused =
        |unit, refusal| Finding::new("unit", None, format!("with `--unit {unit}`: {refusal}"));
    let mut findings = match plan(Unit::Task) {
        Ok(plan) => plan.held.iter().map(held).collect(),
        Err(refusal) => vec![refused("task", refusal)],
    };
    findings.extend(
        plan(Unit::Subtask)
            .err()
            .map(|refusal| refused("subtask", refusal)),
    );
    findings
}

fn held(held: &HeldTask) -> Finding {
    let waits = held.waits_for.iter();
    let waits = waits
        .map(|(id, status)| format!("{id} ({status})"))
        .join(", ");
    let message = format!("is not planned: it waits for {waits}");
    Finding::new("held", Some(held.id.clone()), message)
}

fn document(reports: &[Report], is_valid: bool) -> Value {
    let all = |of: fn(&Report) -> &Vec<Finding>| {
        let entries = reports.iter().flat_map(|report| {
            of(report).iter().map(|finding| {
                let mut entry = finding.json();
                entry["tag"] = json!(report.backlog.tag);
                entry
            })
        });
        entries.collect_vec()
    };
    let tags = reports
        .iter()
        .map(|report| json!({"name": report.backlog.tag, "tasks": report.backlog.tasks.len()}));
    json!({"valid": is_valid, "tags": tags.collect_vec(), "errors": all(|report| &report.errors),
           "warnings": all(|report| &report.warnings)})
}
