//! Who does the work, by the settings, and which programs that takes where.

use crate::error::{Error, MissingProgram};
use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_config::{Gate, GatePhase, RunsOn, Settings};
use tm_presets::{Recipe, recipe};
use tm_runtime::{AgentChoice, gate_phase, place_asked_for};
use tm_scheduler::{Phase, PlannedTask, WavePlan};

/// The agents of the settings by kind of work, each with those that take over for it.
pub(crate) fn agents(project: &Project) -> Result<AgentChoice, Error> {
    let of = |phase| {
        let candidates = candidates(project, phase);
        let shared = candidates.map(|recipe| recipe.map(Arc::new));
        shared.collect::<Result<Vec<_>, Error>>()
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

/// Programs by the places where agents start them, each with one of those agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramsByPlace(pub(crate) BTreeMap<RunsOn, BTreeMap<String, String>>);

impl ProgramsByPlace {
    /// Returns those that a run of a plan may start: of its tasks' agents, of who takes over for these, and of who is asked
    /// to review such work.
    pub(crate) fn of_plan(
        plan: &WavePlan,
        settings: &Settings,
        agents: &AgentChoice,
    ) -> Result<Self, Error> {
        // Set-ups and tests run there, whatever agents do.
        let mut programs = Self(BTreeMap::from([(settings.waves.on, BTreeMap::new())]));
        let tasks = plan.tasks.iter().map(|placed| &placed.task);
        let kinds: BTreeMap<(Phase, Option<&str>), &PlannedTask> = tasks
            .map(|task| ((task.phase, task.on.as_deref()), task))
            .collect();
        for task in kinds.values() {
            for recipe in agents.for_phase(task.phase) {
                programs.add(place_for(task, recipe, settings), recipe)?;
            }
        }
        let is_asked = |gate: &Gate, phase| {
            let improves = phase == Phase::Green && settings.tdd.refactor;
            gate.is_asked_for(gate_phase(phase))
                || improves && gate.is_asked_for(GatePhase::Refactor)
        };
        for reviewer in reviewers(settings, |gate| {
            kinds.keys().any(|(phase, _)| is_asked(gate, *phase))
        }) {
            let reviewer = reviewer?;
            programs.add(place_of(&reviewer, settings), &reviewer)?;
        }
        Ok(programs)
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

/// Returns the agents and reviewers of the settings that are started where set-ups and tests run, each with its program.
pub(crate) fn started_there(
    settings: &Settings,
    agents: &AgentChoice,
) -> Result<BTreeMap<String, String>, Error> {
    let tm = std::env::current_exe()?;
    let reviewers = reviewers(settings, |_| true).collect::<Result<Vec<Recipe>, Error>>()?;
    let all = agents.all().into_iter().chain(&reviewers);
    all.filter(|recipe| place_of(recipe, settings) == settings.waves.on)
        .map(|recipe| Ok((recipe.name.clone(), recipe.program(&tm)?)))
        .collect()
}

/// Who is asked by those of the gates.
fn reviewers(
    settings: &Settings,
    is_asked: impl Fn(&Gate) -> bool,
) -> impl Iterator<Item = Result<Recipe, Error>> {
    let gates = settings.gates.iter().filter(move |gate| is_asked(gate));
    let names = gates.filter_map(|gate| gate.agent.as_deref());
    names.map(|name| recipe(name, settings).map_err(Error::from))
}

/// Returns where an agent is started for a task.
pub(crate) fn place_for(task: &PlannedTask, recipe: &Recipe, settings: &Settings) -> RunsOn {
    place_asked_for(task, recipe).unwrap_or(settings.waves.on)
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
    use tm_config::{Inputs, load};
    use tm_scheduler::{PlanOptions, Task, TddMode};

    /// Where programs are looked for when these tasks are run, each with where it says that its agents run.
    fn places(tasks: &[Option<&str>], settings: &Settings) -> Vec<(RunsOn, usize)> {
        let of = |name| {
            let mut recipe = recipe(name, settings).expect("an agent");
            recipe.on = (name == "codex").then_some(RunsOn::Slurm);
            recipe
        };
        let tasks = tasks.iter().enumerate().map(|(number, on)| {
            let mut task = Task::new(&*number.to_string(), "Document it");
            task.metadata.on = on.map(Into::into);
            task
        });
        let tasks: Vec<Task> = tasks.collect();
        let options = PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        };
        let plan = WavePlan::new(&tasks, &options).expect("a plan");
        let agents = AgentChoice {
            red: vec![Arc::new(of("gemini"))],
            green: vec![Arc::new(of("gemini"))],
            plain: vec![Arc::new(of("claude")), Arc::new(of("codex"))],
            has_model_of_flag: false,
        };
        let programs = ProgramsByPlace::of_plan(&plan, settings, &agents).expect("programs");
        let count = |(place, programs): (_, BTreeMap<_, _>)| (place, programs.len());
        programs.0.into_iter().map(count).collect()
    }

    #[test]
    fn only_places_to_which_tasks_of_the_plan_can_come_are_tried() {
        use RunsOn::{Kubernetes, Local, Slurm};
        let mut settings = load(&Inputs::default()).expect("the defaults").settings;
        // Who takes over may be started too.
        assert_eq!(places(&[None], &settings), [(Local, 1), (Slurm, 1)]);
        let local = [Some("local"), Some("local")];
        assert_eq!(places(&local, &settings), [(Local, 2)]);
        let both = [Some("local"), Some("kubernetes")];
        assert_eq!(places(&both, &settings), [(Local, 2), (Kubernetes, 2)]);

        let gates = r#"[{"name": "read", "agent": "opencode"}, {"name": "red", "agent": "qwen", "phases": ["red"]}]"#;
        settings.gates = serde_json::from_str(gates).expect("gates");
        assert_eq!(places(&local, &settings), [(Local, 3)]);
        // Set-ups and tests run there.
        settings.waves.on = Slurm;
        assert_eq!(places(&local, &settings), [(Local, 2), (Slurm, 1)]);
    }

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
