//! `tm waves plan`: from the backlog to the waves, and nothing run.

use super::agents::{agents_lines, agents_of_plan};
use super::run::entropy;
use super::setup::{parts, test_command};
use super::starting::{Asked, Start};
use crate::arguments::{PlanArguments, PlanChoice, PlanFormat, TddArgument, UnitArgument};
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_config::{Override, Settings};
use tm_executors::testing::{Reading, TestCommand, expected_reading, how_to_report};
use tm_runtime::now;
use tm_scheduler::{AtBreaker, Breaker, Cycles, Limits, Phase, PlanOptions, RedStart, Refactor, RunId, WavePlan};
use tm_store::backlog::{Backlog, BacklogSource};
use tm_store::run::new_run_id;

/// A backlog with its plan.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) source: BacklogSource,
    pub(crate) backlog: Backlog,
    pub(crate) plan: WavePlan,
    pub(crate) limits: Limits,
    pub(crate) run: RunId,
    pub(crate) start: Start,
}

pub(crate) fn plan(start: &Path, arguments: &PlanArguments) -> Result<u8, CommandFailure> {
    let project = Project::open(start, overrides(&arguments.choice))?.for_looking();
    let planned = planned(&project, &arguments.choice, None)?;
    let text = match arguments.format {
        PlanFormat::Text => plan_text(&project, &planned),
        PlanFormat::Dot => tm_reports::plan_dot(&planned.plan),
        PlanFormat::Mermaid => tm_reports::plan_mermaid(&planned.plan),
        PlanFormat::Json => {
            let mut json = serde_json::to_value(tm_reports::plan_json(&planned.plan, &planned.limits))?;
            json["agents"] = agents_of_plan(&project);
            json["tests"] = reading_of(&project).map_or_else(
                || json!(null),
                |(command, reading)| json!({"command": command.to_string(), "results": reading.as_str()}),
            );
            let lines = parts(&project)?.lines();
            if !lines.is_empty() {
                json["test_parts"] = json!(lines);
            }
            format!("{}\n", serde_json::to_string_pretty(&json)?)
        }
    };
    print_data(&text);
    Ok(0)
}

/// The plan for people, with who works and what each may do without asking.
pub(crate) fn plan_text(project: &Project, planned: &Planned) -> String {
    let mut phases: Vec<Phase> = planned.plan.tasks.iter().map(|placed| placed.task.phase).collect();
    phases.sort_unstable();
    phases.dedup();
    let plan = tm_reports::plan_text(&planned.plan, &planned.limits);
    if phases.is_empty() { plan } else { plan + &agents_lines(project, &phases) + &tests_line(project) }
}

/// The test command and how its results will be read, as far as that is known before it is run.
fn reading_of(project: &Project) -> Option<(TestCommand, Reading)> {
    let command = test_command(project)?;
    let reading = expected_reading(&command, project.repository.checkout_root());
    Some((command, reading))
}

/// How work will be proven.
fn tests_line(project: &Project) -> String {
    let of_parts = parts(project).map(|parts| parts.lines()).unwrap_or_default();
    if !of_parts.is_empty() {
        return format!("\nTests\n  {}\n", of_parts.join("\n  "));
    }
    let line = match reading_of(project) {
        None => "no test command: nothing is proven".to_owned(),
        Some((command, reading @ Reading::PerTest)) => format!("`{command}`, {}", reading.as_str()),
        Some((command, reading @ (Reading::ByLooking | Reading::ExitStatusOnly))) => {
            let how = how_to_report(&command, project.repository.checkout_root());
            format!("`{command}`, {}; {how}", reading.as_str())
        }
    };
    format!("\nTests\n  {line}\n")
}

/// Reads the backlog and plans what is not in the history that the run starts from; what is odd about it is told on
/// stderr.
pub(crate) fn planned(project: &Project, choice: &PlanChoice, base: Option<&str>) -> Result<Planned, CommandFailure> {
    for warning in &project.loaded.warnings {
        print_line(&format!("warning: {warning}"));
    }
    let (source, mut backlog) =
        project.backlog(choice.backlog.as_deref(), choice.tag.as_deref(), choice.task_group.as_deref())?;
    for warning in &backlog.warnings {
        print_line(&format!("warning: {warning}"));
    }
    let settings = &project.loaded.settings;
    let run = new_run_id(now(), entropy());
    let again = choice.again.iter().map(|id| id.trim().into()).collect();
    let start = Start::find(project, &Asked { run: &run, base, again }, &mut backlog)?;
    let plan = WavePlan::new(&backlog.tasks, &options(choice, settings)).map_err(|refusal| {
        CommandFailure::new(format!("plan `{}`: {refusal}", source.path().display())).code(ExitCode::Unplannable).hint(
            if refusal.cycles.is_empty() {
                "correct the ids named above in the backlog"
            } else {
                "remove one dependency of each cycle, or let `--break-cycles` cut the one with the least meaning"
            },
        )
    })?;
    let start = start.without_tests_alone(project, &run, &plan)?;
    start.tell(project)?;
    Ok(Planned { source, backlog, plan, limits: limits(settings), run, start })
}

/// How a backlog is planned, by the settings and the flags.
pub(crate) fn options(choice: &PlanChoice, settings: &Settings) -> PlanOptions {
    PlanOptions {
        unit: settings.waves.unit,
        tdd: settings.tdd.mode,
        red_start: if settings.tdd.red_early { RedStart::Early } else { RedStart::AfterDependencies },
        cycles: if choice.break_cycles { Cycles::Cut } else { Cycles::Refuse },
        only: choice.ids.iter().map(|id| id.trim().into()).collect(),
    }
}

/// Returns the limits that the settings give.
pub(crate) fn limits(settings: &Settings) -> Limits {
    let milliseconds = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Limits {
        slots: settings.waves.max_parallel,
        retries: settings.waves.retries,
        dispatch: settings.waves.dispatch,
        refactor: if settings.tdd.refactor { Refactor::On } else { Refactor::Off },
        landing: settings.git.land,
        attempt_timeout_ms: settings.agent.timeout.map(milliseconds),
        deadline: settings.waves.deadline.map(|deadline| now().plus(milliseconds(deadline))),
        max_cost_usd: settings.agent.max_cost.map(tm_config::Dollars::amount),
        max_tokens: settings.agent.max_tokens,
        max_cost_usd_per_task: settings.agent.max_cost_per_task.map(tm_config::Dollars::amount),
        max_tokens_per_task: settings.agent.max_tokens_per_task,
        breaker: breaker(settings.waves.breaker),
        // Who works is known once the agents have been looked for.
        agents: tm_scheduler::Roster::default(),
        conflict_rounds: settings.waves.conflict_rounds,
        overlap: settings.waves.overlap,
        edition: tm_scheduler::Edition::NEWEST,
    }
}

/// Nobody lets a paused run go on where no terminal is.
fn breaker(breaker: tm_config::Breaker) -> Breaker {
    let then = if std::io::stderr().is_terminal() { AtBreaker::Pause } else { AtBreaker::Stop };
    Breaker { tasks: breaker.tasks, attempts: breaker.attempts, then }
}

/// Returns the settings that the flags of planning give.
pub(crate) fn overrides(choice: &PlanChoice) -> Vec<Override> {
    let mut overrides = Vec::new();
    if let Some(slots) = choice.max_parallel {
        overrides.push(Override::new("waves.max_parallel", "--max-parallel", json!(slots.get())));
    }
    if choice.barrier {
        overrides.push(Override::new("waves.dispatch", "--barrier", json!("barrier")));
    }
    if let Some(unit) = choice.unit {
        let name = match unit {
            UnitArgument::Task => "task",
            UnitArgument::Subtask => "subtask",
        };
        overrides.push(Override::new("waves.unit", "--unit", json!(name)));
    }
    if let Some(tdd) = choice.tdd {
        let name = match tdd {
            TddArgument::Auto => "auto",
            TddArgument::Explicit => "explicit",
            TddArgument::Off => "off",
        };
        overrides.push(Override::new("tdd.mode", "--tdd", json!(name)));
    }
    if choice.red_early {
        overrides.push(Override::new("tdd.red_early", "--red-early", json!(true)));
    }
    overrides
}
