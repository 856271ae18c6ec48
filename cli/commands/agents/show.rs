//! Recipes and the agents of a plan, for people and for programs.

use crate::project::Project;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tm_presets::{Recipe, recipe};
use tm_scheduler::Phase;

/// A recipe as its settings would be written, with what follows from them.
pub(super) fn recipe_json(recipe: &Recipe) -> Value {
    let granted = recipe.granted().ok().flatten();
    let mut shown = json!({
        "name": recipe.name,
        "command": recipe.command,
        "prompt": recipe.prompt,
        "output": recipe.output,
        "model": recipe.model,
        "env": recipe.environment,
        "drop": recipe.dropped,
        "refusal": {"rate_limited": recipe.rate_limited, "auth": recipe.auth},
        "account": recipe.account(),
        "if_refused": recipe.if_refused,
        "permissions": granted.map(|granted| granted.mode),
        "permission_modes": recipe.permission_modes,
        "version": recipe.version,
        "polite_stop": recipe.stop,
        "reports": {"tokens": recipe.output.tells_tokens(), "cost": recipe.output.tells_cost()},
    });
    if let Some(grace) = recipe.grace {
        shown["grace"] = format!("{}s", grace.as_secs()).into();
    }
    shown
}

/// Who does which kind of work: the first choice, then those that take over.
fn choices(project: &Project) -> Vec<(Phase, Vec<Recipe>)> {
    let settings = &project.loaded.settings;
    let of = |phase: Phase| {
        let first = settings.agent.for_phase(phase.as_str());
        let model = project.asked_for_model().or_else(|| settings.agent.model_for_phase(phase.as_str()));
        let others = settings.agent.fallback.iter().map(String::as_str).filter(|name| *name != first);
        // One that can't be started is refused with a hint where the run is set up.
        let mut recipes: Vec<Recipe> =
            std::iter::once(first).chain(others).filter_map(|name| recipe(name, settings).ok()).collect();
        if let (Some(model), Some(recipe)) = (model, recipes.first_mut().filter(|recipe| recipe.name == first)) {
            recipe.model = Some(model.to_owned());
        }
        recipes
    };
    [Phase::Red, Phase::Green, Phase::None].map(|phase| (phase, of(phase))).into()
}

/// Returns who works, and what each may do without asking, for people.
pub(crate) fn agents_lines(project: &Project, phases: &[Phase]) -> String {
    let mut text = String::from("\nAgents\n");
    let choices: Vec<_> = choices(project).into_iter().filter(|(phase, _)| phases.contains(phase)).collect();
    for (phase, recipes) in &choices {
        let name = match phase {
            Phase::Red => "RED",
            Phase::Green => "GREEN",
            Phase::None => "other",
        };
        let chain: Vec<String> = recipes.iter().map(with_model).collect();
        let _ = writeln!(text, "  {name:5}  {}", chain.join(", then "));
    }
    let mut told: Vec<&str> = Vec::new();
    for recipe in choices.iter().flat_map(|(_, recipes)| recipes) {
        if !told.contains(&recipe.name.as_str()) {
            told.push(&recipe.name);
            let _ = writeln!(text, "  `{}` {}", recipe.name, permissions(recipe));
        }
    }
    text
}

fn with_model(recipe: &Recipe) -> String {
    match &recipe.model {
        Some(model) => format!("{} ({model})", recipe.name),
        None => recipe.name.clone(),
    }
}

fn permissions(recipe: &Recipe) -> String {
    match recipe.granted() {
        Ok(Some(granted)) => format!("permissions `{}`: {}", granted.mode, granted.why),
        Ok(None) => "may do what its own command lets it do".to_owned(),
        Err(error) => format!("can't be started: failed to {error}"),
    }
}

/// Returns the same for programs.
pub(crate) fn agents_of_plan(project: &Project) -> Value {
    let of = |recipe: &Recipe| {
        let granted = recipe.granted().ok().flatten();
        json!({
            "agent": recipe.name,
            "model": recipe.model,
            "account": recipe.account(),
            "permissions": granted.map(|granted| granted.mode),
        })
    };
    let choices = choices(project);
    let all = choices.iter().map(|(phase, recipes)| (phase.as_str().to_owned(), recipes.iter().map(of).collect()));
    Value::Object(all.collect())
}
