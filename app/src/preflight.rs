//! Looks at the base before agents are paid, says what was seen, and refuses what could prove nothing.

use crate::error::Error;
use crate::holding::stop_orders;
use crate::judging::{Judging, parts, test_command};
use crate::notice::{BaseSeen, Notice};
use crate::project::Project;
use std::path::Path;
use tm_executors::testing::{TestCommand, TestPlace, how_to_report, run_tests};
use tm_runtime::git_around;
use tm_runtime::loops::Place;
use tm_runtime::preflight::{BrokenBase, look_first, no_test_command};
use tm_runtime::{JournalHeader, TestResultCache, now, replay};
use tm_scheduler::preflight::{BaseMeasured, Preflight, judge_base};
use tm_scheduler::{CommitId, Task, with_causes};
use tm_store::run::{ActivityLog, RunDirectory, write_json};

/// Looks at the base of a run that is about to begin; what was seen is its first line, and stays in its folder.
pub(crate) async fn before_run(
    project: &Project,
    header: &JournalHeader,
    tasks: &[Task],
    result_cache: &TestResultCache,
    (directory, broken): (&RunDirectory, BrokenBase),
) -> Result<(), Error> {
    let commands = commands(project, header, tasks)?;
    let scratch = directory.path().join("baselines");
    let place = (result_cache, scratch.as_path());
    let preflight = looked(project, &header.base_commit, &commands, place).await?;
    let preflight = broken.noted(preflight);
    write_json(&directory.preflight(), &preflight)?;
    let told = BaseSeen::from(preflight);
    let mut activity = ActivityLog::open(&directory.activity())?;
    activity.append(now(), &told)?;
    activity.flush()?;
    judged(project, told, broken)?;
    unless_interrupted(result_cache.keep_built()).await
}

/// Tells what was seen, and refuses what could prove nothing.
fn judged(project: &Project, seen: BaseSeen, broken: BrokenBase) -> Result<(), Error> {
    project.tell(&Notice::BaseMeasured(&seen));
    broken
        .decided(seen.preflight)
        .map(drop)
        .map_err(Error::NothingProvable)
}

/// Looks at a base; ends when somebody interrupts.
async fn looked(
    project: &Project,
    base: &CommitId,
    commands: &TestCommands,
    (result_cache, scratch): (&TestResultCache, &Path),
) -> Result<Preflight, Error> {
    project.tell(&Notice::LooksAtBase);
    let look = look_first(base, &commands.known, result_cache, scratch);
    let mut preflight = unless_interrupted(look)
        .await?
        .map_err(Error::unjudged("look at the base"))?;
    let missing = commands.is_missing.then(no_test_command);
    preflight.problems.extend(missing);
    Ok(preflight)
}

/// Looks at HEAD as a run looks at its base.
///
/// # Errors
/// It can't be looked at.
pub async fn look_at_head(project: &Project) -> Result<Preflight, Error> {
    let base = project.repository.resolve("HEAD")?;
    let Judging {
        result_cache,
        scratch,
    } = Judging::open(project, "doctor", base.clone())?;
    let known = parts(project)?.each();
    let commands = TestCommands {
        is_missing: known.is_empty(),
        known,
    };
    let place = (&*result_cache, scratch.path());
    let seen = looked(project, &base, &commands, place).await;
    project.warn(&result_cache.close().await);
    if seen.as_ref().is_ok_and(|seen| !seen.is_good()) {
        // A hint may name a file in it.
        let _kept = scratch.keep();
    }
    seen
}

pub(crate) async fn unless_interrupted<T>(look: impl Future<Output = T>) -> Result<T, Error> {
    let (_, mut orders) = stop_orders()?;
    tokio::select! {
        seen = look => Ok(seen),
        _ = orders.recv() => Err(Error::Interrupted),
    }
}

/// Removes the checkouts of runs that were killed before they began, such as while their bases were looked at: nobody takes
/// those up. The project has to be locked.
pub(crate) fn remove_what_never_began(project: &Project) -> Result<(), Error> {
    let live = project.directory.live()?;
    let mut runs = project.directory.runs()?;
    runs.retain(|id| live.as_ref() != Some(id));
    for id in runs {
        let folder = project.directory.worktrees_folder().join(id.as_str());
        if folder.exists() && never_began(&project.directory.run(&id)?.journal()) {
            // What can't be removed is in nobody's way.
            if let Err(error) = project.worktrees(id.as_str()).and_then(|pool| pool.close()) {
                project.warn(&[with_causes(&error)]);
            }
        }
    }
    Ok(())
}

fn never_began(journal: &Path) -> bool {
    match replay(journal) {
        Ok(run) => run.scheduler.tasks().all(|view| view.attempts.is_empty()),
        Err(error) => error.is_unstarted(),
    }
}

/// Runs the tests where a loop works that has them run after each iteration.
pub(crate) async fn before_loop(
    project: &Project,
    command: &TestCommand,
    place: &Place,
    broken: BrokenBase,
) -> Result<(), Error> {
    let (root, variables) = (place.folder(), &place.variables());
    let tree = project.repository.at_checkout(root)?.tree_of_checkout()?;
    let paths: Vec<String> = project.repository.paths(&tree)?.into_iter().collect();
    let (scratch, executor) = (tempfile::tempdir()?, project.executor());
    let place = TestPlace {
        worktree: root,
        scratch: scratch.path(),
        executor: &executor,
        variables,
        besides: &git_around(root),
    };
    let report = unless_interrupted(run_tests(command, place, "base")).await??;
    let (base, problem) = judge_base(BaseMeasured {
        command: &command.to_string(),
        report: &report,
        again: None,
        paths: &paths,
        advice: Some(how_to_report(command, root)),
        hidden_folder: None,
    });
    let preflight = Preflight {
        bases: vec![base],
        problems: problem.into_iter().collect(),
        ..Preflight::default()
    };
    judged(project, broken.noted(preflight).into(), broken)
}

/// The test commands of a plan.
#[derive(Debug, Default)]
struct TestCommands {
    /// Each once.
    known: Vec<TestCommand>,
    /// Whether some task has none.
    is_missing: bool,
}

impl TestCommands {
    fn add(&mut self, command: TestCommand) {
        let mut known = self.known.iter();
        if !known.any(|known| known.identity() == command.identity()) {
            self.known.push(command);
        }
    }
}

fn commands(
    project: &Project,
    header: &JournalHeader,
    tasks: &[Task],
) -> Result<TestCommands, Error> {
    let like = test_command(project);
    let parts = parts(project)?;
    let mut found = TestCommands::default();
    if !parts.is_empty() {
        // Which of them a task touches is known when it is done.
        found.known = parts.each();
    }
    for placed in &header.plan.tasks {
        let task = tasks.iter().find(|task| task.id == placed.task.backlog_id);
        let own = task
            .and_then(|task| task.metadata.test_command.as_ref())
            .map(|text| TestCommand::shell(text, like.as_ref()));
        match own.or_else(|| like.clone()) {
            None => found.is_missing |= parts.is_empty(),
            Some(command) => found.add(command),
        }
    }
    Ok(found)
}
