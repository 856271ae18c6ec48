//! `tm waves plan`: from the backlog to the waves, and nothing run.

use super::agents::agents_lines;
use crate::arguments::{PlanArguments, PlanChoice, PlanFormat};
use crate::display::{json_text, print_data};
use crate::failure::CommandFailure;
use crate::flags::{Flags, word};
use crate::project::open;
use std::num::NonZeroU32;
use std::path::Path;
use tm_app::{PlanOrder, Planned, Project, parts, reading};
use tm_executors::testing::{Reading, how_to_report};
use tm_scheduler::{Cycles, Phase};

pub(crate) fn plan(start: &Path, arguments: &PlanArguments) -> Result<u8, CommandFailure> {
    let project = open(start, overrides(&arguments.choice).given())?.for_looking();
    let planned = tm_app::plan(&project, &order(&arguments.choice, None))?;
    let text = match arguments.format {
        PlanFormat::Text => plan_text(&project, &planned),
        PlanFormat::Dot => tm_reports::plan_dot(&planned.plan),
        PlanFormat::Mermaid => tm_reports::plan_mermaid(&planned.plan),
        PlanFormat::Json => json_text(&tm_app::plan_json(&project, &planned)?)?,
    };
    print_data(&text);
    Ok(0)
}

/// The plan for people, with who works and what each may do without asking.
pub(crate) fn plan_text(project: &Project, planned: &Planned) -> String {
    let mut phases: Vec<Phase> = planned
        .plan
        .tasks
        .iter()
        .map(|placed| placed.task.phase)
        .collect();
    phases.sort_unstable();
    phases.dedup();
    let plan = tm_reports::plan_text(&planned.plan, &planned.limits);
    if phases.is_empty() {
        plan
    } else {
        plan + &agents_lines(project, &phases) + &tests_line(project)
    }
}

/// How work will be proven.
fn tests_line(project: &Project) -> String {
    let of_parts = parts(project)
        .map(|parts| parts.lines())
        .unwrap_or_default();
    if !of_parts.is_empty() {
        return format!("\nTests\n  {}\n", of_parts.join("\n  "));
    }
    let line = match reading(project) {
        None => "no test command: nothing is proven".to_owned(),
        Some((command, reading @ Reading::PerTest)) => format!("`{command}`, {}", reading.as_str()),
        Some((command, reading @ (Reading::ByLooking | Reading::ExitStatusOnly))) => {
            let how = how_to_report(&command, project.repository.checkout_root());
            format!("`{command}`, {}; {how}", reading.as_str())
        }
    };
    format!("\nTests\n  {line}\n")
}

/// Returns what is to be planned.
pub(crate) fn order(choice: &PlanChoice, base: Option<&str>) -> PlanOrder {
    let ids = |words: &[String]| words.iter().map(|id| id.trim().into()).collect();
    PlanOrder {
        backlog: choice.backlog.clone(),
        tag: choice.tag.clone(),
        group: choice.task_group.clone(),
        only: ids(&choice.ids),
        again: ids(&choice.again),
        base: base.map(ToOwned::to_owned),
        cycles: if choice.break_cycles {
            Cycles::Cut
        } else {
            Cycles::Refuse
        },
    }
}

/// Returns the settings that the flags of planning give.
pub(crate) fn overrides(choice: &PlanChoice) -> Flags {
    Flags::default()
        .set(
            "waves.max_parallel",
            "--max-parallel",
            &choice.max_parallel.map(NonZeroU32::get),
        )
        .set(
            "waves.dispatch",
            "--barrier",
            &choice.barrier.then_some("barrier"),
        )
        .set("waves.unit", "--unit", &word(choice.unit))
        .set("tdd.mode", "--tdd", &word(choice.tdd))
        .set(
            "tdd.red_early",
            "--red-early",
            &choice.red_early.then_some(true),
        )
}
