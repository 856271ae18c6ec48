//! How Linux holds a program: bubblewrap's namespaces around it, rules of Landlock and a filter of system calls within.

mod bridge;
mod bwrap;
mod calls;
mod entry;
mod landlock;
mod layers;
mod limits;
mod probe;
mod sockets;

pub use bwrap::is_keeper;
pub use entry::enter;
pub use landlock::hold_ports;
pub use probe::find;

use crate::{ENTRY, Level, Sandbox};
use entry::Entry;
use sockets::Sockets;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Returns the command line that starts a program held.
///
/// # Errors
/// A path of the view is no text, or what holds at this level is not there any more.
pub fn line(sandbox: &Sandbox, command: Vec<OsString>) -> std::io::Result<Vec<OsString>> {
    if sandbox.level == Level::None {
        return Ok(command);
    }
    let (mut line, young) = if sandbox.level == Level::Bwrap {
        let Sockets { settled, young } = Sockets::visible(&sandbox.confinement.view);
        let line = bwrap::line(&sandbox.confinement, &sandbox.tm_program, &settled)?;
        (line, young)
    } else {
        (Vec::new(), BTreeSet::new())
    };
    line.push(sandbox.tm_program.clone().into());
    line.push(ENTRY.into());
    line.push(Entry::new(sandbox, young).to_argument()?);
    line.extend(command);
    Ok(line)
}
