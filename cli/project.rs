//! The project that a command works on: its repository, its settings, its folder of runs.

use crate::commands::backlog::failure;
use crate::failure::CommandFailure;
use std::path::{Path, PathBuf};
use tm_config::{Inputs, Loaded, Override, Source, StorageLocation};
use tm_runtime::{Replayed, home, replay};
use tm_scheduler::{RunId, Tag};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{Home, ProjectDirectory, RunDirectory};
use tm_worktrees::Repository;

/// A project.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) repository: Repository,
    pub(crate) loaded: Loaded,
    pub(crate) directory: ProjectDirectory,
}

impl Project {
    /// Opens the project of a folder, with settings given by flags.
    pub(crate) fn open(start: &Path, overrides: Vec<Override>) -> Result<Self, CommandFailure> {
        let repository = Repository::discover(start).map_err(|error| match error {
            tm_worktrees::Error::NoRepository { .. } => {
                CommandFailure::from(error).hint("run `git init`, commit something, then `tm init`")
            }
            tm_worktrees::Error::NoCommits { .. } => CommandFailure::from(error).hint("make a first commit"),
            other => CommandFailure::from(other),
        })?;
        let inputs = Inputs { overrides, ..Inputs::from_process(repository.checkout_root()) };
        let loaded = tm_config::load(&inputs)
            .map_err(|error| CommandFailure::from(error).hint("`tm config schema` lists every setting"))?;
        let repository = repository.with_content(tm_runtime::content_rules(&loaded.settings.worktree));
        let directory = home_of(&loaded, &repository)?.project(repository.common_dir())?;
        directory.create()?;
        if loaded.settings.storage.location == StorageLocation::Project {
            directory.ignore_itself()?;
        }
        Ok(Self { repository, loaded, directory })
    }

    /// Returns the project for finding out alone: what git makes for it is never signed, so nobody is asked for a key.
    pub(crate) fn for_looking(&self) -> Self {
        Self { repository: self.repository.unsigned(), ..self.clone() }
    }

    /// Returns the model that was asked for on the command line.
    pub(crate) fn asked_for_model(&self) -> Option<&str> {
        self.loaded.settings.agent.model.as_deref().filter(|_| self.is_from_flag("agent.model"))
    }

    /// Tells whether a setting was given on the command line.
    pub(crate) fn is_from_flag(&self, key: &str) -> bool {
        let explained = self.loaded.explained.iter().find(|setting| setting.key == key);
        matches!(explained.map(|setting| &setting.source), Some(Source::Flag(_)))
    }

    /// Reads the backlog that is named or found.
    pub(crate) fn backlog(
        &self,
        path: Option<&Path>,
        tag: Option<&str>,
        group: Option<&str>,
    ) -> Result<(BacklogSource, Backlog), CommandFailure> {
        let source = match path {
            Some(path) => BacklogSource::at(path).map_err(failure)?,
            None => BacklogSource::find(self.repository.checkout_root())
                .map_err(|error| CommandFailure::from(error).hint("`tm init` makes one, `--backlog PATH` names one"))?,
        };
        let options = ReadOptions {
            tag: tag.map(Tag::from),
            environment_tag: std::env::var("TASKMASTER_TAG").ok().filter(|tag| !tag.is_empty()).map(Tag::from),
            group: group.map(ToOwned::to_owned),
        };
        let backlog = source.read(&options).map_err(failure)?;
        Ok((source, backlog))
    }

    /// Returns the run that is named, or the live or last one.
    pub(crate) fn run(&self, name: Option<&str>) -> Result<(RunId, RunDirectory), CommandFailure> {
        let id = match name {
            Some(name) => RunId::from(name),
            None => match self.directory.live()? {
                Some(live) => live,
                None => self.directory.runs()?.pop().ok_or_else(|| {
                    CommandFailure::new("find a run: there has been none").hint("`tm waves run` starts one")
                })?,
            },
        };
        let directory = self.directory.run(&id)?;
        if !directory.path().is_dir() {
            let failure = CommandFailure::new(format!("find the run `{id}`"));
            return Err(failure.hint("`tm waves list` lists the runs"));
        }
        Ok((id, directory))
    }

    /// Returns a run as its journal tells it.
    pub(crate) fn replayed(&self, name: Option<&str>) -> Result<(RunDirectory, Replayed), CommandFailure> {
        let (_, directory) = self.run(name)?;
        let replayed = replay(&directory.journal()).map_err(|error| {
            let hint =
                format!("`tm waves list` lists other runs; what this one did is in `{}`", directory.log().display());
            CommandFailure::from(error).hint(hint)
        })?;
        Ok((directory, replayed))
    }
}

/// Where runs are kept: the settings, `TM_HOME` and the home folder decide.
fn home_of(loaded: &Loaded, repository: &Repository) -> Result<Home, CommandFailure> {
    let tm_home = std::env::var_os("TM_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let user_home = std::env::home_dir();
    home(&loaded.settings.storage, repository, tm_home.as_deref(), user_home.as_deref())
        .ok_or_else(|| CommandFailure::new("find your home folder").hint("set TM_HOME"))
}
