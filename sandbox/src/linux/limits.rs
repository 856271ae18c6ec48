//! What a process may use up, by the limits that its children inherit.

use crate::Limits;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::OpenOptions;
use std::io::{self, Write as _};

/// The release of Linux from which on a namespace of processes has a number of its own; before, this one is the
/// machine's.
const OWN_NUMBERS_SINCE: (u32, u32) = (6, 14);
/// How many processes and threads there can be, in this process's namespace.
const NUMBERS: &str = "/proc/sys/kernel/pid_max";
/// Linux gives these once and never again.
const NOT_GIVEN_AGAIN: u64 = 300;

/// Bounds how many processes there are in this process's own namespace, where that can be had: unlike the limit for each
/// user, this one holds for the superuser and counts nobody else's.
pub(super) fn bound_namespace(limits: Limits) {
    let Some(most) = limits.processes else { return };
    if release().is_some_and(|release| release >= OWN_NUMBERS_SINCE) {
        // Without it the limit for each user is left.
        let file = OpenOptions::new().write(true).open(NUMBERS);
        let most = most.saturating_add(NOT_GIVEN_AGAIN).to_string();
        let _not_writable = file.and_then(|mut file| file.write_all(most.as_bytes()));
    }
}

fn release() -> Option<(u32, u32)> {
    let uname = rustix::system::uname();
    let mut parts = uname
        .release()
        .to_str()
        .ok()?
        .split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Sets the limits; none is raised.
pub(super) fn set(limits: Limits) -> io::Result<()> {
    let wanted = [
        (Resource::Data, limits.memory),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_size),
        // What crashes leaves no image of its memory.
        (Resource::Core, Some(0)),
    ];
    for (resource, most) in wanted {
        let Some(most) = most else { continue };
        let now = getrlimit(resource);
        let most = now.maximum.map_or(most, |now| now.min(most));
        setrlimit(
            resource,
            Rlimit {
                current: Some(now.current.map_or(most, |now| now.min(most))),
                maximum: Some(most),
            },
        )?;
    }
    Ok(())
}

/// Stamps this process and all that come from it by a limit that the kernel knows and goes by for nothing.
pub(super) fn stamp(number: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(number),
        maximum: Some(number),
    };
    match setrlimit(Resource::Locks, limit) {
        // Whoever started tm has lowered it, or holds tm itself and knows its processes by it.
        Err(Errno::PERM) => Ok(()),
        set => Ok(set?),
    }
}
