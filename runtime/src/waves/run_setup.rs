//! Everything that a run is carried out with, put together by the caller before the loop begins.

use super::{Integration, JournalHeader, RunBacklog};
use crate::{Checkouts, Parts, TestResultCache};
use itertools::Itertools as _;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tm_config::{RunsOn, Settings};
use tm_executors::engine::Executor;
use tm_executors::testing::TestCommand;
use tm_presets::Recipe;
use tm_scheduler::verdict::Rules;
use tm_scheduler::{
    AgentCandidate, AgentName, AgentPool, AttemptNumber, CommitId, Phase, PlanOptions, PlannedTask,
    RunId, Task, TaskId,
};
use tm_store::backlog::BacklogSource;
use tm_store::run::{Rejection, RunDirectory};
use tm_worktrees::{PathPatterns, Repository};

/// The agents of a run by kind of work, the first choice first, none of them empty.
#[derive(Debug)]
pub struct AgentChoice {
    /// Who writes failing tests.
    pub red: Vec<Arc<Recipe>>,
    /// Who makes them pass.
    pub green: Vec<Arc<Recipe>>,
    /// Who does everything else.
    pub plain: Vec<Arc<Recipe>>,
    /// Whether a flag named the model, which outweighs those of tasks.
    pub has_model_of_flag: bool,
}

/// Returns where an agent of a task runs: where the task says, else the agent; `None` for where set-ups and tests of the run do.
pub fn place_asked_for(task: &PlannedTask, recipe: &Recipe) -> Option<RunsOn> {
    let asked = task.on.as_deref().and_then(RunsOn::named);
    asked.or(recipe.on)
}

impl AgentChoice {
    /// Returns the recipe of an agent for a task. The model that the task names is for the first choice: agents that take
    /// over know other ones. It is one for all tasks that ask for nothing of their own.
    pub(crate) fn recipe_for(&self, task: &PlannedTask, agent: Option<&AgentName>) -> Arc<Recipe> {
        let recipe = self.recipe(task.phase, agent);
        let is_first = self.recipe(task.phase, None).name == recipe.name;
        let counts = is_first && !self.has_model_of_flag;
        let model = task.model.as_ref().filter(|_| counts);
        let on = place_asked_for(task, recipe);
        if model.is_none() && on == recipe.on {
            return Arc::clone(recipe);
        }
        let model = model.or(recipe.model.as_ref()).cloned();
        Arc::new(Recipe {
            model,
            on,
            ..Recipe::clone(recipe)
        })
    }

    /// Returns the recipe of an agent for a phase; the first choice when the settings know it no more.
    fn recipe(&self, phase: Phase, agent: Option<&AgentName>) -> &Arc<Recipe> {
        let name = agent.map(AgentName::as_str);
        let recipes = self.for_phase(phase);
        let mut named = recipes.iter().filter(|recipe| Some(&*recipe.name) == name);
        let recipe = named.next().or(recipes.first());
        recipe.expect("every kind of work has an agent")
    }

    /// Returns what the scheduler is to know of them.
    pub fn roster(&self, run_id: &RunId) -> AgentPool {
        let candidates =
            |recipes: &[Arc<Recipe>]| recipes.iter().map(|recipe| candidate(recipe)).collect();
        AgentPool {
            red: candidates(&self.red),
            green: candidates(&self.green),
            plain: candidates(&self.plain),
            seed: AgentPool::seed_of(run_id.as_str()),
        }
    }

    /// Returns who may do a kind of work, the first choice first.
    pub fn for_phase(&self, phase: Phase) -> &[Arc<Recipe>] {
        match phase {
            Phase::Red => &self.red,
            Phase::Green => &self.green,
            Phase::None => &self.plain,
        }
    }

    /// Returns the agents, each once, in the order of their first mention.
    pub fn all(&self) -> Vec<&Recipe> {
        let all = self.red.iter().chain(&self.green).chain(&self.plain);
        all.map(|recipe| &**recipe)
            .unique_by(|recipe| &recipe.name)
            .collect()
    }
}

fn candidate(recipe: &Recipe) -> AgentCandidate {
    AgentCandidate {
        agent: recipe.name.as_str().into(),
        account: recipe.account().into(),
        if_refused: recipe.if_refused.clone(),
    }
}

/// What a run is carried out with.
#[derive(Debug)]
pub struct RunSetup {
    /// What the run was started with.
    pub header: JournalHeader,
    /// The settings.
    pub settings: Settings,
    /// The repository.
    pub repository: Repository,
    /// The integration branch.
    pub integration: Integration,
    /// The worktrees of the run, and the checkouts in which work is judged.
    pub checkouts: Checkouts,
    /// What is known of trees: of the base, where it was looked at before the start.
    pub result_cache: Arc<TestResultCache>,
    /// Where agents, set-ups, gates and tests are started.
    pub executor: Executor,
    /// The run's folder.
    pub directory: RunDirectory,
    /// The file with what agents found out in earlier runs, where that is told.
    pub notes: Option<PathBuf>,
    /// The backlog.
    pub backlog: BacklogSource,
    /// The tasks of the backlog by id, of the unit of the run.
    pub tasks: BTreeMap<TaskId, Task>,
    /// How tasks that join the run are planned.
    pub planning: PlanOptions,
    /// Earlier work that people rejected, by the backlog id of its task.
    pub rejections: BTreeMap<TaskId, Vec<Rejection>>,
    /// Tests of pairs that stay as they are although their implementation is done again, by the planned task: the commit
    /// that brought them.
    pub kept_tests: BTreeMap<TaskId, CommitId>,
    /// The agents.
    pub agents: AgentChoice,
    /// The command that runs the tests, when there is one.
    pub test_command: Option<TestCommand>,
    /// The parts of the project with test commands of their own.
    pub parts: Parts,
    /// What is asked of RED and GREEN.
    pub rules: Rules,
    /// Paths that are never committed.
    pub never_commit: PathPatterns,
    /// Files in the user's checkout that tm itself writes.
    pub own_files: Vec<PathBuf>,
    /// This program.
    pub tm_program: PathBuf,
}

impl RunSetup {
    /// The backlog, by the names of the run.
    pub(crate) const fn run_backlog(&self) -> RunBacklog<'_> {
        RunBacklog {
            source: &self.backlog,
            header: &self.header,
        }
    }

    /// Where an agent is started.
    pub(crate) fn executor_of(&self, recipe: &Recipe) -> Executor {
        match recipe.on {
            Some(place) => self.executor.starting_on(place.name()),
            None => self.executor.clone(),
        }
    }

    /// The name under which work of an attempt is kept when it does not land.
    pub(crate) fn salvage_name(&self, task: &TaskId, attempt: AttemptNumber) -> String {
        let task = tm_store::run::safe_name(task);
        format!("refs/tm/salvage/{}/{task}/{attempt}", self.header.run_id)
    }
}

/// The setup as all steps share it.
pub(crate) type Shared = Arc<RunSetup>;
