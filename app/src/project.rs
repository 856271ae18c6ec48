//! The project that a call is about: its repository, its settings, its folder of runs, and who is told what.
//!
//! The runs and worktrees of a repository that was moved are taken along before a run is started or taken up.

use crate::error::Error;
use crate::notice::Notice;
use std::path::{Path, PathBuf};
use tm_config::{Inputs, Loaded, Override, ProjectFiles, RunsOn, Source, StorageLocation};
use tm_executors::engine::Executor;
use tm_executors::process::own_children_are;
use tm_runtime::autopilot::{self, Environment};
use tm_runtime::kubernetes::PodsOf;
use tm_runtime::{
    JournalHeader, Replayed, RunBacklog, filter_holder, home, home_of_checkout, now, project_place,
    reach_of_unheld, replay, repository_of_project,
};
use tm_scheduler::{AtBreaker, RunId, Tag};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{Holder, Home, ProjectDirectory, RunDirectory, RunLock, Whereabouts};
use tm_worktrees::{
    Repository, WorktreePool, checkout_root_around, common_dir_around, staying_processes,
};

/// A run, as its journal tells it.
#[derive(Debug)]
pub struct KnownRun {
    /// Its folder.
    pub directory: RunDirectory,
    /// Where it stands.
    pub replayed: Replayed,
}

impl KnownRun {
    /// Reads the journal of a run.
    pub(crate) fn read(directory: RunDirectory) -> Result<Self, tm_runtime::Error> {
        let replayed = replay(&directory.journal())?;
        Ok(Self {
            directory,
            replayed,
        })
    }

    /// Returns its name.
    pub const fn id(&self) -> &RunId {
        &self.replayed.header.run_id
    }
}

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Is told what people should know.
    pub tell: fn(&Notice<'_>),
    /// What a run does that only fails: nobody lets a paused one go on where nobody looks.
    pub at_breaker: AtBreaker,
}

/// A project.
#[derive(Clone, Debug)]
pub struct Project {
    /// The repository.
    pub repository: Repository,
    /// Its settings.
    pub loaded: Loaded,
    /// Its folder of runs.
    pub directory: ProjectDirectory,
    /// The settings that flags gave.
    pub(crate) given: Vec<Override>,
    pub(crate) caller: Caller,
}

impl Project {
    /// Opens the project of a folder, with settings given by flags.
    ///
    /// # Errors
    /// There is no repository, or its settings or its folder of runs can't be read.
    pub fn open(start: &Path, overrides: Vec<Override>, caller: Caller) -> Result<Self, Error> {
        let repository = repository_of_project(start)?;
        let files = ProjectFiles::InFolder(repository.checkout_root().to_owned());
        Self::with_settings_in(&repository, files, overrides, caller)
    }

    /// Returns the project of a repository whose settings lie in these files.
    pub(crate) fn with_settings_in(
        repository: &Repository,
        files: ProjectFiles,
        overrides: Vec<Override>,
        caller: Caller,
    ) -> Result<Self, Error> {
        let loaded = loaded_from(files, &overrides)?;
        let repository =
            repository.with_content(tm_runtime::content_rules(&loaded.settings.worktree));
        let directory = home_of(&loaded, &repository)?.project(repository.common_dir())?;
        directory.create()?;
        let is_within = || {
            let real = directory.path().canonicalize();
            real.is_ok_and(|real| real.ancestors().any(|above| above.join(".git").exists()))
        };
        if loaded.settings.storage.location == StorageLocation::Project || is_within() {
            directory.ignore_itself()?;
        }
        Ok(Self {
            repository,
            loaded,
            directory,
            given: overrides,
            caller,
        })
    }

    /// Returns the project for finding out alone: what git makes for it is never signed, so nobody is asked for a key.
    #[must_use]
    pub fn for_looking(&self) -> Self {
        Self {
            repository: self.repository.unsigned(),
            ..self.clone()
        }
    }

    /// The same project for calls about runs of autopilot.
    pub(crate) fn of_autopilot(&self) -> Result<autopilot::Project, Error> {
        let (repository, settings) = (self.repository.clone(), self.loaded.settings.clone());
        Ok(autopilot::Project::of(
            repository,
            settings,
            Environment::of_process(),
        )?)
    }

    /// The folder in which tm keeps what it knows of all projects, as git names it where that is in the checkout.
    pub(crate) fn own_folder(&self) -> PathBuf {
        let folder = self.directory.of_all();
        folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
    }

    /// Where tm keeps what is nobody's work, in the checkout or elsewhere.
    pub(crate) fn own_folders(&self) -> [PathBuf; 2] {
        [self.root().join(".taskmaster/projects"), self.own_folder()]
    }

    /// Returns the root of the checkout.
    pub fn root(&self) -> &Path {
        self.repository.checkout_root()
    }

    pub(crate) fn tell(&self, notice: &Notice<'_>) {
        (self.caller.tell)(notice);
    }

    pub(crate) fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            self.tell(&Notice::Warning(warning));
        }
    }

    /// Returns what is to be said where nothing keeps agents to the hosts that the settings name.
    pub fn reach_of_unheld(&self) -> Option<String> {
        reach_of_unheld(&self.loaded.settings, || self.executor())
    }

    /// Tells where nothing keeps agents to the hosts that the settings name.
    pub fn warn_of_unheld_agents(&self) {
        self.warn(self.reach_of_unheld().as_slice());
    }

    /// Returns where jobs are started, and how they are held.
    pub fn executor(&self) -> Executor {
        tm_runtime::executor(&self.directory, &self.repository, &self.loaded.settings)
    }

    /// Returns where set-ups and tests of a run are started, and agents for which nothing else is said.
    ///
    /// # Errors
    /// The folder of what all machines see can't be made, or pods don't see what they need.
    pub(crate) fn executor_of_run(&self) -> Result<Executor, Error> {
        self.executor_on(self.loaded.settings.waves.on)
    }

    /// Returns what starts jobs of a run in a place.
    ///
    /// # Errors
    /// The folder of what all machines see can't be made, or pods don't see what they need.
    pub(crate) fn executor_on(&self, place: RunsOn) -> Result<Executor, Error> {
        let executor = self.executor();
        if place == RunsOn::Kubernetes {
            let folders = [self.repository.common_dir(), self.root()];
            tm_runtime::kubernetes::check(self.pods(), &folders)?;
        }
        Ok(tm_runtime::starting_on(&executor, &self.directory, place)?)
    }

    /// Returns what pods are made for.
    pub(crate) fn pods(&self) -> PodsOf<'_> {
        PodsOf {
            project: &self.directory,
            root: self.root(),
            settings: &self.loaded.settings,
        }
    }

    /// Opens the worktrees of a run, or of something else that has a name of its own.
    pub(crate) fn worktrees(&self, name: &str) -> Result<WorktreePool, tm_worktrees::Error> {
        self.worktrees_in(&self.directory.worktrees_folder().join(name))
    }

    /// Opens the worktrees in a folder.
    pub(crate) fn worktrees_in(&self, folder: &Path) -> Result<WorktreePool, tm_worktrees::Error> {
        own_children_are(staying_processes);
        let settings = &self.loaded.settings;
        let holder = filter_holder(&self.directory, &self.repository, settings);
        WorktreePool::open(&self.repository.with_held_filters(holder), folder)
    }

    /// Returns the folder of all worktrees, by its real path, as git names it.
    pub(crate) fn worktrees_folder(&self) -> PathBuf {
        let folder = self.directory.worktrees_folder();
        folder.canonicalize().unwrap_or(folder)
    }

    /// Reads the backlog that a run works off, wherever it is now.
    pub(crate) fn backlog_of(
        &self,
        header: &JournalHeader,
    ) -> Result<(BacklogSource, Backlog), Error> {
        let source = BacklogSource::at(&self.now_at(&header.backlog)?)?;
        let source_of_run = RunBacklog {
            source: &source,
            header,
        };
        let backlog = source_of_run.read()?;
        Ok((source, backlog))
    }

    /// Returns the model that was asked for by a flag.
    pub fn asked_for_model(&self) -> Option<&str> {
        let model = self.loaded.settings.agent.model.as_deref();
        model.filter(|_| self.is_from_flag("agent.model"))
    }

    /// Tells whether a setting was given by a flag.
    pub(crate) fn is_from_flag(&self, key: &str) -> bool {
        let mut explained = self.loaded.explained.iter();
        explained.any(|setting| setting.key == key && matches!(setting.source, Source::Flag(_)))
    }

    /// Reads the backlog that is named or found.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn backlog(
        &self,
        path: Option<&Path>,
        tag: Option<&str>,
        group: Option<&str>,
    ) -> Result<(BacklogSource, Backlog), Error> {
        let source = match path {
            Some(path) => BacklogSource::at(path)?,
            None => BacklogSource::find(self.root()).map_err(Error::NoBacklog)?,
        };
        let backlog = source.read(&ReadOptions {
            tag: tag.map(Tag::from),
            environment_tag: Environment::of_process().tag,
            group: group.map(ToOwned::to_owned),
            ..ReadOptions::default()
        })?;
        Ok((source, backlog))
    }

    /// Returns the run that is named, or the live or last one.
    ///
    /// # Errors
    /// There is none.
    pub fn run(&self, name: Option<&str>) -> Result<(RunId, RunDirectory), Error> {
        let id = name.map_or_else(|| self.live_or_last(), |name| Ok(RunId::from(name)))?;
        let directory = self.directory.run(&id)?;
        if directory.path().is_dir() {
            Ok((id, directory))
        } else {
            Err(Error::UnknownRun(id))
        }
    }

    /// Says where what is known here is of a repository that was in the place of this one.
    fn tell_another(&self) -> Result<(), Error> {
        if self.directory.is_of_another()? && !self.directory.runs()?.is_empty() {
            self.tell(&Notice::OfAnother(self.directory.path()));
        }
        Ok(())
    }

    fn live_or_last(&self) -> Result<RunId, Error> {
        self.tell_another()?;
        match self.directory.live()? {
            Some(live) => Ok(live),
            None => self.directory.runs()?.pop().ok_or(Error::NoRun),
        }
    }

    /// Returns a run as its journal tells it.
    ///
    /// # Errors
    /// There is none, or its journal can't be read.
    pub fn replayed(&self, name: Option<&str>) -> Result<KnownRun, Error> {
        let (_, directory) = self.run(name)?;
        let log = directory.log();
        KnownRun::read(directory).map_err(|error| Error::UnreadableRun {
            error: Box::new(error),
            log,
        })
    }

    /// Takes the runs of this repository along from where it was; the project has to be locked. `unnamed` names a repository
    /// that has had no run.
    pub(crate) fn take_along(&self, unnamed: &RunId) -> Result<(), Error> {
        let (directory, common_dir) = (&self.directory, self.repository.common_dir());
        self.tell_another()?;
        directory.identify(unnamed)?;
        let Some((other, whereabouts)) = self.moved_from()? else {
            return Ok(directory.remember_place(common_dir, &[])?);
        };
        let _nobody_is_at_work_there =
            RunLock::acquire(&other, &Holder::this_process(now(), Vec::new()))?;
        let from = whereabouts.common_dir;
        directory.take_along(&other)?;
        let before = [whereabouts.before, vec![from.clone()]].concat();
        directory.remember_place(common_dir, &before)?;
        let linked = self.repository.link_again(&directory.worktrees_folder())?;
        self.tell(&Notice::Moved {
            from: &from,
            linked,
        });
        Ok(())
    }

    /// The project that this one was, where the repository was moved and has had no run since.
    fn moved_from(&self) -> Result<Option<(ProjectDirectory, Whereabouts)>, Error> {
        if !self.directory.runs()?.is_empty() {
            return Ok(None);
        }
        let branches = self.repository.branches()?;
        let is_of_this = |run: &RunId| branches.iter().any(|branch| branch.contains(run.as_str()));
        Ok(self.directory.moved_from(is_of_this)?)
    }

    /// Returns where a file of the checkout is now that was written down before the repository was moved.
    pub(crate) fn now_at(&self, written: &str) -> Result<PathBuf, Error> {
        let path = PathBuf::from(written);
        if path.exists() {
            return Ok(path);
        }
        let whereabouts = self.directory.whereabouts()?;
        let before = whereabouts.iter().flat_map(|known| &known.before);
        let within = before.filter_map(|common_dir| path.strip_prefix(common_dir.parent()?).ok());
        let mut moved = within.map(|rest| self.root().join(rest));
        Ok(moved.find(|moved| moved.exists()).unwrap_or(path))
    }
}

/// Loads the settings of files of a project, with those that flags give.
pub(crate) fn loaded_from(files: ProjectFiles, given: &[Override]) -> Result<Loaded, Error> {
    let inputs = Inputs {
        project: files,
        overrides: given.to_vec(),
        ..Inputs::from_process("")
    };
    Ok(tm_config::load(&inputs)?)
}

/// Returns the folder of runs of the project around a folder, told from files alone: no program is started, and nothing is
/// made. Nothing where there is no repository, or its settings can't be read.
pub fn project_directory(start: &Path) -> Option<ProjectDirectory> {
    let start = project_place(start).ok()?;
    let common_dir = common_dir_around(&start)?;
    let checkout_root = checkout_root_around(&start)?;
    let loaded = tm_config::load(&Inputs::from_process(&checkout_root)).ok()?;
    let tm_home = Environment::of_process().home;
    let (storage, tm_home) = (&loaded.settings.storage, tm_home.as_deref());
    let home = home_of_checkout(storage, &common_dir, &checkout_root, tm_home)?;
    home.project(&common_dir).ok()
}

/// Where runs are kept: the settings, `TM_HOME` and the home folder decide.
fn home_of(loaded: &Loaded, repository: &Repository) -> Result<Home, Error> {
    let tm_home = Environment::of_process().home;
    home(&loaded.settings.storage, repository, tm_home.as_deref()).ok_or(Error::NoHome)
}
