//! Recipes and the agents of a plan, for people and for programs.

use itertools::Itertools as _;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tm_app::{Project, choices};
use tm_presets::Recipe;
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

/// Returns who works, and what each may do without asking, for people.
pub(crate) fn agents_lines(project: &Project, phases: &[Phase]) -> String {
    let mut choices = choices(project);
    choices.retain(|(phase, _)| phases.contains(phase));
    let mut text = String::from("\nAgents\n");
    for (phase, recipes) in &choices {
        let name = match phase {
            Phase::Red => "RED",
            Phase::Green => "GREEN",
            Phase::None => "other",
        };
        let chain = recipes.iter().map(with_model).join(", then ");
        let _ = writeln!(text, "  {name:5}  {chain}");
    }
    let recipes = choices.iter().flat_map(|(_, recipes)| recipes);
    for recipe in recipes.unique_by(|recipe| &recipe.name) {
        let _ = writeln!(text, "  `{}` {}", recipe.name, permissions(recipe));
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
