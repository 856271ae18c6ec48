//! Who does the work, by the settings, and which programs that takes where.

use crate::error::{Error, MissingProgram};
use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tm_config::{RunsOn, Settings};
use tm_presets::{Recipe, recipe};
use tm_runtime::AgentChoice;
use tm_scheduler::{Phase, WavePlan};

/// The agents of the settings by kind of work, each with those that take over for it.
pub(crate) fn agents(project: &Project) -> Result<AgentChoice, Error> {
    let of = |phase| candidates(project, phase).collect::<Result<Vec<Recipe>, Error>>();
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

/// Programs by the places where agents start them, each with one of those agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramsByPlace(pub(crate) BTreeMap<RunsOn, BTreeMap<String, String>>);

impl ProgramsByPlace {
    /// Returns those of all agents and reviewers of the settings.
    pub(crate) fn of_settings(settings: &Settings, agents: &AgentChoice) -> Result<Self, Error> {
        let mut programs = Self(BTreeMap::from([(settings.waves.on, BTreeMap::new())]));
        for recipe in agents.all() {
            programs.add(place_of(recipe, settings), recipe)?;
        }
        for reviewer in settings.gates.iter().flat_map(|gate| &gate.agent) {
            let recipe = recipe(reviewer, settings)?;
            programs.add(place_of(&recipe, settings), &recipe)?;
        }
        Ok(programs)
    }

    /// Adds those of tasks that say themselves where their agents run.
    pub(crate) fn and_of_tasks(
        mut self,
        plan: &WavePlan,
        agents: &AgentChoice,
    ) -> Result<Self, Error> {
        for task in plan.tasks.iter().map(|placed| &placed.task) {
            if let Some(on) = &task.on {
                let unknown = || Error::UnknownPlace(task.id.clone(), on.to_string());
                let place = RunsOn::named(on).ok_or_else(unknown)?;
                for recipe in agents.for_phase(task.phase) {
                    self.add(place, recipe)?;
                }
            }
        }
        Ok(self)
    }

    /// Refuses those that are to be started on this machine and are not there; a first job looks for others.
    pub(crate) fn refuse_missing_here(&self, root: &Path) -> Result<(), Error> {
        let mut here = self.0.get(&RunsOn::Local).into_iter().flatten();
        here.try_for_each(|(program, agent)| found(program, agent, root).map(drop))
    }

    fn add(&mut self, place: RunsOn, recipe: &Recipe) -> Result<(), Error> {
        let program = recipe.program(&std::env::current_exe()?)?;
        let known = self.0.entry(place).or_default();
        known.entry(program).or_insert_with(|| recipe.name.clone());
        Ok(())
    }
}

/// Returns where an agent is started for which no task says it.
pub fn place_of(recipe: &Recipe, settings: &Settings) -> RunsOn {
    recipe.on.unwrap_or(settings.waves.on)
}

/// Returns where the program of an agent is. A path that begins nowhere is one in the checkout that the agent works in, so
/// it is looked for in `root`, the top of the user's own.
///
/// # Errors
/// It is not on this machine.
pub fn find_program(recipe: &Recipe, root: &Path) -> Result<PathBuf, Error> {
    let program = recipe.program(&std::env::current_exe()?)?;
    found(&program, &recipe.name, root)
}

fn found(program: &str, agent: &str, root: &Path) -> Result<PathBuf, Error> {
    which::which_in(program, std::env::var_os("PATH"), root).map_err(|_| {
        Error::NoProgram(MissingProgram {
            program: program.to_owned(),
            agent: agent.to_owned(),
            place: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_looked_for_in_the_repository_wherever_tm_was_started() {
        let root = tempfile::tempdir().expect("a folder");
        let program = root.path().join("agent.bin");
        let own = std::env::current_exe().expect("a program");
        std::fs::copy(own, &program).expect("copied");
        let looked = |path: &str| found(path, "mine", root.path()).ok();
        assert_eq!(looked("./agent.bin"), Some(program));
        assert_eq!(looked("agent.bin"), None, "it is in no folder of `PATH`");
        assert_eq!(looked("./another.bin"), None);
    }
}
