//! `tm agents`: which agents there are, how each is started, whether it can be, and whether it works.

mod live;
mod probe;
mod show;

pub(crate) use show::agents_lines;

use crate::arguments::{Agents, CheckAgents};
use crate::ask::{confirmed, is_answered};
use crate::display::{print_data, print_json, print_line};
use crate::failure::{CommandFailure, ExitCode};
use probe::{Probe, probe};
use std::collections::BTreeSet;
use std::path::Path;
use tm_config::{Inputs, Loaded, Settings, Source};
use tm_presets::{Recipe, recipe, recipe_names};
use tm_reports::columns;
use tm_worktrees::Repository;

/// The settings of the project, or of the user where there is none.
fn settings(start: &Path) -> Result<Settings, CommandFailure> {
    Ok(loaded(start)?.settings)
}

fn loaded(start: &Path) -> Result<Loaded, CommandFailure> {
    let root = Repository::discover(start).map_or_else(
        |_| start.to_owned(),
        |found| found.checkout_root().to_owned(),
    );
    Ok(tm_config::load(&Inputs::from_process(root))?)
}

/// The agents that a run with these settings may start.
fn used(settings: &Settings) -> BTreeSet<String> {
    let by_phase = ["red", "green", "none"].map(|phase| settings.agent.for_phase(phase).to_owned());
    by_phase
        .into_iter()
        .chain(settings.agent.fallback.iter().cloned())
        .collect()
}

pub(crate) async fn agents(start: &Path, command: &Agents) -> Result<u8, CommandFailure> {
    match command {
        Agents::List(output) => list(start, output.json),
        Agents::Show(choice) => show(start, &choice.name, choice.json),
        Agents::Check(arguments) => check(start, arguments).await,
    }
}

fn list(start: &Path, json: bool) -> Result<u8, CommandFailure> {
    let settings = settings(start)?;
    let used = used(&settings);
    let mut probes = Vec::new();
    for name in recipe_names(&settings) {
        probes.push(Probe::without_starting(
            &name,
            &settings,
            used.contains(&name),
        ));
    }
    if json {
        print_json(&probes)?;
        return Ok(0);
    }
    let row = |probe: &Probe| {
        let mark = if probe.used { "*" } else { " " };
        [format!("{mark} {}", probe.agent), probe.line()]
    };
    let rows: Vec<_> = probes.iter().map(row).collect();
    print_data(&columns(&rows, None));
    print_line(
        "* is used by the settings; `tm agents show NAME` shows a recipe, `tm agents check` starts programs",
    );
    Ok(0)
}

fn show(start: &Path, name: &str, json: bool) -> Result<u8, CommandFailure> {
    let settings = settings(start)?;
    let found = named(name, &settings)?;
    let shown = show::recipe_json(&found);
    if json {
        print_json(&shown)?;
    } else {
        // Values in JSON are values in YAML.
        for (key, value) in shown.as_object().into_iter().flatten() {
            print_data(&format!("{key}: {value}\n"));
        }
    }
    Ok(0)
}

/// The recipe of that name, with a command or without.
fn named(name: &str, settings: &Settings) -> Result<Recipe, CommandFailure> {
    match recipe(name, settings) {
        Ok(recipe) => Ok(recipe),
        Err(error) => {
            let mut all = tm_presets::recipes(settings)?;
            all.remove(name)
                .ok_or_else(|| CommandFailure::from(error).hint("`tm agents list` lists them"))
        }
    }
}

/// Asks before a program is started that the project's own settings name: whoever wrote them may be a stranger.
fn ask_for_trust(
    loaded: &Loaded,
    names: &[String],
    arguments: &CheckAgents,
) -> Result<(), CommandFailure> {
    let is_of_project = |name: &&String| {
        let section = format!("agents.{name}.");
        let own = loaded
            .explained
            .iter()
            .filter(|setting| setting.key.starts_with(&section));
        own.into_iter().any(|setting| {
            matches!(
                setting.source,
                Source::ProjectYaml(..) | Source::ProjectJson(_) | Source::AgentAlchemy(_)
            )
        })
    };
    let foreign: Vec<&str> = names
        .iter()
        .filter(is_of_project)
        .map(String::as_str)
        .collect();
    let Some(first) = foreign.first().filter(|_| !arguments.trust) else {
        return Ok(());
    };
    let named = foreign.join("`, `");
    if is_answered()
        && confirmed(
            &format!("the project's own settings say how to start `{named}`; start it"),
            false,
        )?
    {
        return Ok(());
    }
    Err(CommandFailure::new(format!(
        "start `{named}`: the project's own settings say how, and nobody has read them"
    ))
    .code(ExitCode::Usage)
    .hint(format!("read `tm agents show {first}`, then add `--trust`")))
}

async fn check(start: &Path, arguments: &CheckAgents) -> Result<u8, CommandFailure> {
    let loaded = loaded(start)?;
    let settings = &loaded.settings;
    let used = used(settings);
    let names: Vec<String> = if arguments.names.is_empty() {
        used.iter().cloned().collect()
    } else {
        arguments.names.clone()
    };
    for name in &names {
        named(name, settings)?;
    }
    ask_for_trust(&loaded, &names, arguments)?;
    let mut probes = Vec::new();
    for name in &names {
        let mut probe = probe(name, settings, used.contains(name)).await?;
        if arguments.live && probe.problem.is_none() {
            print_line(&format!("`{name}` is given one small task"));
            probe.live = Some(live::live(name, arguments.model.as_deref(), settings).await?);
        }
        if !arguments.json {
            print_data(&probe.report());
        }
        probes.push(probe);
    }
    if arguments.json {
        print_json(&probes)?;
    }
    Ok(u8::from(!probes.iter().all(Probe::is_good)))
}

/// What is known of every agent without starting one, for `tm doctor`.
pub(crate) fn found(settings: &Settings) -> Vec<(String, String)> {
    let used = used(settings);
    let all = recipe_names(settings)
        .into_iter()
        .filter(|name| name != "replay");
    let probes = all.map(|name| Probe::without_starting(&name, settings, used.contains(&name)));
    probes
        .filter(|probe| probe.problem.is_none())
        .map(|probe| (probe.agent.clone(), probe.line()))
        .collect()
}
