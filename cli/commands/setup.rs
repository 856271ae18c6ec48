//! Puts together what a run is carried out with, and checks it before anything is started.

use super::lost_landings::gone;
use super::plan::options;
use super::preflight::{FirstLook, before_run};
use crate::arguments::PlanChoice;
use crate::display::print_line;
use crate::failure::CommandFailure;
use crate::project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_config::Settings;
use tm_executors::testing::TestCommand;
use tm_presets::{Recipe, recipe};
use tm_runtime::standing::{Ledger, Rejected, kept_tests, standing};
use tm_runtime::{AgentChoice, Checkouts, Integration, JournalHeader, Measurements, Parts, RunSetup, rules};
use tm_scheduler::{CommitId, Phase, PlacedTask, Task, TaskId, Unit, of_unit};
use tm_store::backlog::BacklogSource;
use tm_store::run::{Rejection, RunDirectory};
use tm_worktrees::{BranchName, PathPatterns, Repository, WorktreePool};

/// What has become of a run before this process took it up.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The merges that have landed, the oldest first where that can be told.
    pub(crate) landed: Vec<CommitId>,
    /// Work that was landing when the process before died.
    pub(crate) landing: Vec<CommitId>,
}

/// Builds the setup of a run with this history; makes its integration branch where it is not there. The base of one that
/// begins is looked at before.
pub(crate) fn run_setup(
    project: &Project,
    header: JournalHeader,
    directory: RunDirectory,
    backlog: BacklogSource,
    tasks: &[Task],
    history: &History,
    look: Option<FirstLook>,
) -> Result<RunSetup, CommandFailure> {
    let settings = project.loaded.settings.clone();
    // From here on git's settings are those of when the run began, whatever agents do with them.
    let folder = project.directory.worktrees_folder().join(header.run_id.as_str());
    let pool = WorktreePool::open(&project.repository, &folder)
        .map_err(|error| CommandFailure::from(error).hint("see to it, then `tm waves run` again"))?;
    let repository = pool.repository().clone();
    // The same for whoever looks at the work when the run is over: agents may have named programs of theirs.
    project.repository.with_settings_kept_in(&directory.kept_settings())?;
    let (agents, test_command) = preflight(project, &header, tasks)?;
    let executor = tm_runtime::executor(&project.directory);
    let checkouts = checkouts(project, pool.clone(), header.base_commit.clone(), directory.path())?;
    let scratch = directory.path().join("baselines");
    let measurements = Arc::new(Measurements::new(checkouts.clone(), scratch, executor.clone()));
    if let Some(look) = look
        && let Err(failure) = before_run(project, &header, tasks, &measurements, (&directory, look))
    {
        close(&measurements)?;
        return Err(failure);
    }
    let integration = BranchName::new(header.integration_branch.clone())?;
    let integration = open_integration(&repository, integration, &header.base_commit, history)?;
    let backlog_path = std::path::absolute(backlog.path())?;
    let own_files = vec![backlog_path, repository.checkout_root().join(".taskmaster/projects")];
    Ok(RunSetup {
        integration,
        checkouts,
        measurements,
        tasks: by_id(tasks),
        planning: options(&PlanChoice::default(), &settings),
        rejections: rejections(project, &header)?,
        kept_tests: kept(&repository, &header)?,
        parts: parts(project)?,
        rules: rules(&settings),
        never_commit: never_commit(&settings, backlog.path(), repository.checkout_root())?,
        own_files,
        executor,
        tm_program: std::env::current_exe()?,
        stall: settings.agent.stall,
        grace: settings.agent.grace,
        header,
        settings,
        repository,
        directory,
        backlog,
        agents,
        test_command,
    })
}

/// Opens checkouts that are made ready as the settings say; copies and logs go into `folder`.
pub(crate) fn checkouts(
    project: &Project,
    pool: WorktreePool,
    base: CommitId,
    folder: &Path,
) -> Result<Checkouts, CommandFailure> {
    let own = vec![project.directory.path().to_owned()];
    let executor = tm_runtime::executor(&project.directory);
    Ok(Checkouts::open(pool, base, &project.loaded.settings, folder.to_owned(), own, executor)?)
}

/// Ends what checkouts were made ready for, and removes them; what people should know is told.
pub(crate) fn close(measurements: &Measurements) -> Result<(), CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for warning in runtime.block_on(measurements.close()) {
        print_line(&format!("warning: {warning}"));
    }
    Ok(())
}

/// What people rejected of earlier work on the tasks of the plan: as this folder knows it, and as the repository does.
fn rejections(project: &Project, header: &JournalHeader) -> Result<BTreeMap<TaskId, Vec<Rejection>>, CommandFailure> {
    let ledger = Ledger::read(&project.repository)?;
    let works = if ledger.is_empty() { Vec::new() } else { standing(&project.repository, &header.base_commit)? };
    let mut found = BTreeMap::new();
    for placed in &header.plan.tasks {
        let id = &placed.task.backlog_id;
        let mut rejections = project.directory.rejections(&header.tag, id)?;
        let is_done_again = works.iter().any(|work| (&work.tag, &work.task) == (&header.tag, id));
        let of_task = |one: &&Rejected| (&one.tag, &one.task, &one.title) == (&header.tag, id, &placed.task.title);
        for one in ledger.iter().filter(of_task).filter(|_| !is_done_again) {
            if !rejections.iter().any(|known| known.run == one.run) {
                rejections.extend(as_rejection(one));
            }
        }
        if !rejections.is_empty() {
            found.insert(id.clone(), rejections);
        }
    }
    Ok(found)
}

fn as_rejection(rejected: &Rejected) -> Option<Rejection> {
    let newest = rejected.rejects.first()?;
    Some(Rejection {
        run: rejected.run.clone(),
        task: newest.task.clone(),
        branch: rejected.reference.clone(),
        commit: newest.commit.clone(),
        reason: rejected.reason.clone(),
        at: rejected.at.clone(),
    })
}

/// The tests that are kept, by the planned task that brings them; for a task with another title they are no tests.
fn kept(repository: &Repository, header: &JournalHeader) -> Result<BTreeMap<TaskId, CommitId>, CommandFailure> {
    let tasks = &header.plan.tasks;
    let mut found = BTreeMap::new();
    for (task, kept) in kept_tests(repository, &header.base_commit, &header.tag)? {
        let is_it = |placed: &&PlacedTask| placed.task.phase == Phase::Green && placed.task.backlog_id == task;
        let green = tasks.iter().find(is_it).filter(|green| green.task.title == kept.title);
        if green.is_some_and(|green| green.task.pair.as_ref() == Some(&kept.red)) {
            found.insert(kept.red, kept.commit);
        }
    }
    Ok(found)
}

fn open_integration(
    repository: &Repository,
    branch: BranchName,
    base: &CommitId,
    history: &History,
) -> Result<Integration, CommandFailure> {
    let History { landed, landing } = history;
    if let Some(gone) = gone(repository, landed)? {
        // Only a run that is put aside comes so far, and it builds on nothing.
        return Ok(Integration::lost(repository.clone(), branch, gone));
    }
    let opened = Integration::open(repository.clone(), branch, base, landed, landing);
    let (integration, tip) = opened.map_err(|error| match &error {
        tm_runtime::Error::IntegrationMoved { branch, landed, .. } => {
            let hint = format!(
                "`git branch --force {branch} {landed}` brings it back to where tm left it, then `tm waves resume`; `git \
                 branch NAME {branch}` before keeps what is there now"
            );
            CommandFailure::from(error).hint(hint)
        }
        _ => error.into(),
    })?;
    if tip.was_deleted {
        let branch = integration.branch();
        print_line(&format!("warning: `{branch}` was deleted; it is made again at `{}`, where it was", tip.commit));
    }
    Ok(integration)
}

/// Checks that the agents can be started and the plan can be proven; nothing has been written by then.
pub(crate) fn preflight(
    project: &Project,
    header: &JournalHeader,
    tasks: &[Task],
) -> Result<(AgentChoice, Option<TestCommand>), CommandFailure> {
    let agents = agents(project)?;
    super::gates::check(&project.loaded.settings)?;
    if let Some(template) = &project.loaded.settings.git.commit_template {
        tm_presets::check_commit_template(template)?;
    }
    tm_presets::check_prompts(&project.repository.checkout_root().join(".taskmaster/prompts"))?;
    let test_command = test_command(project);
    if parts(project)?.is_empty() {
        check_tests(header, test_command.as_ref(), tasks)?;
    }
    Ok((agents, test_command))
}

/// Tasks and subtasks by id, since a plan can be made of either.
pub(crate) fn by_id(tasks: &[Task]) -> BTreeMap<TaskId, Task> {
    let subtasks = of_unit(tasks, Unit::Subtask);
    subtasks.into_iter().chain(of_unit(tasks, Unit::Task)).map(|task| (task.id.clone(), task)).collect()
}

/// The agents of the settings by kind of work, each with those that take over for it.
pub(crate) fn agents(project: &Project) -> Result<AgentChoice, CommandFailure> {
    let settings = &project.loaded.settings;
    let of = |phase: Phase| -> Result<Vec<Recipe>, CommandFailure> {
        let first = settings.agent.for_phase(phase.as_str());
        let others = settings.agent.fallback.iter().map(String::as_str).filter(|name| *name != first);
        let mut recipes: Vec<Recipe> = Vec::new();
        for name in std::iter::once(first).chain(others) {
            if !recipes.iter().any(|known| known.name == name) {
                recipes.push(usable(name, settings)?);
            }
        }
        let model = project.asked_for_model().or_else(|| settings.agent.model_for_phase(phase.as_str()));
        if let (Some(model), Some(recipe)) = (model, recipes.first_mut()) {
            recipe.model = Some(model.to_owned());
        }
        Ok(recipes)
    };
    Ok(AgentChoice { red: of(Phase::Red)?, green: of(Phase::Green)?, plain: of(Phase::None)? })
}

pub(crate) fn usable(name: &str, settings: &Settings) -> Result<Recipe, CommandFailure> {
    let recipe = recipe(name, settings).map_err(|error| {
        let hint = error.hint().unwrap_or_else(|| CHOOSE_AN_AGENT.to_owned());
        CommandFailure::from(error).hint(hint)
    })?;
    find_program(&recipe)?;
    Ok(recipe)
}

/// What to do when an agent can't be used.
const CHOOSE_AN_AGENT: &str = "`--agent NAME` chooses another agent, `--agent-command COMMAND` any command";

/// Refuses an agent whose program is not on this machine.
pub(crate) fn find_program(recipe: &Recipe) -> Result<PathBuf, CommandFailure> {
    let program = recipe.program(&std::env::current_exe()?.display().to_string())?;
    which::which(&program).map_err(|_| {
        CommandFailure::new(format!("find the program `{program}` of the agent `{}`", recipe.name))
            .hint(CHOOSE_AN_AGENT)
    })
}

/// The parts of the project that have test commands of their own, and the command for all else.
pub(crate) fn parts(project: &Project) -> Result<Parts, CommandFailure> {
    Ok(Parts::of(&project.loaded.settings, project.repository.checkout_root())?)
}

/// The command of the settings, or the one that is found.
pub(crate) fn test_command(project: &Project) -> Option<TestCommand> {
    tm_runtime::test_command(&project.loaded.settings, project.repository.checkout_root())
}

/// Pairs can't be proven without tests.
fn check_tests(header: &JournalHeader, command: Option<&TestCommand>, tasks: &[Task]) -> Result<(), CommandFailure> {
    let has_own = |id: &TaskId| tasks.iter().any(|task| task.id == *id && task.test_command.is_some());
    let unproven = header
        .plan
        .tasks
        .iter()
        .find(|placed| placed.task.phase != Phase::None && command.is_none() && !has_own(&placed.task.backlog_id));
    match unproven {
        None => Ok(()),
        Some(placed) => Err(CommandFailure::new(format!(
            "prove `{}`: there is no test command, and none was found",
            placed.task.id
        ))
        .hint("set `test.command` in .taskmaster/tm.yaml, pass `--test-command`, or run without pairs and proof: `--tdd off --allow-broken-base`")),
    }
}

/// The patterns of the settings, and the backlog itself.
pub(crate) fn never_commit(
    settings: &Settings,
    backlog: &std::path::Path,
    root: &std::path::Path,
) -> Result<PathPatterns, CommandFailure> {
    let mut patterns = settings.git.never_commit.clone();
    let backlog = std::path::absolute(backlog)?;
    let within: Option<PathBuf> = backlog.strip_prefix(root).ok().map(ToOwned::to_owned);
    patterns.extend(within.map(|path| format!("/{}", path.display())));
    Ok(PathPatterns::new(&patterns)?)
}
