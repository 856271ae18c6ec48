//! Puts together what a run is carried out with, and checks it before anything is started.

use crate::error::Error;
use crate::judging::{checkouts, result_cache};
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
use tm_store::backlog::{Backlog, BacklogSource};
use tm_store::run::{Rejection, RunDirectory};
use tm_worktrees::{BranchName, PathPatterns, Repository};

/// What has become of a run before this process took it up.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The merges that have landed, the oldest first where that can be told.
    pub(crate) landed: Vec<CommitId>,
    /// Work that was landing when the process before died.
    pub(crate) landing: Vec<CommitId>,
}

/// Whether a run is new in this process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begins<'a> {
    /// It is: its base is looked at before.
    Anew(BrokenBase),
    /// It has come so far before.
    Again(&'a History),
}

/// Builds the setup of a run; makes its integration branch where it is not there.
pub(crate) async fn run_setup(
    project: &Project,
    (header, directory): (JournalHeader, RunDirectory),
    (backlog, read): (BacklogSource, Backlog),
    begins: Begins<'_>,
) -> Result<RunSetup, Error> {
    let (settings, tasks) = (project.loaded.settings.clone(), &read.tasks);
    // From here on git's settings are those of when the run began, whatever agents do with them.
    let pool = project.worktrees(header.run_id.as_str());
    let pool = pool.map_err(Error::NoWorktrees)?;
    let repository = pool.repository().clone();
    // The same for whoever looks at the work when the run is over: agents may have named programs of theirs.
    project
        .repository
        .with_settings_kept_in(&directory.kept_settings())?;
    let (agents, test_command) = preflight(project, &header, tasks)?;
    let checkouts = checkouts(project, pool, header.base_commit.clone(), directory.path())?;
    let result_cache = result_cache(project, checkouts.clone(), directory.path());
    let nothing = History::default();
    let history = match begins {
        Begins::Again(history) => history,
        Begins::Anew(broken) => {
            let look = before_run(project, &header, tasks, &result_cache, (&directory, broken));
            if let Err(error) = look.await {
                project.warn(&result_cache.close().await);
                return Err(error);
            }
            &nothing
        }
    };
    let root = repository.checkout_root();
    let own_files = vec![
        std::path::absolute(backlog.path())?,
        root.join(".taskmaster/projects"),
    ];
    Ok(RunSetup {
        integration: open_integration(project, &repository, &header, history)?,
        checkouts,
        result_cache,
        tasks: by_id(tasks),
        planning: options(&PlanOrder::default(), &settings),
        rejections: rejections(project, &header)?,
        kept_tests: kept(&repository, &header)?,
        parts: parts(project)?,
        rules: rules(&settings),
        never_commit: never_commit(&settings, Some(backlog.path()), root)?,
        own_files,
        executor: project.executor(),
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
    header: &JournalHeader,
    History { landed, landing }: &History,
) -> Result<Integration, Error> {
    let branch = BranchName::new(header.integration_branch.clone())?;
    if let Some(gone) = gone(repository, landed)? {
        // Only a run that is put aside comes so far, and it builds on nothing.
        return Ok(Integration::lost(repository.clone(), branch, gone));
    }
    let base = &header.base_commit;
    let (integration, tip) = Integration::open(repository.clone(), branch, base, landed, landing)?;
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
    let root = project.repository.checkout_root();
    tm_presets::check_prompts(&root.join(".taskmaster/prompts"))?;
    let test_command = test_command(project);
    if parts(project)?.is_empty() {
        check_tests(header, test_command.as_ref(), tasks)?;
    }
    Ok((agents, test_command))
}

/// Tasks and subtasks by id, since a plan can be made of either.
pub(crate) fn by_id(tasks: &[Task]) -> BTreeMap<TaskId, Task> {
    let both = [Unit::Subtask, Unit::Task].map(|unit| of_unit(tasks, unit));
    let both = both.into_iter().flatten();
    both.map(|task| (task.id.clone(), task)).collect()
}

/// The agents of the settings by kind of work, each with those that take over for it.
pub(crate) fn agents(project: &Project) -> Result<AgentChoice, Error> {
    let of = |phase: Phase| -> Result<Vec<Recipe>, Error> {
        let candidates = candidates(project, phase).into_iter();
        candidates.map(|recipe| with_program(recipe?)).collect()
    };
    Ok(AgentChoice {
        red: of(Phase::Red)?,
        green: of(Phase::Green)?,
        plain: of(Phase::None)?,
    })
}

/// Returns who may do a kind of work by the settings: the first choice, with the model that is asked for, then those that
/// take over.
pub(crate) fn candidates(project: &Project, phase: Phase) -> Vec<Result<Recipe, Error>> {
    let settings = &project.loaded.settings;
    let first = settings.agent.for_phase(phase.as_str());
    let mut names = vec![first];
    for name in &settings.agent.fallback {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let of_phase = || settings.agent.model_for_phase(phase.as_str());
    let model = project.asked_for_model().or_else(of_phase);
    let candidate = |name: &str| {
        let recipe = recipe(name, settings)?;
        let model = model.filter(|_| name == first).map(ToOwned::to_owned);
        Ok(Recipe {
            model: model.or(recipe.model.clone()),
            ..recipe
        })
    };
    names.into_iter().map(candidate).collect()
}

/// Refuses an agent whose program is not there.
pub(crate) fn with_program(recipe: Recipe) -> Result<Recipe, Error> {
    find_program(&recipe).map(|_| recipe)
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
        let mut with_command = tasks.iter().filter(|task| task.test_command.is_some());
        with_command.any(|task| task.id == *id)
    };
    let mut planned = header.plan.tasks.iter().filter(|_| command.is_none());
    let unproven = planned
        .find(|placed| placed.task.phase != Phase::None && !has_own(&placed.task.backlog_id));
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
    let within = backlog.iter().flat_map(|path| path.strip_prefix(root));
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
