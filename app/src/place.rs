//! Where jobs of runs are started, as it is looked at before a run.

use crate::agents::{ProgramsByPlace, agents, place_for, started_there};
use crate::error::{Error, MissingProgram};
use crate::notice::Notice;
use crate::plan::{Planned, choices};
use crate::preflight::unless_interrupted;
use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};
use tm_config::RunsOn;
use tm_executors::engine::node::JobDescription;
use tm_executors::engine::{PlaceFinding, TriedPlace};
use tm_runtime::kubernetes;
use tm_scheduler::PlannedTask;

/// Looks at everything that jobs need where those of runs are started, besides that one of them runs there.
pub async fn look_at_place(project: &Project) -> Vec<PlaceFinding> {
    match project.loaded.settings.waves.on {
        RunsOn::Local | RunsOn::Slurm => Vec::new(),
        RunsOn::Kubernetes => kubernetes::findings(project.pods()).await,
    }
}

/// What a first job found where those of runs are started.
#[derive(Debug)]
pub struct PlaceTrial {
    /// What it found.
    pub tried: TriedPlace,
    /// The agents and reviewers of the settings that are started there, each with its program.
    pub agents: BTreeMap<String, String>,
}

/// Has a first job run where those of runs are started, and look for the programs of the agents that are; nothing where
/// that is this machine.
///
/// # Errors
/// It did not run, or what it wrote is not seen here; or an agent of the settings is none.
pub async fn try_out_place(project: &Project) -> Result<Option<PlaceTrial>, Error> {
    let settings = &project.loaded.settings;
    let agents = started_there(settings, &agents(project)?)?;
    let programs: BTreeSet<String> = agents.values().cloned().collect();
    let tried = try_out(project, settings.waves.on, programs).await?;
    Ok(tried.map(|tried| PlaceTrial { tried, agents }))
}

/// Has a first job run in each place where jobs are started, so that what stands in the way of all is known before.
pub(crate) async fn tried(
    project: &Project,
    ProgramsByPlace(programs): ProgramsByPlace,
) -> Result<(), Error> {
    for (place, programs) in programs {
        if let Some(trial) = Box::pin(try_out(project, place, programs.keys().cloned())).await? {
            project.tell(&Notice::PlaceTried(&trial));
            Error::refuse(trial.missing.first(), |program| {
                Error::NoProgram(MissingProgram {
                    program: program.clone(),
                    agent: programs.get(program).cloned().unwrap_or_default(),
                    place: Some(trial.place.clone()),
                })
            })?;
        }
    }
    Ok(())
}

async fn try_out(
    project: &Project,
    place: RunsOn,
    programs: impl IntoIterator<Item = String>,
) -> Result<Option<TriedPlace>, Error> {
    let executor = project.executor_on(place)?;
    let tell = |why: &str| project.tell(&Notice::WaitsForPlace(why));
    let programs: Vec<String> = programs.into_iter().collect();
    let tried = unless_interrupted(executor.try_out(&programs, project.root(), tell)).await;
    executor.settled().await;
    Ok(tried??)
}

/// Returns what would be applied to the cluster for the agents of the first wave, as YAML documents.
///
/// # Errors
/// No agent of it runs on Kubernetes, or the settings of it are of no use.
pub fn first_manifests(project: &Project, planned: &Planned) -> Result<String, Error> {
    let (choices, settings) = (choices(project), &project.loaded.settings);
    let is_there = |task: &&PlannedTask| {
        let choice = choices.iter().find(|(phase, _)| *phase == task.phase);
        let first = choice.and_then(|(_, recipes)| recipes.first());
        let place = first.map(|recipe| place_for(task, recipe, settings));
        place.unwrap_or(settings.waves.on) == RunsOn::Kubernetes
    };
    let wave = planned.plan.waves().into_iter().next().unwrap_or_default();
    let tasks = wave.into_iter().map(|placed| &placed.task);
    // Names of folders of jobs are six letters or digits, whatever is run there.
    let documents = (1..).zip(tasks.filter(is_there)).map(|(number, task)| {
        let folder = format!("job-{number:06}");
        kubernetes::manifest(project.pods(), &folder, &about(task))
    });
    let documents: Vec<String> = documents.collect::<Result<_, _>>()?;
    if documents.is_empty() {
        return Err(Error::NothingToApply);
    }
    Ok(documents.join("---\n"))
}

/// What its first agent is, as far as that is known before a run.
fn about(task: &PlannedTask) -> JobDescription {
    let mark = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    JobDescription {
        title: format!("{}/1", task.id),
        env_markers: vec![
            mark("TM_TASK_ID", task.id.as_str()),
            mark("TM_ATTEMPT", "1"),
        ],
        complexity: task.complexity,
    }
}
