//! The project of a command: notices are printed for people, unless the command has them in another way.

use crate::failure::Result;
use crate::notices;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use tm_app::{Caller, Notice, Project};
use tm_config::Override;
use tm_scheduler::AtBreaker;
use tm_worktrees::Repository;

/// Opens the project of a folder.
pub(crate) fn open(start: &Path) -> Result<Project> {
    open_with(start, Vec::new())
}

/// Opens it with settings given by flags.
pub(crate) fn open_with(start: &Path, overrides: Vec<Override>) -> Result<Project> {
    open_telling(start, overrides, notices::print)
}

/// Opens it for who is told otherwise.
pub(crate) fn open_telling(
    start: &Path,
    overrides: Vec<Override>,
    tell: fn(&Notice<'_>),
) -> Result<Project> {
    // Nobody lets a paused run go on where no terminal is.
    let at_breaker = if std::io::stderr().is_terminal() {
        AtBreaker::Pause
    } else {
        AtBreaker::Stop
    };
    Ok(Project::open(
        start,
        overrides,
        Caller { tell, at_breaker },
    )?)
}

/// Returns a folder that was named when tm was started in another one.
pub(crate) fn named_folder(start: &Path, named: &Path) -> Result<PathBuf> {
    start
        .join(named)
        .canonicalize()
        .map_err(|error| failure!("work in `{}`: {error}", named.display()))
}

/// Returns the top of the checkout around a folder, or the folder where there is none.
pub(crate) fn root_around(folder: &Path) -> PathBuf {
    Repository::discover(folder).map_or_else(
        |_| folder.to_owned(),
        |found| found.checkout_root().to_owned(),
    )
}
