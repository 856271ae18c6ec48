//! Who calls tm: an agent of waves may not steer the run that it works for, and not change that run's tasks.
//!
//! An agent, and whatever it starts, is known by the variables of its attempt, in its own environment or that of any
//! process that it descends from; else, while its run is live, by descending from the run's process, to which orphans
//! come too. What another repository's run or backlog is, is open to it: an agent may develop tm itself, or run it in
//! its tests.

use crate::home;
use crate::setup::tm_home;
use crate::waves::steering::protocol::{Ask, call};
use std::fmt;
use std::path::{Path, PathBuf};
use tm_config::Inputs;
use tm_executors::process::{Ancestor, ProcessIdentity, env_markers_of, lineage};
use tm_scheduler::{AttemptNumber, RunId, TaskId};
use tm_store::run::{Holder, ProjectDirectory, RunLock};
use tm_worktrees::{Repository, common_dir_around};

/// The variable that tells what runs in an attempt of waves which repository that is of: the folder that all worktrees
/// share. Agents of loops, which keep the backlog themselves, don't have it.
pub const REPOSITORY: &str = "TM_REPOSITORY";

/// A process of a run of waves that is not its user's.
#[derive(Clone, Debug, Default)]
pub struct AgentCaller {
    /// The run, where that is known.
    pub run: Option<RunId>,
    /// The attempt, where that is known; the tests of a run belong to none.
    pub attempt: Option<(TaskId, AttemptNumber)>,
}

impl AgentCaller {
    /// Reads the variables of an attempt.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        Some(Self {
            run: Some(variable("TM_RUN_ID")?.into()),
            attempt: Some((
                variable("TM_TASK_ID")?.into(),
                AttemptNumber(variable("TM_ATTEMPT")?.parse().ok()?),
            )),
        })
    }

    /// Looks for a process that was started in an attempt of waves on this repository.
    fn marked(lineage: &[Ancestor], repository: &Path) -> Option<Self> {
        let is_repository = |found: &Path| {
            found == repository || found.canonicalize().is_ok_and(|found| found == repository)
        };
        lineage
            .iter()
            .filter(|one| {
                (one.variable(REPOSITORY)).is_some_and(|found| is_repository(found.as_ref()))
            })
            .find_map(|one| Self::of(|name| one.variable(name)))
    }
}

impl fmt::Display for AgentCaller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attempt {
            Some((task, attempt)) => write!(formatter, "attempt {attempt} of task `{task}`")?,
            None => formatter.write_str("a process")?,
        }
        match &self.run {
            Some(run) => write!(formatter, " of the run {run}"),
            None => formatter.write_str(" of a run"),
        }
    }
}

/// Says of an agent that something was refused to it, for people.
pub(crate) fn refusal_of(what: &str) -> String {
    format!("`{what}` was refused to it: a run and its tasks are steered by the user")
}

/// Something that an agent asked for and must not do.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{what}`: refused, because it is called from within {caller}, and a run and its tasks are steered by the user"
)]
pub struct RefusedToAgent {
    what: String,
    caller: AgentCaller,
}

/// Refuses a command to this process if it belongs to a run of one of the repositories around the folders that the
/// command works in, and tells that run, when it is live.
///
/// # Errors
/// It is refused.
pub fn refuse_to_agents(
    what: &str,
    folders: impl FnOnce() -> Vec<PathBuf>,
) -> Result<(), RefusedToAgent> {
    let lineage = lineage(std::process::id());
    let caller_in = |folder: &PathBuf| {
        let repository = common_dir_around(folder)?;
        caller(&lineage, &repository, || RunLock::holder_in(&repository))
    };
    for folder in folders() {
        if let Some(caller) = caller_in(&folder) {
            tell_the_run(what, &folder);
            let what = what.to_owned();
            return Err(RefusedToAgent { what, caller });
        }
    }
    Ok(())
}

/// Returns who calls, if that is an agent of this process's run, or something that one or the run's tests started.
pub(crate) fn caller_of_own_run(lineage: &[Ancestor], repository: &Path) -> Option<AgentCaller> {
    AgentCaller::marked(lineage, repository).or_else(|| {
        let env_markers = env_markers_of(lineage.first()?.identity.pid);
        let variable = |name: &str| {
            let mut markers = env_markers.iter().flatten();
            let (_, value) = markers.find(|(mark, _)| mark == name)?;
            Some(value.clone())
        };
        AgentCaller::of(variable).or_else(|| {
            let own = ProcessIdentity::of(std::process::id());
            let is_nameless = env_markers.is_some() || descends(lineage, |from| Some(from) == own);
            is_nameless.then(AgentCaller::default)
        })
    })
}

/// Tells whether the first process descends from one that is meant.
fn descends(lineage: &[Ancestor], is_meant: impl Fn(ProcessIdentity) -> bool) -> bool {
    let mut ancestors = lineage.iter().skip(1);
    ancestors.any(|ancestor| is_meant(ancestor.identity))
}

fn caller(
    lineage: &[Ancestor],
    repository: &Path,
    holder: impl FnOnce() -> Option<Holder>,
) -> Option<AgentCaller> {
    AgentCaller::marked(lineage, repository).or_else(|| {
        let holder = holder().filter(|holder| holder.has_attempts && holder.is_alive())?;
        let is_of_run = descends(lineage, |from| Some(from.pid) == holder.pid);
        is_of_run.then_some(AgentCaller {
            run: holder.run_id,
            attempt: None,
        })
    })
}

/// Tells the live run what was refused, so that its report can; one that can't be reached is not told.
fn tell_the_run(what: &str, folder: &Path) {
    let refused = Ask::Refused {
        what: what.to_owned(),
    };
    let told = project_around(folder).map(|project| call(&project, &refused));
    tracing::debug!(?told, what, "refused to an agent");
}

/// Where the runs of the repository around a folder are.
fn project_around(folder: &Path) -> Option<ProjectDirectory> {
    let repository = Repository::discover(folder).ok()?;
    let loaded = tm_config::load(&Inputs::from_process(repository.checkout_root())).ok()?;
    let home = home(&loaded.settings.storage, &repository, tm_home().as_deref())?;
    home.project(repository.common_dir()).ok()
}
