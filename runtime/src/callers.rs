//! Who calls tm: an agent of waves may not steer the run that it works for, and not change that run's tasks.
//!
//! An agent, and whatever it starts, is known by the variables of its attempt, in its own environment or that of any
//! process that it descends from; else, while its run is live, by descending from the run's process, to which orphans
//! come too. What another repository's run or backlog is, is open to it: an agent may develop tm itself, or run it in
//! its tests.

use crate::home;
use crate::waves::steering::{Ask, call};
use std::fmt;
use std::path::{Path, PathBuf};
use tm_config::Inputs;
use tm_executors::process::{Ancestor, ProcessIdentity, env_markers_of, lineage};
use tm_scheduler::{AttemptNumber, RunId, TaskId};
use tm_store::run::{Holder, RunLock};
use tm_worktrees::{Repository, common_dir_around};

/// The variable that tells what runs in an attempt of waves which repository that is of: the folder that all worktrees
/// share. Agents of loops, which keep the backlog themselves, don't have it.
pub const REPOSITORY: &str = "TM_REPOSITORY";

/// A process of a run of waves that is not its user's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AgentCaller {
    /// The run, where that is known.
    pub run: Option<RunId>,
    /// The attempt, where that is known; the tests of a run belong to none.
    pub attempt: Option<(TaskId, AttemptNumber)>,
}

impl AgentCaller {
    /// Reads the variables of an attempt.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let (task, attempt) = (
            variable("TM_TASK_ID")?,
            variable("TM_ATTEMPT")?.parse().ok()?,
        );
        Some(Self {
            run: Some(RunId::from(variable("TM_RUN_ID")?.as_str())),
            attempt: Some((task.as_str().into(), AttemptNumber(attempt))),
        })
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
    for folder in folders() {
        let Some(repository) = common_dir_around(&folder) else {
            continue;
        };
        if let Some(caller) = caller(&lineage, &repository, || RunLock::holder_in(&repository)) {
            tell_the_run(what, &folder);
            let what = what.to_owned();
            return Err(RefusedToAgent { what, caller });
        }
    }
    Ok(())
}

/// Returns who calls, if that is an agent of this process's run, or something that one or the run's tests started.
pub(crate) fn caller_of_own_run(lineage: &[Ancestor], repository: &Path) -> Option<AgentCaller> {
    let marked = lineage
        .iter()
        .find_map(|ancestor| in_attempt_on(ancestor, repository));
    marked.or_else(|| {
        let env_markers = env_markers_of(lineage.first()?.identity.pid);
        let variable = |name: &str| {
            Some(
                env_markers
                    .as_ref()?
                    .iter()
                    .find(|(mark, _)| mark == name)?
                    .1
                    .clone(),
            )
        };
        let own = ProcessIdentity::of(std::process::id());
        let is_descendant = || {
            lineage
                .iter()
                .skip(1)
                .any(|ancestor| Some(ancestor.identity) == own)
        };
        let nameless = || {
            (env_markers.is_some() || is_descendant()).then_some(AgentCaller {
                run: None,
                attempt: None,
            })
        };
        AgentCaller::of(variable).or_else(nameless)
    })
}

fn caller(
    lineage: &[Ancestor],
    repository: &Path,
    holder: impl FnOnce() -> Option<Holder>,
) -> Option<AgentCaller> {
    let marked = lineage
        .iter()
        .find_map(|ancestor| in_attempt_on(ancestor, repository));
    marked.or_else(|| {
        let holder = holder().filter(|holder| holder.has_attempts && holder.is_alive())?;
        let is_descendant = lineage
            .iter()
            .skip(1)
            .any(|ancestor| Some(ancestor.identity.pid) == holder.pid);
        is_descendant.then_some(AgentCaller {
            run: holder.run_id,
            attempt: None,
        })
    })
}

/// Tells whether a process was started in an attempt of waves on this repository.
fn in_attempt_on(ancestor: &Ancestor, repository: &Path) -> Option<AgentCaller> {
    let found = ancestor.variable(REPOSITORY).map(PathBuf::from);
    let is_of = found.is_some_and(|found| {
        found == repository || found.canonicalize().is_ok_and(|found| found == repository)
    });
    if is_of {
        AgentCaller::of(|name| ancestor.variable(name))
    } else {
        None
    }
}

/// Tells the live run what was refused, so that its report can; one that can't be reached is not told.
fn tell_the_run(what: &str, folder: &Path) {
    let project = || {
        let repository = Repository::discover(folder).ok()?;
        let settings = tm_config::load(&Inputs::from_process(repository.checkout_root()))
            .ok()?
            .settings;
        let tm_home = std::env::var_os("TM_HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from);
        let home = home(
            &settings.storage,
            &repository,
            tm_home.as_deref(),
            std::env::home_dir().as_deref(),
        )?;
        home.project(repository.common_dir()).ok()
    };
    let told = project().map(|project| {
        call(
            &project,
            &Ask::Refused {
                what: what.to_owned(),
            },
        )
    });
    tracing::debug!(?told, what, "refused to an agent");
}
