//! Who does the work, by the settings: agents whose programs are there.

use crate::error::Error;
use crate::project::Project;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tm_presets::{Recipe, recipe};
use tm_runtime::AgentChoice;
use tm_scheduler::Phase;

/// The agents of the settings by kind of work, each with those that take over for it.
pub(crate) fn agents(project: &Project) -> Result<AgentChoice, Error> {
    let of = |phase| -> Result<Vec<Recipe>, Error> {
        candidates(project, phase)
            .map(|recipe| with_program(recipe?))
            .collect()
    };
    Ok(AgentChoice {
        red: of(Phase::Red)?,
        green: of(Phase::Green)?,
        plain: of(Phase::None)?,
        has_model_of_flag: project.asked_for_model().is_some(),
    })
}

/// Returns who may do a kind of work by the settings: the first choice, with the model that is asked for, then those that
/// take over.
pub(crate) fn candidates(
    project: &Project,
    phase: Phase,
) -> impl Iterator<Item = Result<Recipe, Error>> {
    let settings = &project.loaded.settings;
    let first = settings.agent.for_phase(phase.as_str());
    let fallback = settings.agent.fallback.iter().map(String::as_str);
    let mut seen = BTreeSet::new();
    let names = [first]
        .into_iter()
        .chain(fallback)
        .filter(move |name| seen.insert(*name));
    let of_phase = || settings.agent.model_for_phase(phase.as_str());
    let model = project.asked_for_model().or_else(of_phase);
    names.map(move |name| {
        let mut recipe = recipe(name, settings)?;
        if let Some(model) = model.filter(|_| name == first) {
            recipe.model = Some(model.to_owned());
        }
        Ok(recipe)
    })
}

/// Refuses an agent whose program is not there.
pub(crate) fn with_program(recipe: Recipe) -> Result<Recipe, Error> {
    find_program(&recipe).map(|_| recipe)
}

/// Returns where the program of an agent is.
///
/// # Errors
/// It is not on this machine.
pub fn find_program(recipe: &Recipe) -> Result<PathBuf, Error> {
    let program = recipe.program(&std::env::current_exe()?)?;
    which::which(&program).map_err(|_| Error::NoProgram {
        program,
        agent: recipe.name.clone(),
    })
}
