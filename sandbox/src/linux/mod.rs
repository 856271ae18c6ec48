//! How Linux holds a program: bubblewrap's namespaces around it, rules of Landlock and a filter of system calls within.

mod bridge;
mod bwrap;
mod calls;
mod entry;
mod group;
mod landlock;
mod layers;
mod limits;
mod orders;
mod ports;
mod probe;
mod sockets;
mod variables;
mod view;

pub use bwrap::is_keeper;
pub use entry::enter;
pub use group::{Exceeded, Group, delegated};
pub use limits::processes_and_threads;
pub use ports::{of_servers as ports_of_servers, start};
pub use probe::find;
pub use variables::given_name;

use crate::{Access, ENTRY, Level, Sandbox};
use entry::{BEFORE_PROGRAM, Entry};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether bubblewrap has to lay all that a program sees, as far as this process has found out ([`find`]): what most systems
/// let a program do in namespaces of its own, a profile of bubblewrap's may forbid.
static LAID_BEFORE: AtomicBool = AtomicBool::new(false);

/// Says whether bubblewrap is to lay all that programs see from now on; returns whether it was to until now.
pub fn lay_before(all: bool) -> bool {
    LAID_BEFORE.swap(all, Ordering::Relaxed)
}

/// Returns the command line that starts a program held; `told` is the number of an open file, inherited by what is started,
/// to which a byte is written when the program begins: what holds it can fail before.
///
/// # Errors
/// A path of the view is no text, what holds at this level is not there any more, or is the program's to change.
pub fn line(
    sandbox: &Sandbox,
    command: Vec<OsString>,
    told: Option<RawFd>,
) -> io::Result<Vec<OsString>> {
    if sandbox.level == Level::None {
        return Ok(command);
    }
    let mut confinement = sandbox.confinement.clone();
    let (held, sockets, lays) = match sandbox.level {
        Level::Bwrap => {
            let sockets = sockets::visible(&confinement.view);
            confinement.view = bwrap::seen(&confinement, &sandbox.tm_program);
            let lays = !LAID_BEFORE.load(Ordering::Relaxed) && view::can_lay(&confinement.view);
            (bwrap::line(&confinement, lays)?, sockets, lays)
        }
        // Its rules except nothing in a folder that is written.
        Level::Landlock if confinement.view.of(&sandbox.tm_program) == Access::Write => {
            let words = format!(
                "`{}` could be replaced by what it holds",
                sandbox.tm_program.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
        Level::None | Level::Landlock | Level::Seatbelt => (Vec::new(), BTreeSet::new(), false),
    };
    let mut line = Vec::new();
    if let Some(group) = &sandbox.group {
        // Before anything else of it is started.
        line.push(sandbox.tm_program.clone().into());
        line.extend([ENTRY, group::JOIN].map(OsString::from));
        line.push(group.clone().into());
    }
    line.extend(held);
    line.push(sandbox.tm_program.clone().into());
    line.push(ENTRY.into());
    let entry = Entry {
        level: sandbox.level,
        confinement,
        told,
        has_ports_held: ports::are_held_for(sandbox),
        lays,
        stamp: sandbox.stamp,
    };
    line.push(entry.to_argument()?);
    line.extend(sockets.into_iter().map(PathBuf::into_os_string));
    line.push(BEFORE_PROGRAM.into());
    line.extend(command);
    Ok(line)
}
