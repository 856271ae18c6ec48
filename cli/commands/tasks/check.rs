//! `tm tasks check`: what can't be planned, what is odd, and where it stands.

use crate::commands::Perform;
use crate::commands::backlog::BacklogChoice;
use crate::display::{print_answer, print_json};
use crate::failure::{CommandFailure, ExitCode, Result};
use clap::Args;
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{
    HeldTask, PlanOptions, Problem, Status, Tag, Task, TaskId, TddMode, Unit, WavePlan, problems,
};
use tm_store::backlog::{Backlog, BacklogError, Position, ReadOptions, Snapshot, Warning};

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
        let chosen = self.choice.find(start)?;
        let snapshot = match chosen.source.snapshot() {
            Err(error @ BacklogError::Syntax { .. }) => return self.unreadable(error),
            snapshot => snapshot?,
        };
        let backlogs = match self.backlogs(&snapshot, &chosen.options) {
            Err(error @ BacklogError::Syntax { .. }) => return self.unreadable(error),
            backlogs => backlogs?,
        };
        let reports = backlogs
            .into_iter()
            .map(|backlog| Report::new(&snapshot, backlog))
            .collect_vec();
        let is_valid = reports.iter().all(|report| report.errors.is_empty());
        let answer = document(&reports, is_valid);
        print_answer(self.json, &answer, "backlog/checked.txt")?;
        let is_repairable = |report: &Report| {
            let repairs = snapshot.repairs(&ReadOptions::of_tag(&report.backlog.tag));
            repairs.is_ok_and(|repairs| !repairs.is_empty())
        };
        if !is_valid || reports.iter().any(is_repairable) {
            say!(
                "hint: `tm tasks fix --dry-run` shows what has one right answer; the rest is yours to decide"
            );
        }
        Ok(ExitCode::Invalid.unless(is_valid))
    }
}

impl TasksCheck {
    /// What is read: the chosen tag, or each.
    fn backlogs(
        &self,
        snapshot: &Snapshot<'_>,
        options: &ReadOptions,
    ) -> Result<Vec<Backlog>, BacklogError> {
        let mut all = if self.all_tags {
            snapshot.read_all(options)?
        } else {
            Vec::new()
        };
        if all.is_empty() {
            all.push(snapshot.read(options)?);
        }
        Ok(all)
    }

    /// A file that is not in its format is what is wrong.
    fn unreadable(&self, error: BacklogError) -> Result {
        let position = match &error {
            BacklogError::Syntax { position, .. } => position.clone(),
            _ => None,
        };
        let failure = CommandFailure::from(error).code(ExitCode::Invalid);
        if self.json {
            let finding = Finding::new("syntax", None, &failure.message).at(position);
            print_json(&json!({"valid": false, "tags": [], "errors": [finding], "warnings": []}))?;
        }
        Ok(failure.answered())
    }
}

/// One thing that is wrong or odd. The keys of its JSON may be added to, never renamed.
#[derive(Default, Serialize)]
struct Finding {
    #[serde(rename = "type")]
    kind: &'static str,
    task: Option<TaskId>,
    field: Option<String>,
    message: String,
    file: Option<String>,
    line: Option<usize>,
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<Tag>,
}

impl Finding {
    fn new(kind: &'static str, task: Option<TaskId>, message: impl Into<String>) -> Self {
        Self {
            kind,
            task,
            message: message.into(),
            ..Self::default()
        }
    }

    fn at(self, position: Option<Position>) -> Self {
        let Some(Position { file, line, column }) = position else {
            return self;
        };
        Self {
            file,
            line: Some(line),
            column: Some(column),
            ..self
        }
    }
}

impl From<&Warning> for Finding {
    fn from(warning: &Warning) -> Self {
        let found = Self::new("odd", warning.task.clone(), &warning.message);
        Self {
            field: Some(warning.field.clone()),
            ..found.at(warning.position.clone())
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
    fn new(snapshot: &Snapshot<'_>, backlog: Backlog) -> Self {
        let problems = problems(&backlog.tasks);
        let wanted = problems.iter().map(culprit).collect_vec();
        let places = snapshot.locate(&backlog, &wanted);
        let mut errors = problems
            .iter()
            .zip(&places)
            .map(|(problem, at)| error(problem, at))
            .collect_vec();
        let mut warnings = backlog.warnings.iter().map(Finding::from).collect_vec();
        warnings.extend(backlog.tasks.iter().filter_map(unfinished));
        if problems.is_empty() {
            warnings.extend(of_planning(&backlog));
        }
        for finding in errors.iter_mut().chain(&mut warnings) {
            finding.tag = Some(backlog.tag.clone());
        }
        Self {
            backlog,
            errors,
            warnings,
        }
    }
}

/// A task that is done while subtasks of its are not.
fn unfinished(task: &Task) -> Option<Finding> {
    let subtasks = task.subtasks.iter();
    let open = subtasks.filter(|subtask| subtask.status.is_open());
    let open = open.map(|subtask| &subtask.id).join(", ");
    let message = format!("is done, and its subtasks {open} are not");
    (task.status == Status::Done && !open.is_empty())
        .then(|| Finding::new("unfinished", Some(task.id.clone()), message))
}

/// The task and the field that a problem is about.
fn culprit(problem: &Problem) -> (TaskId, &'static str) {
    let (task, field) = match problem {
        Problem::Duplicate { task } | Problem::Unknown { task, .. } => (Some(task), "id"),
        Problem::Itself { task } | Problem::Missing { task, .. } => (Some(task), "dependencies"),
        Problem::Circular { tasks } => (tasks.first(), "dependencies"),
    };
    (task.cloned().unwrap_or_else(|| "".into()), field)
}

const fn kind(problem: &Problem) -> &'static str {
    match problem {
        Problem::Duplicate { .. } => "duplicate",
        Problem::Itself { .. } => "self",
        Problem::Missing { .. } | Problem::Unknown { .. } => "missing",
        Problem::Circular { .. } => "circular",
    }
}

fn error(problem: &Problem, places: &[Position]) -> Finding {
    let (task, field) = culprit(problem);
    let message = match places {
        [] | [_] => problem.to_string(),
        several => format!("{problem} ({})", several.iter().join("; ")),
    };
    let found = Finding::new(kind(problem), Some(task), message);
    Finding {
        field: Some(field.to_owned()),
        ..found.at(places.first().cloned())
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
    let HeldTask { id, waits_for, .. } = held;
    let mut waits = waits_for
        .iter()
        .map(|(id, status)| format!("{id} ({status})"));
    let message = format!("is not planned: it waits for {}", waits.join(", "));
    Finding::new("held", Some(id.clone()), message)
}

fn document(reports: &[Report], is_valid: bool) -> Value {
    let tags = reports.iter().map(|report| {
        let Backlog { tag, tasks, .. } = &report.backlog;
        json!({"name": tag, "tasks": tasks.len()})
    });
    let errors = reports.iter().flat_map(|report| &report.errors);
    let warnings = reports.iter().flat_map(|report| &report.warnings);
    json!({"valid": is_valid, "tags": tags.collect_vec(), "errors": errors.collect_vec(),
           "warnings": warnings.collect_vec()})
}
