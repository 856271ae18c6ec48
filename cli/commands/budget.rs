//! Says before a run which agents don't tell what its budget counts.

use super::agents::used;
use tm_app::Project;
use tm_presets::recipe;
use tm_scheduler::OutputFormat;

/// Notes each agent of the run whose output does not say what one of its budgets counts.
pub(crate) fn note_what_is_not_measured(project: &Project) {
    let settings = &project.loaded.settings;
    let budget = &settings.agent;
    for name in used(settings) {
        // An agent that can't be started is refused with a hint where the run is set up.
        let Ok(recipe) = recipe(name, settings) else {
            continue;
        };
        let output = recipe.output;
        let (cost, tokens) = (output.tells_cost(), output.tells_tokens());
        for (is_set, is_told, flag, what) in [
            (budget.max_cost.is_some(), cost, "--max-cost", "cost"),
            (
                budget.max_cost_per_task.is_some(),
                cost,
                "--max-cost-per-task",
                "cost",
            ),
            (
                budget.max_tokens.is_some(),
                tokens,
                "--max-tokens",
                "tokens",
            ),
            (
                budget.max_tokens_per_task.is_some(),
                tokens,
                "--max-tokens-per-task",
                "tokens",
            ),
        ] {
            if is_set && !is_told {
                let (reports, counted) = counted(output);
                say!("note: `{name}` {reports} its {what}; `{flag}` {counted}");
            }
        }
    }
}

/// Whether output may say what is asked for after all, and what is counted then.
const fn counted(output: OutputFormat) -> (&'static str, &'static str) {
    match output {
        OutputFormat::Acp => ("need not report", "counts what it reports, if anything"),
        _ => ("does not report", "can't count its attempts"),
    }
}
