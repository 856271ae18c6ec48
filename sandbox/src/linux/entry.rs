//! What is done in the program's own process before it begins: what can't be taken off again.

use super::bridge::{self, Bridge};
use super::bwrap::is_keeper;
use super::layers::Mounts;
use super::{calls, group, landlock, layers, limits, sockets, variables, view};
use crate::{Confinement, Level, Network};
use serde::{Deserialize, Serialize};
use std::env::current_dir;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The first process of a namespace, which bubblewrap keeps for itself.
const FIRST: u32 = 1;

/// The last of those that every program has: where its errors go.
const LAST_OF_ALL: RawFd = 2;

/// Stands before the program: what is between the entry and this are sockets that the program is not to see, whatever
/// their names are and however many there are.
pub(super) const BEFORE_PROGRAM: &str = "--";

/// What the process is told on its command line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) level: Level,
    pub(super) confinement: Confinement,
    /// The number of an open file that is told when the program begins.
    pub(super) told: Option<RawFd>,
    /// Whether its ports are held by whoever starts it.
    pub(super) has_ports_held: bool,
    /// Whether it lays most of the view itself.
    pub(super) lays: bool,
    /// The number by which its processes are known.
    pub(super) stamp: Option<u64>,
}

impl Entry {
    pub(super) fn to_argument(&self) -> io::Result<OsString> {
        Ok(serde_json::to_string(self)?.into())
    }

    fn read(argument: &OsStr) -> io::Result<Self> {
        Ok(serde_json::from_str(argument.to_str().unwrap_or_default())?)
    }

    /// Opens what is told when the program begins, so that the program has it not.
    fn told(&self) -> io::Result<Option<File>> {
        let open = |number| {
            OpenOptions::new()
                .write(true)
                .open(format!("/proc/self/fd/{number}"))
        };
        self.told.map(open).transpose()
    }

    /// Puts this process where it belongs, for good.
    fn hold(&self) -> io::Result<()> {
        layers::give_up_capabilities()?;
        landlock::restrict(self.level, &self.confinement, self.has_ports_held)?;
        limits::set(self.level, self.confinement.limits)?;
        if let Some(stamp) = self.stamp {
            limits::stamp(stamp)?;
        }
        calls::filter(self.level, &self.confinement)
    }

    /// Serves as the bridge of a program.
    fn bridge(&self, program: &OsStr) -> io::Result<()> {
        let Network::Proxy {
            folder,
            port,
            servers,
        } = &self.confinement.network
        else {
            return Ok(());
        };
        // Before what lets it listen is given up.
        let bridge = Bridge::listen(program, *port, servers)?;
        self.hold()?;
        bridge.serve(folder)
    }
}

/// Puts this process where an entry says and becomes the program; the arguments are the entry and the program's line, or
/// those of a process that such a program needs beside it. Comes back when that is done.
///
/// The process must have one thread.
///
/// # Errors
/// It could not be held, or the program not be started; then it has not begun.
pub fn enter(arguments: &[OsString]) -> io::Result<()> {
    match arguments {
        [word, entry, program] if word == bridge::SERVE => Entry::read(entry)?.bridge(program),
        [word, folder, program, rest @ ..] if word == group::JOIN => {
            group::join(folder)?;
            Err(program_of(program, rest).exec())
        }
        [entry, rest @ ..] => become_held(entry, rest),
        [] => Err(io::Error::other("an entry is needed")),
    }
}

fn become_held(argument: &OsStr, rest: &[OsString]) -> io::Result<()> {
    let entry = Entry::read(argument)?;
    let mut parts = rest.splitn(2, |word| word == BEFORE_PROGRAM);
    let (Some(sockets), Some([program, rest @ ..])) = (parts.next(), parts.next()) else {
        return Err(io::Error::other("a program is needed"));
    };
    let told = entry.told()?;
    close_inherited(told.as_ref())?;
    rustix::thread::set_no_new_privs(true)?;
    if entry.level == Level::Bwrap {
        // What is mounted here would be mounted for the whole machine.
        if !is_keeper(FIRST) {
            return Err(io::Error::other("this is no namespace of bubblewrap's"));
        }
        let mut mounts = Mounts::default();
        if entry.lays {
            view::lay(&entry.confinement, &mut mounts)?;
        }
        // It stands where this process does, and that is covered before.
        if matches!(entry.confinement.network, Network::Proxy { .. }) {
            bridge::start(argument)?;
        }
        layers::lay(&entry.confinement, &mut mounts)?;
        sockets::cover(sockets, &entry.confinement, &mut mounts)?;
        limits::bound_namespace(entry.confinement.limits);
        layers::keep_kernel()?;
    }
    entry.hold()?;
    if let Some(mut told) = told {
        // Who started it may be gone, and the program begins all the same.
        let _nobody_listens = told.write_all(b"\n");
    }
    let mut program = program_of(program, rest);
    variables::give(&mut program);
    if entry.lays {
        // Bubblewrap has said where it went itself.
        program.env("PWD", current_dir()?);
    }
    Err(program.exec())
}

/// Closes what whoever started tm left open for its programs: a file or a socket that is open is there wherever it lies.
fn close_inherited(but: Option<&File>) -> io::Result<()> {
    let kept = but.map(AsRawFd::as_raw_fd);
    let open: Vec<RawFd> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > LAST_OF_ALL && Some(*number) != kept)
        .collect();
    for number in open {
        // The one by which they were listed is closed already.
        let _not_open = nix::unistd::close(number);
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the process becomes the program, and starts none"
)]
fn program_of(program: &OsStr, rest: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(rest);
    command
}
