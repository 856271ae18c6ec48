//! What Linux tells about processes, read from `/proc`.

use super::ProcessIdentity;
use super::table::{Process, ProcessState, ProcessTable};
use std::fs;
use std::path::{Path, PathBuf};

/// Reads the whole table.
///
/// Processes that end meanwhile are left out; one that is started meanwhile may be missing.
pub(super) fn processes() -> ProcessTable {
    pids().filter_map(process).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    tm_untrusted::entries(Path::new("/proc"))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Reads what is known about one process, `None` when there is none with this number.
pub(super) fn process(pid: u32) -> Option<Process> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns the words of each process's command line.
pub(super) fn command_lines() -> Vec<(u32, Vec<String>)> {
    let command_line = |pid: u32| {
        let text = |word| String::from_utf8_lossy(word).into_owned();
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some((pid, words.split(|&byte| byte == 0).map(text).collect()))
    };
    pids().filter_map(command_line).collect()
}

/// Returns where a process works; `None` for somebody else's process.
pub(super) fn working_folder(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Reads a process's environment as `NAME=value` entries that end with a zero byte; `None` for somebody else's process.
pub(super) fn environment(pid: u32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

/// Returns the children of this process's first thread, among which all adopted orphans are.
///
/// `None` on kernels built without that file. Children that other threads started may be missing.
pub(super) fn adopted_children() -> Option<Vec<u32>> {
    let pid = std::process::id();
    Some(
        fs::read_to_string(format!("/proc/self/task/{pid}/children"))
            .ok()?
            .split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect(),
    )
}

/// Parses `/proc/<pid>/stat`; the name in parentheses may hold anything, so everything counts from its end.
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = str::from_utf8(stat.get(name_end + 1..)?)
        .ok()?
        .split_ascii_whitespace();
    let state = match fields.next()? {
        "Z" | "X" | "x" => ProcessState::Ended,
        _ => ProcessState::Running,
    };
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    Some(Process {
        identity: ProcessIdentity {
            pid,
            start_time: fields.nth(15)?.parse().ok()?,
        },
        parent,
        group,
        session,
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_with_a_hostile_name_is_read_from_behind_it() {
        let stat = b"77 (a) Z 1 2 (3)) S 5 6 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        let process = parse_stat(77, stat).unwrap();
        assert_eq!((process.parent, process.group, process.session), (5, 6, 7));
        assert_eq!(
            process.identity,
            ProcessIdentity {
                pid: 77,
                start_time: 4242
            }
        );
        assert!(process.is_running());
    }

    #[test]
    fn cut_stat_is_nobody() {
        assert_eq!(parse_stat(77, b"77 (sh) S 5 6"), None);
        assert_eq!(parse_stat(77, b""), None);
    }

    #[test]
    fn ended_process_that_nobody_reaped_does_not_run() {
        let stat = b"77 (sh) Z 5 6 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        assert!(!parse_stat(77, stat).unwrap().is_running());
    }

    #[test]
    fn own_process_is_in_the_table_with_its_parent() {
        let own = *processes().get(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
    }
}
