//! Puts together what a run is carried out with, and checks it before anything is started.

use crate::error::Error;
use crate::judging::{checkouts, close, result_cache};
use crate::lost_landings::gone;
use crate::notice::Notice;
use crate::plan::{PlanOrder, options};
use crate::preflight::before_run;
use crate::project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tm_config::{Inputs, Settings};
use tm_executors::testing::TestCommand;
use tm_presets::{PresetFolders, Recipe, recipe};
use tm_runtime::preflight::BrokenBase;
use tm_runtime::standing::{Ledger, Rejected, kept_tests, standing};
use tm_runtime::{AgentChoice, Integration, JournalHeader, Parts, RunSetup, rules};
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
pub(crate) async fn run_setup(
    project: &Project,
    header: JournalHeader,
    directory: RunDirectory,
    backlog: BacklogSource,
    tasks: &[Task],
    history: &History,
    look: Option<BrokenBase>,
) -> Result<RunSetup, Error> {
    let settings = project.loaded.settings.clone();
    // From here on git's settings are those of when the run began, whatever agents do with them.
    let folder = project
        .directory
        .worktrees_folder()
        .join(header.run_id.as_str());
    let pool = WorktreePool::open(&project.repository, &folder).map_err(Error::NoWorktrees)?;
    let repository = pool.repository().clone();
    // The same for whoever looks at the work when the run is over: agents may have named programs of theirs.
    project
        .repository
        .with_settings_kept_in(&directory.kept_settings())?;
    let (agents, test_command) = preflight(project, &header, tasks)?;
    let executor = tm_runtime::executor(&project.directory);
    let checkouts = checkouts(project, pool, header.base_commit.clone(), directory.path())?;
    let result_cache = result_cache(project, checkouts.clone(), directory.path());
    if let Some(broken) = look
        && let Err(error) =
            before_run(project, &header, tasks, &result_cache, (&directory, broken)).await
    {
        close(project, &result_cache).await;
        return Err(error);
    }
    let integration = BranchName::new(header.integration_branch.clone())?;
    let integration = open_integration(
        project,
        &repository,
        integration,
        &header.base_commit,
        history,
    )?;
    let backlog_path = std::path::absolute(backlog.path())?;
    let own_files = vec![
        backlog_path,
        repository.checkout_root().join(".taskmaster/projects"),
    ];
    Ok(RunSetup {
        integration,
        checkouts,
        result_cache,
        tasks: by_id(tasks),
        planning: options(&PlanOrder::default(), &settings),
        rejections: rejections(project, &header)?,
        kept_tests: kept(&repository, &header)?,
        parts: parts(project)?,
        rules: rules(&settings),
        never_commit: never_commit(&settings, Some(backlog.path()), repository.checkout_root())?,
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

/// What people rejected of earlier work on the tasks of the plan: as this folder knows it, and as the repository does.
fn rejections(
    project: &Project,
    header: &JournalHeader,
) -> Result<BTreeMap<TaskId, Vec<Rejection>>, Error> {
    let ledger = Ledger::read(&project.repository)?;
    let works = if ledger.is_empty() {
        Vec::new()
    } else {
        standing(&project.repository, &header.base_commit)?
    };
    let mut found = BTreeMap::new();
    for placed in &header.plan.tasks {
        let id = &placed.task.backlog_id;
        let mut rejections = project.directory.rejections(&header.tag, id)?;
        let is_done_again = works
            .iter()
            .any(|work| (&work.tag, &work.task) == (&header.tag, id));
        let of_task = |one: &&Rejected| {
            (&one.tag, &one.task, &one.title) == (&header.tag, id, &placed.task.title)
        };
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
fn kept(
    repository: &Repository,
    header: &JournalHeader,
) -> Result<BTreeMap<TaskId, CommitId>, Error> {
    let tasks = &header.plan.tasks;
    let mut found = BTreeMap::new();
    for (task, kept) in kept_tests(repository, &header.base_commit, &header.tag)? {
        let is_it = |placed: &&PlacedTask| {
            placed.task.phase == Phase::Green && placed.task.backlog_id == task
        };
        let green = tasks
            .iter()
            .find(is_it)
            .filter(|green| green.task.title == kept.title);
        if green.is_some_and(|green| green.task.pair.as_ref() == Some(&kept.red)) {
            found.insert(kept.red, kept.commit);
        }
    }
    Ok(found)
}

fn open_integration(
    project: &Project,
    repository: &Repository,
    branch: BranchName,
    base: &CommitId,
    history: &History,
) -> Result<Integration, Error> {
    let History { landed, landing } = history;
    if let Some(gone) = gone(repository, landed)? {
        // Only a run that is put aside comes so far, and it builds on nothing.
        return Ok(Integration::lost(repository.clone(), branch, gone));
    }
    let opened = Integration::open(repository.clone(), branch, base, landed, landing);
    let (integration, tip) = opened?;
    if tip.was_deleted {
        project.tell(&Notice::BranchMadeAgain {
            branch: integration.branch(),
            commit: &tip.commit,
        });
    }
    Ok(integration)
}

/// Checks that the agents can be started and the plan can be proven; nothing has been written by then.
pub(crate) fn preflight(
    project: &Project,
    header: &JournalHeader,
    tasks: &[Task],
) -> Result<(AgentChoice, Option<TestCommand>), Error> {
    let agents = agents(project)?;
    crate::gates::check_gates(&project.loaded.settings)?;
    if let Some(template) = &project.loaded.settings.git.commit_template {
        tm_presets::check_commit_template(template)?;
    }
    tm_presets::check_prompts(
        &project
            .repository
            .checkout_root()
            .join(".taskmaster/prompts"),
    )?;
    let test_command = test_command(project);
    if parts(project)?.is_empty() {
        check_tests(header, test_command.as_ref(), tasks)?;
    }
    Ok((agents, test_command))
}

/// Tasks and subtasks by id, since a plan can be made of either.
pub(crate) fn by_id(tasks: &[Task]) -> BTreeMap<TaskId, Task> {
    let subtasks = of_unit(tasks, Unit::Subtask);
    subtasks
        .into_iter()
        .chain(of_unit(tasks, Unit::Task))
        .map(|task| (task.id.clone(), task))
        .collect()
}

/// The agents of the settings by kind of work, each with those that take over for it.
pub(crate) fn agents(project: &Project) -> Result<AgentChoice, Error> {
    let settings = &project.loaded.settings;
    let of = |phase: Phase| -> Result<Vec<Recipe>, Error> {
        let first = settings.agent.for_phase(phase.as_str());
        let others = settings
            .agent
            .fallback
            .iter()
            .map(String::as_str)
            .filter(|name| *name != first);
        let mut recipes: Vec<Recipe> = Vec::new();
        for name in std::iter::once(first).chain(others) {
            if !recipes.iter().any(|known| known.name == name) {
                recipes.push(usable(name, settings)?);
            }
        }
        let model = project
            .asked_for_model()
            .or_else(|| settings.agent.model_for_phase(phase.as_str()));
        if let (Some(model), Some(recipe)) = (model, recipes.first_mut()) {
            recipe.model = Some(model.to_owned());
        }
        Ok(recipes)
    };
    Ok(AgentChoice {
        red: of(Phase::Red)?,
        green: of(Phase::Green)?,
        plain: of(Phase::None)?,
    })
}

pub(crate) fn usable(name: &str, settings: &Settings) -> Result<Recipe, Error> {
    let recipe = recipe(name, settings)?;
    find_program(&recipe)?;
    Ok(recipe)
}

/// Returns where the program of an agent is.
///
/// # Errors
/// It is not on this machine.
pub fn find_program(recipe: &Recipe) -> Result<PathBuf, Error> {
    let program = recipe.program(&std::env::current_exe()?.display().to_string())?;
    which::which(&program).map_err(|_| Error::NoProgram {
        program,
        agent: recipe.name.clone(),
    })
}

/// Returns the parts of the project that have test commands of their own, and the command for all else.
///
/// # Errors
/// The settings make no sense.
pub fn parts(project: &Project) -> Result<Parts, Error> {
    Ok(Parts::of(
        &project.loaded.settings,
        project.repository.checkout_root(),
    )?)
}

/// Returns the command of the settings, or the one that is found.
pub fn test_command(project: &Project) -> Option<TestCommand> {
    tm_runtime::test_command(&project.loaded.settings, project.repository.checkout_root())
}

/// Pairs can't be proven without tests.
fn check_tests(
    header: &JournalHeader,
    command: Option<&TestCommand>,
    tasks: &[Task],
) -> Result<(), Error> {
    let has_own = |id: &TaskId| {
        tasks
            .iter()
            .any(|task| task.id == *id && task.test_command.is_some())
    };
    let unproven = header.plan.tasks.iter().find(|placed| {
        placed.task.phase != Phase::None && command.is_none() && !has_own(&placed.task.backlog_id)
    });
    match unproven {
        None => Ok(()),
        Some(placed) => Err(Error::NoTests(placed.task.id.clone())),
    }
}

/// The patterns of the settings, and the backlog itself.
pub(crate) fn never_commit(
    settings: &Settings,
    backlog: Option<&Path>,
    root: &Path,
) -> Result<PathPatterns, Error> {
    let mut patterns = settings.git.never_commit.clone();
    let backlog = backlog.map(std::path::absolute).transpose()?;
    let within = backlog
        .as_deref()
        .and_then(|backlog| backlog.strip_prefix(root).ok());
    patterns.extend(within.map(|path| format!("/{}", path.display())));
    Ok(PathPatterns::new(&patterns)?)
}

/// Returns where presets of the user's own are; outside of a repository, `.taskmaster/presets` of the folder itself.
pub fn presets(start: &Path) -> PresetFolders {
    let root = Repository::discover(start).map_or_else(
        |_| start.to_owned(),
        |found| found.checkout_root().to_owned(),
    );
    let config = Inputs::from_process(&root).user_config;
    PresetFolders {
        project: root.join(".taskmaster/presets"),
        user: config.and_then(|file| Some(file.parent()?.join("presets"))),
    }
}
