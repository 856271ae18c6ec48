//! The checkout that autopilot works in: its settings, its backlog, the place of its runs.

use super::error::Error;
use super::known::{KnownRuns, with_noted};
use super::note::Notes;
use crate::setup::{home_of_user, tm_home, variable};
use crate::{home, repository_of_project};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tm_config::{Inputs, Settings, StorageLocation, Verify};
use tm_executors::testing::TestCommand;
use tm_scheduler::autopilot::{Action, CalledBy, Counts};
use tm_scheduler::{RunId, Tag, Task, Timestamp};
use tm_store::autopilot::{AutopilotFolder, CurrentRun};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{HeldFor, Holder, Home, ProjectDirectory, RunLock};
use tm_worktrees::{PathPatterns, Repository};

/// Who holds the lock of waves while a run of autopilot is being set up.
const STARTING: [&str; 3] = ["tm", "autopilot", "start"];
/// So long a start waits for the start in another checkout.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// What the process is started with.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `TM_HOME`.
    pub home: Option<PathBuf>,
    /// `TASKMASTER_TAG`.
    pub tag: Option<Tag>,
    /// A backlog that somebody named.
    pub backlog: Option<PathBuf>,
    /// A run that somebody named; calls are about the current one otherwise.
    pub run: Option<RunId>,
    /// How steps are named in answers.
    pub called_by: CalledBy,
}

impl Environment {
    /// Returns those of this process.
    pub fn of_process() -> Self {
        Self {
            home: tm_home(),
            tag: variable("TASKMASTER_TAG").map(|tag| Tag::new(tag.to_string_lossy())),
            ..Self::default()
        }
    }
}

/// A checkout with everything that autopilot needs to know of it.
#[derive(Clone, Debug)]
pub struct Project {
    pub(super) repository: Repository,
    /// The settings.
    pub settings: Settings,
    /// Where a run that begins has its files.
    pub(super) folder: AutopilotFolder,
    pub(super) notes: Notes,
    user_home: Home,
    home: Home,
    /// The folder of the repository's runs of waves.
    pub waves: ProjectDirectory,
    pub(super) environment: Environment,
}

impl Project {
    /// Opens the project that a folder is in.
    ///
    /// # Errors
    /// The folder is in no repository, or the settings can't be read.
    pub fn open(start: &Path, environment: Environment) -> Result<Self, Error> {
        let repository = repository_of_project(start)?;
        let settings = tm_config::load(&Inputs::from_process(repository.checkout_root()))?.settings;
        Self::of(repository, settings, environment)
    }

    /// Returns the project of a repository whose settings are known.
    ///
    /// # Errors
    /// There is no place for its runs.
    pub fn of(
        repository: Repository,
        settings: Settings,
        environment: Environment,
    ) -> Result<Self, Error> {
        let tm_home = environment.home.as_deref();
        let home = home(&settings.storage, &repository, tm_home).ok_or(Error::NoHome)?;
        let waves = home.project(repository.common_dir())?;
        let root = repository.checkout_root();
        let folder = folder(&settings, &home, repository.git_dir(), root)?;
        let of_user = tm_config::load_of_user(&Inputs::from_process(root))?.settings;
        let user_home = home_of_user(&of_user.storage, tm_home).ok_or(Error::NoHome)?;
        let notes = notes(&user_home, repository.git_dir())?;
        Ok(Self {
            repository,
            settings,
            folder,
            notes,
            user_home,
            home,
            waves,
            environment,
        })
    }

    /// Returns the same project for calls about this run.
    #[must_use]
    pub fn with_run(&self, run: RunId) -> Self {
        let mut project = self.clone();
        project.environment.run = Some(run);
        project
    }

    /// Returns the project of another checkout, as far as its runs are concerned.
    pub(super) fn with_folder(&self, folder: AutopilotFolder) -> Self {
        Self {
            folder,
            ..self.clone()
        }
    }

    /// Returns the call that does what comes next, or ends it; without counts where nobody asks for them.
    pub(super) fn call(&self, action: &Action) -> Option<String> {
        let counts = match self.settings.autopilot.verify {
            Verify::Run => Counts::Unasked,
            Verify::Reported => Counts::Asked,
        };
        action.call(self.environment.called_by, counts)
    }

    /// Returns the places of the runs of every checkout of the repository, each with the top of the checkout.
    pub(super) fn all_folders(&self) -> Result<Vec<(AutopilotFolder, PathBuf)>, Error> {
        let mut all = Vec::new();
        for (git_dir, root) in self.repository.checkouts() {
            let own = folder(&self.settings, &self.home, &git_dir, &root)?;
            let folders = with_noted(own, &notes(&self.user_home, &git_dir)?)?;
            all.extend(folders.into_iter().map(|folder| (folder, root.clone())));
        }
        Ok(all)
    }

    /// Returns the runs of every checkout of the repository, each with the top of the checkout.
    pub(super) fn all_runs(&self) -> Result<Vec<(CurrentRun, PathBuf)>, Error> {
        let mut all = Vec::new();
        for (git_dir, root) in self.repository.checkouts() {
            let own = folder(&self.settings, &self.home, &git_dir, &root)?;
            let known = self.runs_of(own, &notes(&self.user_home, &git_dir)?)?;
            all.extend(known.runs.into_iter().map(|run| (run, root.clone())));
        }
        Ok(all)
    }

    /// Returns the runs of this checkout, but those of another repository.
    pub(super) fn own_runs(&self) -> Result<KnownRuns, Error> {
        self.runs_of(self.folder.clone(), &self.notes)
    }

    /// Returns the run that calls are about: the one that is named, else one that tm began before all others, of which one
    /// that was put into the checkout may be. One of another repository is refused where there is none else.
    pub(super) fn current_run(&self) -> Result<RunId, Error> {
        if let Some(id) = &self.environment.run {
            return Ok(id.clone());
        }
        let identity = self.waves.identity()?;
        let known = KnownRuns::of(self.folder.clone(), &self.notes)?.runs;
        let is_of_another =
            |run: &&CurrentRun| run.repository.is_some() && run.repository != identity;
        let current = known.iter().min_by_key(is_of_another).ok_or(Error::NoRun)?;
        self.refuse_of_another(&current.run_id, current.repository.as_ref())?;
        Ok(current.run_id.clone())
    }

    /// Returns the runs of a checkout of this repository; not those of another repository that was in its place.
    fn runs_of(&self, own: AutopilotFolder, notes: &Notes) -> Result<KnownRuns, Error> {
        let mut known = KnownRuns::of(own, notes)?;
        let identity = self.waves.identity()?;
        let is_own = |run: &CurrentRun| run.repository.is_none() || run.repository == identity;
        known.runs.retain(is_own);
        Ok(known)
    }

    /// Refuses a run of another repository that was in the place of this one.
    pub(super) fn refuse_of_another(
        &self,
        run: &RunId,
        repository: Option<&String>,
    ) -> Result<(), Error> {
        if repository.is_none() || repository == self.waves.identity()?.as_ref() {
            return Ok(());
        }
        Err(Error::OfAnother {
            run: run.clone(),
            folder: self.folder.run(run)?.path().to_owned(),
        })
    }

    /// Returns the folder for checkouts in which a base is looked at: one for each checkout, by whose lock it is held.
    pub(super) fn checkouts_to_look(&self) -> Result<PathBuf, Error> {
        Ok(self
            .home
            .project(self.repository.git_dir())?
            .worktrees_folder()
            .join("autopilot"))
    }

    /// Returns the top of the checkout.
    pub fn root(&self) -> &Path {
        self.repository.checkout_root()
    }

    /// Returns the runs of autopilot in this checkout with their folders, the latest first.
    pub fn autopilot_runs(&self) -> Vec<(RunId, PathBuf)> {
        let ids = self.folder.runs().unwrap_or_default();
        let folder = |id: RunId| Some((id.clone(), self.folder.run(&id).ok()?.path().to_owned()));
        let mut runs: Vec<(RunId, PathBuf)> = ids.into_iter().filter_map(folder).collect();
        // By the time at their end, whatever their tags and tasks are called.
        runs.sort_by(|(one, _), (other, _)| began(other).cmp(began(one)));
        runs
    }

    /// Returns where a file of a run of autopilot is; `None` where the id is none of a run's.
    pub fn autopilot_file(&self, id: &RunId, name: &str) -> Option<PathBuf> {
        let run = self.folder.run(id).ok()?;
        Some(if name == "activity.jsonl" {
            run.activity()
        } else {
            run.path().join(name)
        })
    }

    /// Returns where the backlog is: in the checkout, else in the main one, when this one is linked and git ignores it.
    ///
    /// # Errors
    /// There is none.
    pub fn backlog_source(&self) -> Result<BacklogSource, Error> {
        if let Some(path) = &self.environment.backlog {
            return Ok(BacklogSource::at(path)?);
        }
        let main = self.repository.common_dir().parent();
        Ok(BacklogSource::find(self.root()).or_else(|error| {
            let main = main.filter(|main| *main != self.root());
            let found = main.and_then(|main| BacklogSource::find(main).ok());
            found.ok_or(error)
        })?)
    }

    /// Reads the backlog.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn backlog(&self, tag: Option<&Tag>) -> Result<(BacklogSource, Backlog), Error> {
        let source = self.backlog_source()?;
        let backlog = source.read(&ReadOptions {
            tag: tag.cloned(),
            environment_tag: self.environment.tag.clone(),
            group: None,
            ..ReadOptions::default()
        })?;
        Ok((source, backlog))
    }

    /// Returns what is never committed.
    pub(super) fn never_commit(&self) -> Result<PathPatterns, Error> {
        let backlog = self.backlog_source().ok();
        Ok(crate::never_commit(
            &self.settings,
            backlog.as_ref(),
            self.root(),
        )?)
    }

    /// Returns everything that is changed and may be committed.
    pub(super) fn changed_paths(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(self.repository.changed_paths(&self.never_commit()?)?)
    }

    /// As `changed_paths`, as text.
    pub(super) fn changed_files(&self) -> Result<Vec<String>, Error> {
        let paths = self.changed_paths()?;
        let texts = paths.iter().map(|path| path.to_string_lossy().into_owned());
        Ok(texts.collect())
    }

    /// Refuses what is not committed.
    pub(super) fn assert_committed(&self) -> Result<(), Error> {
        match self.changed_paths()? {
            paths if paths.is_empty() => Ok(()),
            paths => Err(Error::Uncommitted(paths)),
        }
    }

    /// Returns the command that runs the tests of a task.
    pub(super) fn test_command(&self, task: Option<&Task>) -> Option<TestCommand> {
        let found = crate::test_command(&self.settings, self.root());
        match task.and_then(|task| task.metadata.test_command.as_deref()) {
            Some(own) => Some(TestCommand::shell(own, found.as_ref())),
            None => found,
        }
    }

    /// Refuses while waves of agents are at work here: their agents' checkouts are watched for foreign changes.
    pub(super) fn refuse_waves(&self, wanted: &'static str) -> Result<(), Error> {
        match RunLock::holder(&self.waves)? {
            Some(holder) if holder.pid != Some(std::process::id()) && !is_starting(&holder) => {
                Err(Error::WavesLive {
                    wanted,
                    holder: Box::new(holder),
                })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Keeps waves from starting while a run is being set up.
    pub(super) fn hold_off_waves(&self, now: Timestamp) -> Result<RunLock, Error> {
        if self.settings.storage.location == StorageLocation::Project {
            self.waves.ignore_itself()?;
        }
        let holder = Holder {
            held_for: Some(HeldFor::Autopilot),
            ..Holder::this_process(now, STARTING.map(ToOwned::to_owned).to_vec())
        };
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            match RunLock::acquire(&self.waves, &holder) {
                // Another checkout of the repository is being set up in this moment.
                Err(tm_store::Error::Held(other))
                    if is_starting(&other) && Instant::now() < give_up_at =>
                {
                    std::thread::sleep(PAUSE);
                }
                Err(tm_store::Error::Held(holder)) => {
                    return Err(Error::WavesLive {
                        wanted: "start a run",
                        holder,
                    });
                }
                other => return Ok(other?),
            }
        }
    }
}

fn notes(user_home: &Home, git_dir: &Path) -> Result<Notes, Error> {
    let folder = AutopilotFolder::in_home(user_home, git_dir)?;
    Ok(Notes::in_folder(folder))
}

fn is_starting(holder: &Holder) -> bool {
    holder.held_for == Some(HeldFor::Autopilot)
}

fn began(id: &RunId) -> &str {
    id.as_str().rsplit("__").next().unwrap_or_default()
}

fn folder(
    settings: &Settings,
    home: &Home,
    git_dir: &Path,
    root: &Path,
) -> Result<AutopilotFolder, Error> {
    match settings.storage.location {
        StorageLocation::Project => Ok(AutopilotFolder::in_project(root)),
        StorageLocation::Global => Ok(AutopilotFolder::in_home(home, git_dir)?),
    }
}
