//! How macOS holds a program: by a profile for `sandbox-exec`. Not tried on a machine of its kind yet.

use crate::view::Access;
use crate::{Confinement, Found, Level, Limits, Network, Refused, Sandbox, Wanted};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::RawFd;
use std::path::Path;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Returns the command line that starts a program held.
///
/// # Errors
/// A path of the view is no text, or what holds at this level is not there any more.
pub fn line(
    sandbox: &Sandbox,
    command: Vec<OsString>,
    _told: Option<RawFd>,
) -> io::Result<Vec<OsString>> {
    if sandbox.level == Level::None {
        return Ok(command);
    }
    let mut line: Vec<OsString> = vec![PROGRAM.into(), "-p".into()];
    line.push(profile(&sandbox.confinement)?.into());
    line.extend(command);
    Ok(line)
}

/// The profile is the program's own: nothing stands around it.
pub const fn is_keeper(_pid: u32) -> bool {
    false
}

/// The system keeps variables of its loader from `sandbox-exec`; nobody would give them their own names again.
pub fn given_name(name: &OsStr) -> OsString {
    name.to_owned()
}

/// There is nothing to do in the program's own process here.
///
/// # Errors
/// Always.
pub fn enter(_arguments: &[OsString]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the ports that the system gives out (`net.inet.ip.portrange`).
pub const fn ports_of_servers() -> RangeInclusive<u16> {
    49_152..=65_535
}

/// Does what starts a program that is to be held; a profile has a rule for ports.
///
/// # Errors
/// None here.
pub fn start<Started: Send + 'static>(
    _sandbox: &Sandbox,
    work: impl FnOnce() -> Started + Send + 'static,
) -> io::Result<Started> {
    Ok(work())
}

/// Looks whether the profile can be had.
pub fn find(wanted: Wanted, _confinement: &Confinement, _tm_program: &Path) -> Found {
    let level = match wanted {
        Wanted::Exactly(Level::None) => Some(Level::None),
        Wanted::Auto | Wanted::Required | Wanted::Exactly(Level::Seatbelt)
            if Path::new(PROGRAM).exists() =>
        {
            Some(Level::Seatbelt)
        }
        Wanted::Auto => Some(Level::None),
        Wanted::Required | Wanted::Exactly(_) => None,
    };
    let is_refused = level != Some(Level::Seatbelt) && wanted != Wanted::Exactly(Level::None);
    let refused = Refused {
        level: Level::Seatbelt,
        why: format!("`{PROGRAM}` is not there, or another level is asked for"),
        remedy: "`sandbox: auto` takes what this system has",
    };
    Found {
        level,
        refused: is_refused.then_some(refused).into_iter().collect(),
    }
}

/// The profile: later rules win, as those of paths further below do.
fn profile(confinement: &Confinement) -> io::Result<String> {
    let mut text = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    text += "(allow file-write* (subpath \"/dev\"))\n";
    for (path, access) in confinement.view.rules() {
        let path = path.to_str().filter(|path| !path.contains(['"', '\\']));
        let path =
            path.ok_or_else(|| io::Error::other("a path can't be written into a profile"))?;
        let rules: &[&str] = match access {
            Access::Hidden => &["deny file-read-data", "deny file-write*"],
            Access::Read | Access::Layered => &["allow file-read*", "deny file-write*"],
            Access::Write => &["allow file-read*", "allow file-write*"],
        };
        for rule in rules {
            let _text_is_endless = writeln!(text, "({rule} (subpath \"{path}\"))");
        }
    }
    text += match confinement.network {
        Network::On => "",
        Network::Off | Network::Proxy { .. } => {
            "(deny network*)\n(allow network* (local ip \"localhost:*\"))\n\
             (allow network-outbound (remote ip \"localhost:*\"))\n"
        }
    };
    Ok(text)
}

/// There are no control groups.
#[derive(Debug)]
pub enum Group {}

/// What a job wanted more of than it may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exceeded {
    /// Memory: the kernel has ended a process of it.
    Memory,
    /// Processes: one could not be started.
    Processes,
}

impl Group {
    /// There is none.
    pub const fn new(_limits: Limits) -> Option<Self> {
        None
    }

    /// There is none.
    pub const fn of(_pid: u32) -> Option<Self> {
        None
    }

    /// Returns its folder.
    pub const fn folder(&self) -> &Path {
        match *self {}
    }

    /// Ends whatever is left in it.
    pub const fn kill(&self) {
        match *self {}
    }

    /// Returns what its processes wanted more of.
    pub const fn exceeded(&self) -> Vec<Exceeded> {
        match *self {}
    }
}

/// Nobody tells.
pub const fn processes_and_threads() -> Option<u64> {
    None
}

/// There are no control groups.
pub const fn delegated() -> Option<&'static Path> {
    None
}
