//! What systems without `/proc` tell about processes, read from `ps`.
//!
//! Slower and poorer than Linux: no environments of others, no adopted orphans, start times to the second.

use super::ProcessIdentity;
use super::table::{Process, ProcessState, ProcessTable};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Reads the whole table.
pub(super) fn processes() -> ProcessTable {
    list(&["-A"])
        .iter()
        .filter_map(|line| parse_line(line))
        .collect()
}

/// Looks at all processes, one after the other.
#[derive(Debug, Default)]
pub(super) struct LooksAtAll;

impl LooksAtAll {
    pub(super) const fn new() -> Self {
        Self
    }

    /// Returns all processes as they are now.
    #[expect(
        clippy::unused_self,
        reason = "elsewhere looks know what the last one saw"
    )]
    pub(super) fn look(&mut self, _: &BTreeSet<u32>) -> ProcessTable {
        processes()
    }
}

/// Reads what is known about one process, `None` when there is none with this number.
pub(super) fn process(pid: u32) -> Option<Process> {
    list(&["-p", &pid.to_string()])
        .iter()
        .find_map(|line| parse_line(line))
}

/// Returns nothing: environments of other processes can't be read here.
pub(super) fn environment(_pid: u32, _until: Instant) -> Option<Vec<u8>> {
    None
}

/// Returns nothing: no process is stamped here.
pub(super) fn most_locks(_pid: u32) -> Option<u64> {
    None
}

/// Returns nothing: orphans go to the first process here.
pub(super) fn adopted_children() -> Option<Vec<u32>> {
    None
}

/// Returns the words of each process's command line, as far as blanks tell them apart.
pub(super) fn command_lines() -> impl Iterator<Item = (u32, Vec<String>)> {
    let parse = |line: &String| {
        let mut words = line.split_ascii_whitespace();
        Some((
            words.next()?.parse().ok()?,
            words.map(str::to_owned).collect(),
        ))
    };
    let lines: Vec<_> = ask(&["-A"], "pid=,args=")
        .iter()
        .filter_map(parse)
        .collect();
    lines.into_iter()
}

/// `ps` does not tell where a process works.
pub(super) fn working_folder(_: u32) -> Option<PathBuf> {
    None
}

fn list(selection: &[&str]) -> Vec<String> {
    ask(selection, "pid=,ppid=,pgid=,state=,lstart=")
}

#[expect(
    clippy::disallowed_methods,
    reason = "`ps` is the only portable way to ask, and leaves nothing behind"
)]
fn ask(selection: &[&str], columns: &str) -> Vec<String> {
    let output = Command::new("ps")
        .args(selection)
        .args(["-o", columns])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Parses `pid ppid pgid state Mon Nov 21 01:37:00 2026`; the session is not told, so the group stands for it.
fn parse_line(line: &str) -> Option<Process> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [pid, parent, group, state, _weekday, month, day, time, year] = words[..] else {
        return None;
    };
    let month = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    .iter()
    .position(|name| *name == month)?
        + 1;
    let start_time = format!("{year}{month:02}{day:0>2}{}", time.replace(':', ""))
        .parse()
        .ok()?;
    let group = group.parse().ok()?;
    let state = if state.starts_with('Z') {
        ProcessState::Ended
    } else {
        ProcessState::Running
    };
    let identity = ProcessIdentity {
        pid: pid.parse().ok()?,
        start_time,
    };
    Some(Process {
        identity,
        parent: parent.parse().ok()?,
        group,
        session: group,
        state,
        // Nobody is bounded by them here.
        threads: 1,
    })
}
