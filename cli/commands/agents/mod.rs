//! `tm agents`: which agents there are, how each is started, whether it can be, and whether it works.

mod probe;

use super::Perform;
use crate::ask::{confirmed, is_answered};
use crate::display::{print_data, print_json, print_table};
use crate::failure::{CommandFailure, Result};
use crate::project::root_around;
use clap::Args;
use futures_util::future::try_join_all;
use itertools::Itertools as _;
pub(super) use probe::Probe;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use tm_app::{Project, choices};
use tm_config::{Inputs, Loaded, Settings, Source};
use tm_presets::{Recipe, recipe, recipe_names};
use tm_scheduler::Phase;

commands! {
    /// Commands on agents.
    Agents {
        /// List the agents: which are on this machine, which the settings use, what each may do without asking.
        List(ListAgents),
        /// Show the recipe of an agent.
        Show(AgentChoice),
        /// Look whether agents can be started, and in which version; exit code 1 when one can't.
        Check(CheckAgents),
    }
}

/// `tm agents list`.
#[derive(Args)]
pub(crate) struct ListAgents {
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// An agent to look at.
#[derive(Args)]
pub(crate) struct AgentChoice {
    /// The agent.
    name: String,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// `tm agents check`.
#[derive(Args)]
pub(crate) struct CheckAgents {
    /// The agents; those that the settings use when none is given.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Have each do one trivial task in a repository that is thrown away. It costs what such a task costs.
    #[arg(long)]
    live: bool,
    /// Start what the project's own settings name without asking.
    #[arg(long)]
    trust: bool,
    /// The model for `--live`.
    #[arg(long, requires = "live")]
    model: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// The settings of the project, or of the user where there is none.
pub(super) fn load(start: &Path) -> Result<Loaded> {
    Ok(tm_config::load(&Inputs::from_process(root_around(start)))?)
}

/// The agents that a run with these settings may start.
pub(super) fn used(settings: &Settings) -> BTreeSet<&str> {
    ["red", "green", "none"]
        .map(|phase| settings.agent.for_phase(phase))
        .into_iter()
        .chain(settings.agent.fallback.iter().map(String::as_str))
        .collect()
}

/// What is known of every agent without starting one.
pub(super) fn probes(settings: &Settings, root: &Path) -> impl Iterator<Item = Probe> {
    recipe_names(settings)
        .into_iter()
        .map(|name| Probe::without_starting(&name, settings, root))
}

/// The same, with the versions of those that the project's own settings say nothing of, and what is used but not known.
pub(super) async fn versions(loaded: &Loaded, root: &Path) -> Result<Vec<Probe>> {
    let settings = &loaded.settings;
    let used = used(settings).into_iter().map(ToOwned::to_owned);
    let names: BTreeSet<String> = recipe_names(settings).into_iter().chain(used).collect();
    let probe = |name: String| async move {
        if is_of_project(loaded, &name) {
            return Ok(Probe::without_starting(&name, settings, root));
        }
        Probe::with_version(&name, settings, root).await
    };
    try_join_all(names.into_iter().map(probe)).await
}

impl Perform for ListAgents {
    async fn perform(self, start: &Path) -> Result {
        let probes = probes(&load(start)?.settings, &root_around(start)).collect_vec();
        if self.json {
            return print_json(&probes);
        }
        let rows = probes.iter().map(row).collect_vec();
        print_table(&rows);
        say!(
            "* is used by the settings; `tm agents show NAME` shows a recipe, `tm agents check` starts programs"
        );
        Ok(0)
    }
}

fn row(probe: &Probe) -> [String; 2] {
    let mark = if probe.used { "*" } else { " " };
    [format!("{mark} {}", probe.agent), probe.line()]
}

impl Perform for AgentChoice {
    async fn perform(self, start: &Path) -> Result {
        let found = named(&self.name, &load(start)?.settings)?;
        let shown = recipe_json(&found);
        // Values in JSON are values in YAML.
        let line = |(key, value): (&String, &Value)| format!("{key}: {value}\n");
        if self.json {
            return print_json(&shown);
        }
        print_data(&shown.as_object().into_iter().flatten().map(line).join(""));
        Ok(0)
    }
}

/// The recipe of that name, with a command or without.
fn named(name: &str, settings: &Settings) -> Result<Recipe> {
    recipe(name, settings).or_else(|error| {
        tm_presets::recipes(settings)?
            .remove(name)
            .ok_or_else(|| CommandFailure::from(error))
    })
}

impl Perform for CheckAgents {
    async fn perform(self, start: &Path) -> Result {
        let loaded = load(start)?;
        let settings = &loaded.settings;
        let names = if self.names.is_empty() {
            used(settings).into_iter().map(ToOwned::to_owned).collect()
        } else {
            self.names.clone()
        };
        for name in &names {
            named(name, settings)?;
        }
        if !self.trust {
            ask_for_trust(&loaded, &names)?;
        }
        let root = root_around(start);
        let mut probes = Vec::new();
        for name in &names {
            let probe = self.probe(name, settings, &root).await?;
            if !self.json {
                print_data(&probe.report());
            }
            probes.push(probe);
        }
        if self.json {
            print_json(&probes)?;
        }
        Ok(u8::from(!probes.iter().all(Probe::is_good)))
    }
}

impl CheckAgents {
    async fn probe(&self, name: &str, settings: &Settings, root: &Path) -> Result<Probe> {
        let mut probe = Probe::with_version(name, settings, root).await?;
        if self.live && probe.problem.is_none() {
            probe.try_out(self.model.as_deref(), settings).await?;
        }
        Ok(probe)
    }
}

/// Asks before a program is started that the project's own settings name: whoever wrote them may be a stranger.
fn ask_for_trust(loaded: &Loaded, names: &[String]) -> Result<()> {
    let foreign = names
        .iter()
        .filter(|name| is_of_project(loaded, name))
        .collect_vec();
    let Some(first) = foreign.first() else {
        return Ok(());
    };
    let named = foreign.iter().join("`, `");
    let question = format!("the project's own settings say how to start `{named}`; start it");
    if is_answered() && confirmed(&question, false)? {
        return Ok(());
    }
    Err(
        failure!("the project's own settings say how to start `{named}`, and nobody has read them")
            .usage(format!("read `tm agents show {first}`, then add `--trust`")),
    )
}

fn is_of_project(loaded: &Loaded, name: &str) -> bool {
    let section = format!("agents.{name}.");
    loaded
        .explained
        .iter()
        .any(|setting| setting.key.starts_with(&section) && is_shared(&setting.source))
}

/// Whether it is written where others than the user write too.
const fn is_shared(source: &Source) -> bool {
    matches!(
        source,
        Source::ProjectYaml(..) | Source::ProjectJson(_) | Source::AgentAlchemy(_)
    )
}

/// A recipe as its settings would be written, with what follows from them.
fn recipe_json(recipe: &Recipe) -> Value {
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
    let chains = choices.iter().map(|(phase, recipes)| {
        let chain = recipes.iter().map(with_model).join(", then ");
        format!("  {:5}  {chain}\n", name_of(*phase))
    });
    let recipes = choices
        .iter()
        .flat_map(|(_, recipes)| recipes)
        .unique_by(|recipe| &recipe.name)
        .map(|recipe| format!("  `{}` {}\n", recipe.name, permissions(recipe)));
    format!("\nAgents\n{}", chains.chain(recipes).format(""))
}

const fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Red => "RED",
        Phase::Green => "GREEN",
        Phase::None => "other",
    }
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
