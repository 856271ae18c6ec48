//! What is done in the program's own process before it begins: what can't be taken off again.

use super::{calls, landlock, layers, limits};
use crate::{Confinement, Level, Sandbox};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;

/// What the process is told on its command line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    level: Level,
    confinement: Confinement,
}

impl Entry {
    pub(super) fn new(sandbox: &Sandbox) -> Self {
        Self {
            level: sandbox.level,
            confinement: sandbox.confinement.clone(),
        }
    }

    pub(super) fn to_argument(&self) -> io::Result<OsString> {
        Ok(serde_json::to_string(self)?.into())
    }
}

/// Puts this process where an entry says and becomes the program; the arguments are the entry and the program's line.
///
/// The process must have one thread.
///
/// # Errors
/// It could not be held, or the program not be started; then it has not begun.
pub fn enter(arguments: &[OsString]) -> io::Result<Infallible> {
    let [entry, program, rest @ ..] = arguments else {
        return Err(io::Error::other("an entry and a program are needed"));
    };
    let entry = entry.to_str().unwrap_or_default();
    let Entry { level, confinement } = serde_json::from_str(entry)?;
    rustix::thread::set_no_new_privs(true)?;
    if level == Level::Bwrap {
        layers::lay(&confinement);
    }
    layers::give_up_capabilities()?;
    landlock::restrict(level, &confinement)?;
    limits::set(confinement.limits)?;
    calls::filter(level, &confinement)?;
    Err(become_program(program, rest))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the process becomes the program, and starts none"
)]
fn become_program(program: &OsStr, rest: &[OsString]) -> io::Error {
    std::process::Command::new(program).args(rest).exec()
}
