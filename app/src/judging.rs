//! By which tests work is judged, the checkouts for that, and what is known of the trees that were tested there.

use crate::error::Error;
use crate::project::Project;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tm_executors::engine::Executor;
use tm_executors::testing::TestCommand;
use tm_runtime::{Checkouts, Parts, TestResultCache, tests_at_once};
use tm_scheduler::{CommitId, Task, TaskId, Unit, of_unit};
use tm_worktrees::WorktreePool;

/// Checkouts for one judgement that is no part of a run.
pub(crate) struct Judging {
    pub(crate) result_cache: Arc<TestResultCache>,
    pub(crate) scratch: TempDir,
}

impl Judging {
    /// Opens them for what was built on this commit; `name` says what they are for.
    pub(crate) fn open(project: &Project, name: &str, base: CommitId) -> Result<Self, Error> {
        let pool = project.worktrees(&format!("{name}-{}", std::process::id()))?;
        let scratch = tempfile::tempdir()?;
        let executor = project.executor();
        let checkouts = checkouts(project, pool, base, (scratch.path(), &executor))?;
        Ok(Self {
            result_cache: result_cache(checkouts, scratch.path(), executor),
            scratch,
        })
    }
}

/// Opens checkouts that are made ready as the settings say, by who starts jobs; copies and logs go into `folder`.
pub(crate) fn checkouts(
    project: &Project,
    pool: WorktreePool,
    base: CommitId,
    (folder, executor): (&Path, &Executor),
) -> Result<Checkouts, Error> {
    Ok(Checkouts::open(
        pool,
        base,
        &project.loaded.settings,
        folder.to_owned(),
        vec![project.directory.path().to_owned()],
        executor.clone(),
    )?)
}

/// Returns what measures there; what tests write goes below `scratch`.
pub(crate) fn result_cache(
    checkouts: Checkouts,
    scratch: &Path,
    executor: Executor,
) -> Arc<TestResultCache> {
    Arc::new(TestResultCache::new(
        checkouts,
        scratch.join("baselines"),
        executor,
    ))
}

/// How many tasks are judged at the same time: as many as are tested.
pub(crate) fn parallel(project: &Project, asked: Option<NonZeroUsize>) -> usize {
    let of_settings = tests_at_once(&project.loaded.settings).get();
    asked.map_or_else(
        || usize::try_from(of_settings).unwrap_or(1),
        NonZeroUsize::get,
    )
}

/// Returns the parts of the project that have test commands of their own, and the command for all else.
///
/// # Errors
/// The settings make no sense.
pub fn parts(project: &Project) -> Result<Parts, Error> {
    Ok(Parts::of(&project.loaded.settings, project.root())?)
}

/// Returns the command of the settings, or the one that is found.
pub fn test_command(project: &Project) -> Option<TestCommand> {
    tm_runtime::test_command(&project.loaded.settings, project.root())
}

/// Tasks and subtasks by id, since a plan can be made of either.
pub(crate) fn by_id(tasks: &[Task]) -> BTreeMap<TaskId, Task> {
    [Unit::Subtask, Unit::Task]
        .into_iter()
        .flat_map(|unit| of_unit(tasks, unit))
        .map(|task| (task.id.clone(), task))
        .collect()
}
