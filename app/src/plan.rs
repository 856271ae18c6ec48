//! From the backlog to the waves; nothing is run.

use crate::agents::candidates;
use crate::error::Error;
use crate::judging::{parts, test_command};
use crate::plan_order::{PlanOrder, options};
use crate::project::Project;
use crate::starting::Start;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroU32;
use tm_config::{Dollars, RunsOn};
use tm_executors::testing::{Reading, TestCommand, expected_reading};
use tm_presets::Recipe;
use tm_runtime::{now, tests_at_once};
use tm_scheduler::{
    Breaker, Choice, Durations, Limits, Phase, PlanOptions, Refactor, RunId, Timestamp, WavePlan,
    milliseconds,
};
use tm_store::backlog::{Backlog, BacklogSource};
use tm_store::run::new_run_id;

/// A backlog with its plan.
#[derive(Debug)]
pub struct Planned {
    /// Where the backlog is.
    pub source: BacklogSource,
    /// The backlog.
    pub backlog: Backlog,
    /// The plan.
    pub plan: WavePlan,
    /// The limits.
    pub limits: Limits,
    pub(crate) run: RunId,
    pub(crate) start: Start,
}

/// Reads the backlog and plans what is not in the history that the run starts from.
///
/// # Errors
/// There is no backlog, it can't be planned, or it is not clear where to start.
pub fn plan(project: &Project, order: &PlanOrder) -> Result<Planned, Error> {
    let settings = &project.loaded.settings;
    let (path, tag) = (order.backlog.as_deref(), order.tag.as_deref());
    let (source, mut backlog) = project.backlog(path, tag, order.group.as_deref())?;
    for warnings in [texts(&project.loaded.warnings), texts(&backlog.warnings)] {
        project.warn(&warnings);
    }
    let run = new_id(now());
    let start = Start::find(project, order, &run, &mut backlog)?;
    let limits = limits(project);
    let past = project.directory.past_tasks();
    let options = PlanOptions {
        durations: Durations::learned(&past, &backlog.tag).within(&limits),
        ..options(order, settings)
    };
    let plan = WavePlan::new(&backlog.tasks, &options).map_err(|refusal| Error::Unplannable {
        backlog: source.path().to_owned(),
        refusal,
    })?;
    refuse_unknown_places(&plan)?;
    let start = start.without_tests_alone(project, &run, &plan)?;
    start.tell(project)?;
    let limits = Limits {
        hot_files: start.hot_files.clone(),
        ..limits
    };
    Ok(Planned {
        source,
        backlog,
        plan,
        limits,
        run,
        start,
    })
}

/// Refuses tasks that name a place where no agents run.
fn refuse_unknown_places(plan: &WavePlan) -> Result<(), Error> {
    let mut named = plan.tasks.iter().filter_map(|placed| {
        let on = placed.task.on.as_deref()?;
        Some((&placed.task.id, on))
    });
    let unknown = named.find(|(_, on)| RunsOn::named(on).is_none());
    Error::refuse(unknown, |(task, on)| {
        Error::UnknownPlace(task.clone(), on.to_owned())
    })
}

fn texts(warnings: &[impl ToString]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

/// Returns who does which kind of work: the first choice, then those that take over; who can't be started is refused
/// where a run is set up.
pub fn choices(project: &Project) -> Vec<(Phase, Vec<Recipe>)> {
    let of = |phase| candidates(project, phase).flatten().collect();
    [Phase::Red, Phase::Green, Phase::None]
        .map(|phase| (phase, of(phase)))
        .into()
}

/// Returns the test command and how its results will be read, as far as that is known before it is run.
pub fn reading(project: &Project) -> Option<(TestCommand, Reading)> {
    let command = test_command(project)?;
    let reading = expected_reading(&command, project.root());
    Some((command, reading))
}

/// The plan for programs, with who works and how work will be proven.
#[derive(Debug, Serialize)]
pub struct PlanDocument<'p> {
    #[serde(flatten)]
    plan: tm_reports::PlanDocument<'p>,
    /// By kinds of work.
    agents: Map<String, Value>,
    tests: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    test_parts: Vec<String>,
}

/// Returns the plan for programs.
///
/// # Errors
/// The settings make no sense.
pub fn plan_document<'p>(
    project: &Project,
    planned: &'p Planned,
) -> Result<PlanDocument<'p>, Error> {
    let agents = choices(project).into_iter();
    let agents = agents.map(|(phase, recipes)| {
        let recipes = recipes.iter().map(agent_json).collect();
        (phase.as_str().to_owned(), recipes)
    });
    let tests = reading(project).map(
        |(command, reading)| json!({"command": command.to_string(), "results": reading.as_str()}),
    );
    Ok(PlanDocument {
        plan: tm_reports::PlanDocument::new(&planned.plan, &planned.limits),
        agents: agents.collect(),
        tests,
        test_parts: parts(project)?.lines(),
    })
}

fn agent_json(recipe: &Recipe) -> Value {
    let granted = recipe.granted().ok().flatten();
    json!({
        "agent": recipe.name,
        "model": recipe.model,
        "account": recipe.account(),
        "on": recipe.on.map(RunsOn::name),
        "permissions": granted.map(|granted| granted.mode),
    })
}

/// Returns a name that no other run or loop has.
pub(crate) fn new_id(at: Timestamp) -> RunId {
    let mixed = RandomState::new().hash_one(std::process::id());
    new_run_id(at, u32::try_from(mixed >> 32).unwrap_or_default())
}

/// Returns the limits that the settings give.
pub(crate) fn limits(project: &Project) -> Limits {
    let settings = &project.loaded.settings;
    let (waves, agent) = (&settings.waves, &settings.agent);
    let tm_config::Breaker { tasks, attempts } = waves.breaker;
    Limits {
        slots: waves.max_parallel,
        tests_at_once: tests_at_once(settings),
        retries: waves.retries,
        dispatch: waves.dispatch,
        refactor: if settings.tdd.refactor {
            Refactor::On
        } else {
            Refactor::Off
        },
        landing: settings.git.land,
        attempt_timeout_ms: agent.timeout.map(milliseconds),
        deadline: waves.deadline.map(|deadline| now().after(deadline)),
        max_cost_usd: agent.max_cost.map(Dollars::amount),
        max_tokens: agent.max_tokens,
        max_cost_usd_per_task: agent.max_cost_per_task.map(Dollars::amount),
        max_tokens_per_task: agent.max_tokens_per_task,
        breaker: Breaker {
            tasks,
            attempts,
            then: project.caller.at_breaker,
        },
        // Who works is known once the agents have been looked for.
        agents: tm_scheduler::AgentPool::default(),
        conflict_rounds: waves.conflict_rounds,
        overlap: waves.overlap,
        hot_files: BTreeSet::new(),
        grace_ms: Some(milliseconds(agent.grace)),
        most_to_land: Some(Limits::most_to_land(waves.max_parallel)),
        land_batch: settings.git.land_batch.unwrap_or(NonZeroU32::MAX),
        choice: Choice::LookingAround,
        edition: tm_scheduler::Edition::NEWEST,
    }
}
