//! Says before a run which agents don't tell what its budget counts.

use crate::display::print_line;
use std::collections::BTreeSet;
use tm_app::Project;
use tm_presets::recipe;
use tm_scheduler::OutputFormat;

/// Notes each agent of the run whose output does not say what one of its budgets counts.
pub(crate) fn note_what_is_not_measured(project: &Project) {
    let settings = &project.loaded.settings;
    let agent = &settings.agent;
    let by_phase = ["red", "green", "none"].map(|phase| agent.for_phase(phase));
    let names: BTreeSet<&str> = by_phase
        .into_iter()
        .chain(agent.fallback.iter().map(String::as_str))
        .collect();
    for name in names {
        // An agent that can't be started is refused with a hint where the run is set up.
        let Ok(recipe) = recipe(name, settings) else {
            continue;
        };
        let output = recipe.output;
        for (is_set, tells, flag, what) in [
            (
                agent.max_cost.is_some(),
                output.tells_cost(),
                "--max-cost",
                "cost",
            ),
            (
                agent.max_cost_per_task.is_some(),
                output.tells_cost(),
                "--max-cost-per-task",
                "cost",
            ),
            (
                agent.max_tokens.is_some(),
                output.tells_tokens(),
                "--max-tokens",
                "tokens",
            ),
            (
                agent.max_tokens_per_task.is_some(),
                output.tells_tokens(),
                "--max-tokens-per-task",
                "tokens",
            ),
        ] {
            if is_set && !tells {
                print_line(&note(name, output, flag, what));
            }
        }
    }
}

fn note(name: &str, output: OutputFormat, flag: &str, what: &str) -> String {
    let (reports, counted) = match output {
        OutputFormat::Acp => ("need not report", "counts what it reports, if anything"),
        OutputFormat::Text => (
            "does not report",
            "counts what it prints as events of a program that tm knows, if anything",
        ),
        OutputFormat::ClaudeStreamJson
        | OutputFormat::CodexJsonl
        | OutputFormat::GeminiStreamJson
        | OutputFormat::OpencodeJson
        | OutputFormat::QwenStreamJson
        | OutputFormat::ClineJson
        | OutputFormat::Aider => ("does not report", "can't count its attempts"),
    };
    format!("note: `{name}` {reports} its {what}; `{flag}` {counted}")
}
