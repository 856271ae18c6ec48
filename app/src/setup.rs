//! Puts together what a run is carried out with, and checks it before anything is started.

use crate::agents::{ProgramsByPlace, agents};
use crate::error::Error;
use crate::judging::{by_id, checkouts, parts, result_cache, test_command};
use crate::notice::Notice;
use crate::place::tried;
use crate::plan_order::{PlanOrder, options};
use crate::preflight::{before_run, unless_interrupted};
use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tm_config::Inputs;
use tm_executors::testing::TestCommand;
use tm_presets::PresetFolders;
use tm_runtime::preflight::BrokenBase;
use tm_runtime::standing::{Ledger, Rejected, kept_tests, standing};
use tm_runtime::{
    AgentChoice, Integration, JournalHeader, RunSetup, never_commit, repository_of_project, rules,
};
use tm_scheduler::{CommitId, Phase, PlannedTask, Tag, Task, TaskId, WavePlan};
use tm_store::backlog::{Backlog, BacklogSource};
use tm_store::run::{Rejection, RunDirectory};
use tm_worktrees::{BrokenReference, LeftLock, Repository};

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
    let (agents, programs, test_command) = preflight(project, &header.plan, tasks)?;
    project.warn_of_unheld_agents();
    let executor = project.executor_of_run()?;
    // A run whose jobs go on sees to them first: they may have all the room that a first job would wait for.
    let goes_on = matches!(begins, Begins::Again(_)) && executor.has_jobs();
    if !goes_on {
        tried(project, programs).await?;
    }
    unless_interrupted(executor.ask_for_secrets()).await??;
    warn_of_locks(project);
    mend_references(project);
    let worktrees = project.worktrees_folder();
    let own = worktrees.join(header.run_id.as_str());
    project.repository.prune_half_made(&worktrees, &own)?;
    let (base, folder) = (header.base_commit.clone(), directory.path());
    let checkouts = checkouts(project, pool, base, (folder, &executor))?;
    let result_cache = result_cache(checkouts.clone(), folder, executor.clone());
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
    let mut own_files = vec![std::path::absolute(backlog.path())?];
    own_files.extend(project.own_folders());
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
        never_commit: never_commit(&settings, Some(&backlog), root)?,
        own_files,
        executor,
        tm_program: std::env::current_exe()?,
        notes: (settings.agent.notes).then(|| project.directory.notes_file(&header.tag)),
        header,
        settings,
        repository,
        directory,
        backlog,
        agents,
        test_command,
    })
}

/// Says which locks of git's were left behind, and how to remove them.
fn warn_of_locks(project: &Project) {
    let words = |lock: LeftLock| {
        let path = lock.path.display();
        format!("{lock}; `rm {path}` removes it, where no git is at work")
    };
    let locks = project.repository.left_locks().into_iter().map(words);
    project.warn(&locks.collect::<Vec<_>>());
}

/// Mends the references of tm's own whose work somebody collected, and says so.
pub(crate) fn mend_references(project: &Project) {
    let mended = project.repository.mend_references();
    let words = mended.iter().flatten().map(BrokenReference::mended);
    project.warn(&words.collect::<Vec<_>>());
}

/// What people rejected of earlier work on the tasks of the plan: as this folder knows it, and as the repository does.
fn rejections(
    project: &Project,
    header: &JournalHeader,
) -> Result<BTreeMap<TaskId, Vec<Rejection>>, Error> {
    let ledger = Ledger::read(&project.repository)?;
    let works = if ledger.rejected.is_empty() {
        Vec::new()
    } else {
        standing(&project.repository, &header.base_commit)?
    };
    let mut found = BTreeMap::new();
    for placed in &header.plan.tasks {
        let id = &placed.task.backlog_id;
        let mut rejections = project.directory.rejections(&header.tag, id)?;
        let mut works = works.iter();
        if !works.any(|work| (&work.tag, &work.task) == (&header.tag, id)) {
            add_rejections(&mut rejections, &ledger, (&header.tag, &placed.task));
        }
        if !rejections.is_empty() {
            found.insert(id.clone(), rejections);
        }
    }
    Ok(found)
}

/// Adds what the repository keeps of work on a task, unless this folder knows it.
fn add_rejections(known: &mut Vec<Rejection>, ledger: &Ledger, (tag, task): (&Tag, &PlannedTask)) {
    let is_of_task = |one: &&Rejected| {
        (&one.tag, &one.task, &*one.title) == (tag, &task.backlog_id, &*task.title)
    };
    for one in ledger.rejected.iter().filter(is_of_task) {
        let newest = one.rejects.first();
        let newest = newest.filter(|_| known.iter().all(|known| known.run != one.run));
        known.extend(newest.map(|newest| Rejection {
            run: one.run.clone(),
            task: newest.task.clone(),
            branch: one.reference.clone(),
            commit: newest.commit.clone(),
            reason: one.reason.clone(),
            at: one.at.clone(),
        }));
    }
}

/// The tests that are kept, by the planned task that brings them; for a task with another title they are no tests.
fn kept(
    repository: &Repository,
    header: &JournalHeader,
) -> Result<BTreeMap<TaskId, CommitId>, Error> {
    let mut found = BTreeMap::new();
    for (task, kept) in kept_tests(repository, &header.base_commit, &header.tag)? {
        let mut tasks = header.plan.tasks.iter().map(|placed| &placed.task);
        let green = tasks.find(|one| one.phase == Phase::Green && one.backlog_id == task);
        let is_same = |green: &PlannedTask| {
            green.title == *kept.title && green.pair.as_ref() == Some(&kept.red)
        };
        if green.is_some_and(is_same) {
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
    let branch = header.integration_branch.clone();
    if let Some(gone) = repository.missing(landed)?.pop() {
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
    plan: &WavePlan,
    tasks: &[Task],
) -> Result<(AgentChoice, ProgramsByPlace, Option<TestCommand>), Error> {
    let (agents, settings) = (agents(project)?, &project.loaded.settings);
    let programs = ProgramsByPlace::of_plan(plan, settings, &agents)?;
    programs.refuse_missing_here(project.root())?;
    crate::gates::check_gates(project)?;
    let template = settings.git.commit_template.as_deref();
    template
        .map(tm_presets::example_commit_message)
        .transpose()?;
    tm_presets::check_prompts(&project.root().join(".taskmaster/prompts"))?;
    let test_command = test_command(project);
    if parts(project)?.is_empty() && test_command.is_none() {
        check_tests(plan, tasks)?;
    }
    Ok((agents, programs, test_command))
}

/// Pairs can't be proven without tests.
fn check_tests(plan: &WavePlan, tasks: &[Task]) -> Result<(), Error> {
    let own = tasks
        .iter()
        .filter(|task| task.metadata.test_command.is_some());
    let own: BTreeSet<&TaskId> = own.map(|task| &task.id).collect();
    let mut planned = plan.tasks.iter().map(|placed| &placed.task);
    let is_unproven =
        |task: &&PlannedTask| task.phase != Phase::None && !own.contains(&task.backlog_id);
    Error::refuse(planned.find(is_unproven), |task| {
        Error::NoTests(task.id.clone())
    })
}

/// Returns where presets of the user's own are; outside of a repository, `.taskmaster/presets` of the folder itself.
pub fn presets(start: &Path) -> PresetFolders {
    let root = repository_of_project(start).map_or_else(
        |_| start.to_owned(),
        |found| found.checkout_root().to_owned(),
    );
    let config = Inputs::from_process(&root).user_config;
    PresetFolders {
        project: root.join(".taskmaster/presets"),
        user: config.and_then(|file| Some(file.parent()?.join("presets"))),
    }
}
