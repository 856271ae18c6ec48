//! The project of a command: notices are printed for people, unless the command has them in another way.

use crate::failure::Result;
use crate::notices;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use tm_app::{Caller, Notice, Project};
use tm_config::Override;
use tm_runtime::{repository_of_project, shared_folder};
use tm_scheduler::AtBreaker;

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
    Ok(Project::open(start, overrides, caller(tell))?)
}

/// Opens the one by whose settings what lies in another folder is judged.
pub(crate) fn open_to_judge(
    start: &Path,
    judged: &Path,
    overrides: Vec<Override>,
) -> Result<Project> {
    open_with(judging_from(start, judged), overrides)
}

/// Who calls, for who is told this way.
pub(crate) fn caller(tell: fn(&Notice<'_>)) -> Caller {
    // Nobody lets a paused run go on where no terminal is.
    let at_breaker = if std::io::stderr().is_terminal() {
        AtBreaker::Pause
    } else {
        AtBreaker::Stop
    };
    Caller { tell, at_breaker }
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
    repository_of_project(folder).map_or_else(
        |_| folder.to_owned(),
        |found| found.checkout_root().to_owned(),
    )
}

/// Where the project is that judges what lies in a folder: around `start`, where both are checkouts of one repository, since
/// nobody says by what he is judged himself; else the folder is a project of its own.
fn judging_from<'a>(start: &'a Path, judged: &'a Path) -> &'a Path {
    let shared = shared_folder(start);
    if shared.is_some() && shared == shared_folder(judged) {
        start
    } else {
        judged
    }
}
