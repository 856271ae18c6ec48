//! Whether the gates of the settings make sense: said before anything is run.

use crate::agents::{find_program, place_of};
use crate::error::Error;
use crate::project::Project;
use tm_config::{Gate, GatePhase, RunsOn, is_plain_name};
use tm_executors::findings::check_pattern;
use tm_presets::recipe;

/// Refuses gates that can't be asked.
///
/// # Errors
/// One can't be asked.
pub fn check_gates(project: &Project) -> Result<(), Error> {
    let settings = &project.loaded.settings;
    for (number, gate) in settings.gates.iter().enumerate() {
        if !is_plain_name(&gate.name) {
            return wrong(gate, "a name has letters, digits, `-` and `_`");
        }
        let mut before = settings.gates[..number].iter();
        if before.any(|other| other.name == gate.name) {
            return wrong(gate, "there are two of that name");
        }
        match (&gate.command, &gate.agent) {
            (Some(_), None) => of_command(gate)?,
            (None, Some(agent)) => of_agent(gate, agent, project)?,
            (Some(_), Some(_)) | (None, None) => {
                return wrong(gate, "it has either a `command` or an `agent`");
            }
        }
    }
    Ok(())
}

fn wrong(gate: &Gate, why: impl Into<String>) -> Result<(), Error> {
    Err(Error::WrongGate {
        gate: gate.name.clone(),
        why: why.into(),
    })
}

fn of_command(gate: &Gate) -> Result<(), Error> {
    if gate.prompt.is_some() || gate.max_tokens.is_some() {
        return wrong(gate, "`prompt` and `max_tokens` are for agents");
    }
    gate.lines
        .as_deref()
        .map(check_pattern)
        .transpose()
        .map(drop)
        .or_else(|error| wrong(gate, format!("`lines` is no regular expression: {error}")))
}

fn of_agent(gate: &Gate, agent: &str, project: &Project) -> Result<(), Error> {
    if gate.lines.is_some() || gate.results.is_some() {
        return wrong(gate, "`lines` and `results` are for commands");
    }
    if gate.phases.contains(&GatePhase::Landing) {
        return wrong(
            gate,
            "an agent judges work before it lands, not the merged tree",
        );
    }
    let settings = &project.loaded.settings;
    let recipe = recipe(agent, settings)?;
    match place_of(&recipe, settings) {
        RunsOn::Local => find_program(&recipe, project.root()).map(drop),
        // A first job looks for it.
        RunsOn::Slurm | RunsOn::Kubernetes => Ok(()),
    }
}
