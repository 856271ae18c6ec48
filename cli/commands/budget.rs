//! Says before a run which agents don't tell what its budget counts.

use crate::display::print_line;
use crate::project::Project;
use std::collections::BTreeSet;
use tm_config::OutputFormat;
use tm_presets::recipe;

/// Notes each agent of the run whose output does not say what `--max-cost` or `--max-tokens` counts.
pub(crate) fn note_what_is_not_measured(project: &Project) {
    let settings = &project.loaded.settings;
    let names: BTreeSet<&str> = ["red", "green", "none"].map(|phase| settings.agent.for_phase(phase)).into();
    for name in names {
        // An agent that can't be started is refused with a hint where the run is set up.
        let Ok(recipe) = recipe(name, settings) else { continue };
        let output = recipe.output;
        for (is_set, tells, flag, what) in [
            (settings.agent.max_cost.is_some(), output.tells_cost(), "--max-cost", "cost"),
            (settings.agent.max_tokens.is_some(), output.tells_tokens(), "--max-tokens", "tokens"),
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
        OutputFormat::Text => {
            ("does not report", "counts what it prints as events of a program that tm knows, if anything")
        }
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
