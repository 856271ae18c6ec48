//! Whether the gates of the settings make sense: said before anything is run.

use super::setup::usable;
use crate::failure::CommandFailure;
use tm_config::{Gate, GatePhase, Settings};

/// Refuses gates that can't be asked.
pub(crate) fn check(settings: &Settings) -> Result<(), CommandFailure> {
    for (number, gate) in settings.gates.iter().enumerate() {
        let wrong = |why: &str| Err(CommandFailure::new(format!("use the gate `{}`: {why}", gate.name)).hint(HINT));
        if !is_name(&gate.name) {
            return wrong("a name has letters, digits, `-` and `_`");
        }
        if settings.gates[..number].iter().any(|other| other.name == gate.name) {
            return wrong("there are two of that name");
        }
        match (&gate.command, &gate.agent) {
            (Some(_), None) => of_command(gate)?,
            (None, Some(agent)) => of_agent(gate, agent, settings)?,
            (Some(_), Some(_)) | (None, None) => return wrong("it has either a `command` or an `agent`"),
        }
    }
    Ok(())
}

const HINT: &str = "correct `gates` in .taskmaster/tm.yaml; docs/gates.md has examples";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
}

fn of_command(gate: &Gate) -> Result<(), CommandFailure> {
    let wrong = |why: String| Err(CommandFailure::new(format!("use the gate `{}`: {why}", gate.name)).hint(HINT));
    if gate.prompt.is_some() || gate.max_tokens.is_some() {
        return wrong("`prompt` and `max_tokens` are for agents".to_owned());
    }
    match gate.lines.as_deref().map(tm_executors::findings::check_pattern) {
        Some(Err(error)) => wrong(format!("`lines` is no regular expression: {error}")),
        Some(Ok(())) | None => Ok(()),
    }
}

fn of_agent(gate: &Gate, agent: &str, settings: &Settings) -> Result<(), CommandFailure> {
    let wrong = |why: &str| Err(CommandFailure::new(format!("use the gate `{}`: {why}", gate.name)).hint(HINT));
    if gate.lines.is_some() || gate.results.is_some() {
        return wrong("`lines` and `results` are for commands");
    }
    if gate.phases.contains(&GatePhase::Landing) {
        return wrong("an agent judges work before it lands, not the merged tree");
    }
    usable(agent, settings).map(drop)
}
