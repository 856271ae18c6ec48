//! The project of a command: notices are printed for people, unless the command has them in another way.

use crate::failure::CommandFailure;
use crate::notices;
use std::io::IsTerminal as _;
use std::path::Path;
use tm_app::{Caller, Notice, Project};
use tm_config::Override;
use tm_scheduler::AtBreaker;

/// Opens the project of a folder, with settings given by flags.
pub(crate) fn open(start: &Path, overrides: Vec<Override>) -> Result<Project, CommandFailure> {
    open_telling(start, overrides, notices::print)
}

/// Opens it for who is told otherwise.
pub(crate) fn open_telling(
    start: &Path,
    overrides: Vec<Override>,
    tell: fn(&Notice<'_>),
) -> Result<Project, CommandFailure> {
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
