//! What a process may use up, by the limits that its children inherit.

use crate::{Level, Limits};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

/// The release of Linux from which on a namespace of processes has a number of its own; before, this one is the
/// machine's.
const OWN_NUMBERS_SINCE: (u32, u32) = (6, 14);
/// How many processes and threads there can be, in this process's namespace.
const NUMBERS: &str = "/proc/sys/kernel/pid_max";
/// Linux gives these once and never again.
const NOT_GIVEN_AGAIN: u64 = 300;
/// How busy the system is.
const LOAD: &str = "/proc/loadavg";
/// A job can come to so many times what it may have before that is seen.
const ROOM_BY_BOUND: u64 = 4;
/// Nothing starts as many processes or threads in the tenth of a second after which somebody looks.
const LEAST_ROOM: u64 = 16_384;

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

/// Returns how many processes and threads there are in the whole system; `None` where it does not tell.
pub fn processes_and_threads() -> Option<u64> {
    parse_threads(&fs::read_to_string(LOAD).ok()?)
}

/// Parses `/proc/loadavg`, the fourth word of which is how many run, a slash, and how many there are.
fn parse_threads(load: &str) -> Option<u64> {
    let (_running, all) = load.split_ascii_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

/// Returns up to how many processes of its user a job may start more. The kernel counts all of the user's, whosever they
/// are, so where no namespace parts them that is no more than a ceiling for what grows faster than whoever counts the
/// job's own looks: its bound is not held by this, and everybody else's starts go on below it.
fn most_of_user(level: Level, processes: u64) -> Option<u64> {
    if level != Level::Landlock {
        return Some(processes);
    }
    Some(processes_and_threads()?.saturating_add(room(processes)))
}

/// What may come up between two looks, which a small bound makes no smaller.
const fn room(processes: u64) -> u64 {
    let room = processes.saturating_mul(ROOM_BY_BOUND);
    if room < LEAST_ROOM { LEAST_ROOM } else { room }
}

/// Sets the limits; none is raised.
pub(super) fn set(level: Level, limits: Limits) -> io::Result<()> {
    let most_of_user = |processes| most_of_user(level, processes);
    let wanted = [
        (Resource::Data, limits.memory),
        (Resource::Nproc, limits.processes.and_then(most_of_user)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_how_many_threads_there_are() {
        assert_eq!(parse_threads("0.00 0.01 0.05 2/70123 4242\n"), Some(70_123));
        assert_eq!(parse_threads(""), None);
        assert!(processes_and_threads() > Some(1));
    }

    #[test]
    fn where_others_are_counted_too_a_job_has_room_for_what_there_is_and_more() {
        assert_eq!(most_of_user(Level::Bwrap, 150), Some(150));
        assert!(most_of_user(Level::Landlock, 150) > Some(LEAST_ROOM));
        assert!(most_of_user(Level::Landlock, 8_192) > Some(4 * 8_192));
        assert_eq!(most_of_user(Level::Landlock, u64::MAX), Some(u64::MAX));
    }
}
