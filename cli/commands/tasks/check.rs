//! `tm tasks check`: what can't be planned, what is odd, and where it stands.

use crate::arguments::{OutputArgument, TasksCheck};
use crate::commands::backlog::{options, print_json, source, told};
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{PlanOptions, Problem, TaskId, TddMode, Unit, WavePlan, problems};
use tm_store::backlog::{Backlog, BacklogError, BacklogSource, Position, ReadOptions};

pub(crate) fn check(start: &Path, arguments: &TasksCheck) -> Result<u8, CommandFailure> {
    let output = arguments.json.then_some(OutputArgument::Json);
    let source = source(start, &arguments.choice).map_err(|failure| told(output, failure))?;
    let tags = match every_tag(&source, arguments) {
        Ok(tags) => tags,
        Err(error @ BacklogError::Syntax { .. }) => return unreadable(error, arguments),
        Err(error) => return Err(told(output, error)),
    };
    let mut reports = Vec::new();
    for options in &tags {
        reports.push(Report::new(&source, options).map_err(|error| told(output, error))?);
    }
    let errors: usize = reports.iter().map(|report| report.errors.len()).sum();
    if arguments.json {
        print_json(&document(&reports, errors))?;
    } else {
        print_data(&reports.iter().map(Report::text).collect::<String>());
    }
    if errors == 0 {
        return Ok(0);
    }
    print_line(
        "hint: `tm tasks fix --dry-run` shows what has one right answer; the rest is yours to decide",
    );
    Ok(ExitCode::Invalid.number())
}

fn every_tag(
    source: &BacklogSource,
    arguments: &TasksCheck,
) -> Result<Vec<ReadOptions>, BacklogError> {
    let chosen = options(&arguments.choice);
    let first = source.read(&chosen)?;
    if !arguments.all_tags || first.tags.is_empty() {
        return Ok(vec![chosen]);
    }
    Ok(first
        .tags
        .into_iter()
        .map(|tag| ReadOptions {
            tag: Some(tag),
            ..ReadOptions::default()
        })
        .collect())
}

/// A file that is not in its format is what is wrong.
fn unreadable(error: BacklogError, arguments: &TasksCheck) -> Result<u8, CommandFailure> {
    let position = match &error {
        BacklogError::Syntax { position, .. } => position.clone(),
        _ => None,
    };
    let failure = CommandFailure::from(error).code(ExitCode::Invalid);
    if arguments.json {
        let finding = Finding {
            kind: "syntax",
            task: None,
            field: None,
            message: failure.message.clone(),
            position,
        };
        print_json(
            &json!({"valid": false, "tags": [], "errors": [finding.json()], "warnings": []}),
        )?;
    }
    Err(failure)
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
    fn json(&self) -> Value {
        let place = self.position.as_ref();
        json!({"type": self.kind, "task": self.task, "field": self.field, "message": self.message,
               "file": place.and_then(|place| place.file.clone()), "line": place.map(|place| place.line),
               "column": place.map(|place| place.column)})
    }

    fn line(&self, level: &str) -> String {
        let mut place = Vec::new();
        place.extend(self.task.as_ref().map(|task| format!("task {task}")));
        place.extend(self.field.as_ref().map(|field| format!("`{field}`")));
        place.extend(self.position.as_ref().map(ToString::to_string));
        let place = if place.is_empty() {
            String::new()
        } else {
            format!("{}: ", place.join(", "))
        };
        format!("{level}: {place}{}\n", self.message)
    }
}

/// What is wrong with the tasks of one tag.
struct Report {
    backlog: Backlog,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl Report {
    fn new(source: &BacklogSource, options: &ReadOptions) -> Result<Self, BacklogError> {
        let backlog = source.read(options)?;
        let problems = problems(&backlog.tasks);
        let wanted: Vec<(TaskId, &str)> = problems.iter().map(culprit).collect();
        let places = source.locate(options, &wanted)?;
        let errors = problems
            .iter()
            .zip(places)
            .map(|(problem, places)| error(problem, &places))
            .collect();
        let mut warnings: Vec<Finding> = backlog
            .warnings
            .iter()
            .map(|warning| Finding {
                kind: "odd",
                task: warning.task.clone(),
                field: Some(warning.field.clone()),
                message: warning.message.clone(),
                position: warning.position.clone(),
            })
            .collect();
        if problems.is_empty() {
            warnings.extend(of_planning(&backlog));
        }
        Ok(Self {
            backlog,
            errors,
            warnings,
        })
    }

    fn text(&self) -> String {
        let mut text: String = self
            .errors
            .iter()
            .map(|finding| finding.line("error"))
            .collect();
        text.extend(self.warnings.iter().map(|finding| finding.line("warning")));
        let count =
            |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let (tag, tasks) = (&self.backlog.tag, count(self.backlog.tasks.len(), "task"));
        let (errors, warnings) = (
            count(self.errors.len(), "error"),
            count(self.warnings.len(), "warning"),
        );
        text + &format!("tag {tag}, {tasks}: {errors}, {warnings}\n")
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
    let mut message = problem.to_string();
    if places.len() > 1 {
        let all: Vec<String> = places.iter().map(ToString::to_string).collect();
        message = format!("{message} ({})", all.join("; "));
    }
    let kind = match problem {
        Problem::Duplicate { .. } => "duplicate",
        Problem::Itself { .. } => "self",
        Problem::Missing { .. } => "missing",
        Problem::Circular { .. } => "circular",
    };
    Finding {
        kind,
        task: Some(task),
        field: Some(field.to_owned()),
        message,
        position: places.first().cloned(),
    }
}

/// What a run would leave out, or could not plan by subtasks.
fn of_planning(backlog: &Backlog) -> Vec<Finding> {
    let finding = |kind, task, message| Finding {
        kind,
        task,
        field: None,
        message,
        position: None,
    };
    let mut findings = Vec::new();
    for unit in [Unit::Task, Unit::Subtask] {
        let options = PlanOptions {
            unit,
            tdd: TddMode::Off,
            ..PlanOptions::default()
        };
        match WavePlan::new(&backlog.tasks, &options) {
            Err(refusal) => {
                let name = if unit == Unit::Task {
                    "task"
                } else {
                    "subtask"
                };
                findings.push(finding(
                    "unit",
                    None,
                    format!("with `--unit {name}`: {refusal}"),
                ));
            }
            Ok(plan) if unit == Unit::Task => findings.extend(plan.held.iter().map(|held| {
                let waits: Vec<String> = held
                    .waits_for
                    .iter()
                    .map(|(id, status)| format!("{id} ({status})"))
                    .collect();
                finding(
                    "held",
                    Some(held.id.clone()),
                    format!("is not planned: it waits for {}", waits.join(", ")),
                )
            })),
            Ok(_) => {}
        }
    }
    findings
}

fn document(reports: &[Report], errors: usize) -> Value {
    let all = |of: fn(&Report) -> &Vec<Finding>| {
        let entry = |report: &Report, finding: &Finding| {
            let mut entry = finding.json();
            entry["tag"] = json!(report.backlog.tag);
            entry
        };
        reports
            .iter()
            .flat_map(|report| {
                of(report)
                    .iter()
                    .map(|finding| entry(report, finding))
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    let tags: Vec<Value> = reports
        .iter()
        .map(|report| json!({"name": report.backlog.tag, "tasks": report.backlog.tasks.len()}))
        .collect();
    json!({"valid": errors == 0, "tags": tags, "errors": all(|report| &report.errors),
           "warnings": all(|report| &report.warnings)})
}
