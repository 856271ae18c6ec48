//! Looks at the base before agents are paid, says what was seen, and refuses what could prove nothing.

use super::setup::{parts, test_command};
use crate::display::{Output, json_event, print_line, print_toned};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_executors::testing::{TestCommand, TestPlace, how_to_report, run_tests};
use tm_runtime::preflight::{look_first, no_test_command};
use tm_runtime::{JournalHeader, Measurements, now, replay};
use tm_scheduler::preflight::{BaseMeasured, Preflight, Problem, judge_base};
use tm_scheduler::{CommitId, Task, TaskId};
use tm_store::run::{ActivityLog, RunDirectory, write_json};
use tm_worktrees::WorktreePool;

/// What becomes of a run whose base can't be tested.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BrokenBase {
    /// It is not begun.
    Refused,
    /// It goes on, and says so.
    Allowed,
}

impl From<bool> for BrokenBase {
    fn from(is_allowed: bool) -> Self {
        if is_allowed { Self::Allowed } else { Self::Refused }
    }
}

/// How the base of a run is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstLook {
    /// What becomes of the run.
    pub(crate) broken: BrokenBase,
    /// For whom output is.
    pub(crate) output: Output,
}

/// A preflight as an event.
#[derive(Serialize)]
struct Told<'a> {
    event: &'static str,
    #[serde(flatten)]
    preflight: &'a Preflight,
}

/// Looks at the base of a run that is about to begin; what was seen is its first line, and stays in its folder.
pub(crate) fn before_run(
    project: &Project,
    header: &JournalHeader,
    tasks: &[Task],
    measurements: &Measurements,
    (directory, look): (&RunDirectory, FirstLook),
) -> Result<(), CommandFailure> {
    let commands = commands(project, header, tasks)?;
    let scratch = directory.path().join("baselines");
    let preflight = looked(&header.base_commit, &commands, measurements, &scratch, look.broken)?;
    write_json(&directory.preflight(), &preflight)?;
    let told = Told { event: "base:measured", preflight: &preflight };
    let mut activity = ActivityLog::open(&directory.activity())?;
    activity.append(now(), &told)?;
    activity.flush()?;
    match look.output {
        Output::Json => json_event(now(), &told),
        Output::People => preflight.lines().iter().for_each(|line| print_toned(line)),
    }
    if preflight.is_good() || look.broken == BrokenBase::Allowed {
        return Ok(());
    }
    Err(refused("start", &preflight.problems, "`--allow-broken-base` goes on all the same"))
}

/// Looks at a base, with a terminal that says why nothing moves, and an end when somebody interrupts.
pub(crate) fn looked(
    base: &CommitId,
    commands: &TestCommands,
    measurements: &Measurements,
    scratch: &Path,
    broken: BrokenBase,
) -> Result<Preflight, CommandFailure> {
    if std::io::stderr().is_terminal() {
        print_line("looking at the base: set-up, then tests");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let seen = runtime.block_on(async {
        tokio::select! {
            seen = look_first(base, &commands.known, measurements, scratch) => seen.map_err(|why| {
                let why: String = why.into();
                CommandFailure::new(format!("look at the base: {why}"))
            }),
            _ = tokio::signal::ctrl_c() => {
                Err(CommandFailure::new("look at the base: interrupted").code(ExitCode::Interrupted))
            }
        }
    });
    let mut preflight = seen?;
    preflight.problems.extend(commands.is_missing.then(no_test_command));
    preflight.is_overridden = !preflight.is_good() && broken == BrokenBase::Allowed;
    Ok(preflight)
}

/// Removes the checkouts of runs that were killed before they began, such as while their bases were looked at: nobody takes
/// those up. The project has to be locked.
pub(crate) fn remove_what_never_began(project: &Project) -> Result<(), CommandFailure> {
    let live = project.directory.live()?;
    for id in project.directory.runs()?.into_iter().filter(|id| live.as_ref() != Some(id)) {
        let folder = project.directory.worktrees_folder().join(id.as_str());
        if folder.exists() && never_began(&project.directory.run(&id)?.journal()) {
            WorktreePool::open(&project.repository, &folder)?.close()?;
        }
    }
    Ok(())
}

fn never_began(journal: &Path) -> bool {
    match replay(journal) {
        Ok(replayed) => replayed.scheduler.tasks().all(|view| view.attempts.is_empty()),
        Err(tm_runtime::Error::Store(tm_store::Error::JournalUnstarted { .. })) => true,
        Err(_) => !journal.exists(),
    }
}

/// Runs the tests in the checkout before a loop that works there and has them run after each iteration.
pub(crate) fn before_loop(project: &Project, command: &TestCommand, broken: BrokenBase) -> Result<(), CommandFailure> {
    let root = project.repository.checkout_root();
    let tree = project.repository.tree_of_checkout(root)?;
    let paths: Vec<String> = project.repository.paths(&tree)?.into_iter().collect();
    let (scratch, executor) = (tempfile::tempdir()?, tm_runtime::executor(&project.directory));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let report = runtime.block_on(async {
        let place = TestPlace { worktree: root, scratch: scratch.path(), executor: &executor, variables: &[] };
        tokio::select! {
            report = run_tests(command, place, "base") => Ok(report),
            _ = tokio::signal::ctrl_c() => {
                Err(CommandFailure::new("look at the base: interrupted").code(ExitCode::Interrupted))
            }
        }
    })?;
    let advice = Some(how_to_report(command, root));
    let words = command.to_string();
    let (base, problem) =
        judge_base(BaseMeasured { command: &words, report: &report, again: None, paths: &paths, advice });
    let is_overridden = problem.is_some() && broken == BrokenBase::Allowed;
    let preflight =
        Preflight { bases: vec![base], problems: problem.into_iter().collect(), is_overridden, ..Preflight::default() };
    preflight.lines().iter().for_each(|line| print_toned(line));
    if preflight.is_good() || is_overridden {
        return Ok(());
    }
    Err(refused("start", &preflight.problems, "`--allow-broken-base` goes on all the same"))
}

/// The test commands of a plan.
#[derive(Debug, Default)]
pub(crate) struct TestCommands {
    /// Each once.
    known: Vec<TestCommand>,
    /// Whether some task has none.
    is_missing: bool,
}

impl TestCommands {
    /// Returns those that the project has.
    pub(crate) fn of_project(project: &Project) -> Result<Self, CommandFailure> {
        let known = parts(project)?.each();
        Ok(Self { is_missing: known.is_empty(), known })
    }
}

fn commands(project: &Project, header: &JournalHeader, tasks: &[Task]) -> Result<TestCommands, CommandFailure> {
    let like = test_command(project);
    let own = |id: &TaskId| tasks.iter().find(|task| task.id == *id).and_then(|task| task.test_command.as_ref());
    let parts = parts(project)?;
    // Which of them a task touches is known when it is done.
    let mut found = TestCommands { known: if parts.is_empty() { Vec::new() } else { parts.each() }, is_missing: false };
    for placed in &header.plan.tasks {
        let own = own(&placed.task.backlog_id).map(|text| TestCommand::shell(text, like.as_ref()));
        match own.or_else(|| like.clone()) {
            None => found.is_missing |= parts.is_empty(),
            Some(command) if found.known.iter().any(|known| known.identity() == command.identity()) => {}
            Some(command) => found.known.push(command),
        }
    }
    Ok(found)
}

/// Says what was found, with the last lines of what was printed, and what to change.
pub(crate) fn refused(what: &str, problems: &[Problem], way_on: &str) -> CommandFailure {
    let mut message = format!("{what}: no work could be proven on this base");
    let mut hints: Vec<&str> = Vec::new();
    for problem in problems {
        let _ = write!(message, "\n  {}: {}", problem.check, problem.what);
        for line in &problem.last_lines {
            let _ = write!(message, "\n    {line}");
        }
        if !hints.contains(&problem.hint.as_str()) {
            hints.push(&problem.hint);
        }
    }
    hints.push(way_on);
    CommandFailure::new(message).hint(hints.join("; "))
}
