//! The checkout that autopilot works in: its settings, its backlog, the place of its runs.

use super::error::Error;
use std::path::{Path, PathBuf};
use tm_config::{Inputs, Settings, StorageLocation};
use tm_executors::testing::{ResultFormat, TestCommand, detect_test_command};
use tm_scheduler::{Tag, Task, Timestamp};
use tm_store::autopilot::AutopilotFolder;
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{Holder, Home, ProjectDirectory, RunLock};
use tm_worktrees::{Checkout, PathPatterns, Repository};

/// What the process is started with.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `TM_HOME`.
    pub home: Option<PathBuf>,
    /// `TASKMASTER_TAG`.
    pub tag: Option<Tag>,
    /// A backlog that somebody named.
    pub backlog: Option<PathBuf>,
    /// The command line, for others to see who holds a lock.
    pub command_line: Vec<String>,
}

impl Surroundings {
    /// Returns those of this process.
    pub fn of_process() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            home: variable("TM_HOME").map(PathBuf::from),
            tag: variable("TASKMASTER_TAG").map(|tag| Tag::new(tag.to_string_lossy())),
            backlog: None,
            command_line: std::env::args().collect(),
        }
    }
}

/// A checkout with everything that autopilot needs to know of it.
#[derive(Clone, Debug)]
pub struct Project {
    pub(super) checkout: Checkout,
    pub(super) settings: Settings,
    pub(super) folder: AutopilotFolder,
    pub(super) waves: ProjectDirectory,
    pub(super) surroundings: Surroundings,
}

impl Project {
    /// Opens the project that a folder is in.
    ///
    /// # Errors
    /// The folder is in no repository, or the settings can't be read.
    pub fn open(start: &Path, surroundings: Surroundings) -> Result<Self, Error> {
        let checkout = Checkout::of(Repository::discover(start)?)?;
        let settings = tm_config::load(&Inputs::from_process(checkout.root()))?.settings;
        let is_within = settings.storage.location == StorageLocation::Project;
        let home = Home::new(match &surroundings.home {
            _ if is_within => checkout.root().join(".taskmaster"),
            Some(home) => home.clone(),
            None => usual_home(settings.storage.base_path.as_deref())?,
        });
        let waves = home.project(checkout.repository().common_dir())?;
        let folder = if is_within {
            AutopilotFolder::in_project(checkout.root())
        } else {
            AutopilotFolder::in_home(&home, checkout.git_dir())?
        };
        Ok(Self { checkout, settings, folder, waves, surroundings })
    }

    /// Returns the top of the checkout.
    pub fn root(&self) -> &Path {
        self.checkout.root()
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns where the backlog is: in the checkout, else in the main one, when this one is linked and git ignores it.
    ///
    /// # Errors
    /// There is none.
    pub fn backlog_source(&self) -> Result<BacklogSource, Error> {
        if let Some(path) = &self.surroundings.backlog {
            return Ok(BacklogSource::at(path)?);
        }
        let here = BacklogSource::find(self.root());
        let main = self.checkout.repository().common_dir().parent().filter(|main| *main != self.root());
        match (here, main) {
            (Ok(found), _) => Ok(found),
            (Err(error), None) => Err(error.into()),
            (Err(error), Some(main)) => BacklogSource::find(main).map_err(|_| error.into()),
        }
    }

    /// Reads the backlog.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn backlog(&self, tag: Option<&Tag>) -> Result<(BacklogSource, Backlog), Error> {
        let source = self.backlog_source()?;
        let environment_tag = self.surroundings.tag.clone();
        let backlog = source.read(&ReadOptions { tag: tag.cloned(), environment_tag, group: None })?;
        Ok((source, backlog))
    }

    /// Returns what is never committed: the patterns of the settings, and the backlog.
    pub(super) fn never_commit(&self) -> Result<PathPatterns, Error> {
        let mut patterns = self.settings.git.never_commit.clone();
        if let Ok(source) = self.backlog_source() {
            let within = source.path().strip_prefix(self.root()).ok().map(|path| format!("/{}", path.display()));
            patterns.extend(within);
        }
        Ok(PathPatterns::new(&patterns)?)
    }

    /// Returns the command that runs the tests of a task.
    pub(super) fn test_command(&self, task: Option<&Task>) -> Option<TestCommand> {
        let test = &self.settings.test;
        let format = test.format.as_str().parse::<ResultFormat>().unwrap_or_default();
        let found = match &test.command {
            Some(command) => {
                let argv = command.arguments().into_iter().map(Into::into).collect();
                Some(TestCommand { argv, format, timeout: test.timeout, results: test.results.clone() })
            }
            None => detect_test_command(self.root()).map(|found| {
                let format = if format == ResultFormat::Auto { found.command.format } else { format };
                TestCommand { format, timeout: test.timeout, results: test.results.clone(), ..found.command }
            }),
        };
        match task.and_then(|task| task.test_command.as_deref()) {
            Some(own) => Some(TestCommand::shell(own, found.as_ref())),
            None => found,
        }
    }

    /// Refuses while waves of agents are at work here: their agents' checkouts are watched for foreign changes.
    pub(super) fn refuse_waves(&self, wanted: &'static str) -> Result<(), Error> {
        match RunLock::holder(&self.waves)? {
            Some(holder) if holder.pid != Some(std::process::id()) => {
                Err(Error::WavesLive { wanted, holder: Box::new(holder) })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Keeps waves from starting while a run is being set up.
    pub(super) fn hold_off_waves(&self, now: Timestamp) -> Result<RunLock, Error> {
        if self.settings.storage.location == StorageLocation::Project {
            self.waves.ignore_itself()?;
        }
        let holder = Holder::this_process(now, self.surroundings.command_line.clone());
        RunLock::acquire(&self.waves, &holder).map_err(|error| match error {
            tm_store::Error::Held(holder) => Error::WavesLive { wanted: "start a run", holder },
            other => other.into(),
        })
    }
}

/// `storage.base_path` with `~` for the home folder, or `~/.taskmaster`.
fn usual_home(base_path: Option<&str>) -> Result<PathBuf, Error> {
    let home = || std::env::home_dir().ok_or(Error::NoHome);
    match base_path {
        None => Ok(home()?.join(".taskmaster")),
        Some("~") => home(),
        Some(path) => match path.strip_prefix("~/") {
            Some(rest) => Ok(home()?.join(rest)),
            None => Ok(PathBuf::from(path)),
        },
    }
}
