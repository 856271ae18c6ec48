//! What Linux tells about processes, read from `/proc`.

use super::ProcessIdentity;
use super::table::{Process, ProcessState, ProcessTable};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{DirEntryExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Reads the whole table.
///
/// Processes that end meanwhile are left out; one that is started meanwhile may be missing.
pub(super) fn processes() -> ProcessTable {
    pids().filter_map(process).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    numbered().map(|(pid, _)| pid)
}

/// Returns the numbers of all processes, each with that of its folder, which no other process has as long as this one is.
fn numbered() -> impl Iterator<Item = (u32, u64)> {
    tm_untrusted::entries(Path::new("/proc"))
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.ino())))
}

/// Looks at all processes, one after the other, each of which reads what is new alone.
///
/// Good for learning who started whom, and for that alone: a process that was read twice is taken to be as it was then,
/// with the parent, the group and the session that it had. Orphans that have come to this process are read anew; children
/// that somebody waits for are none, although they are listed with them once the thread that started them is gone.
#[derive(Debug, Default)]
pub(super) struct LooksAtAll {
    seen: BTreeMap<u32, SeenProcess>,
    looks: u32,
}

/// A process as it was read.
#[derive(Clone, Copy, Debug)]
struct SeenProcess {
    folder: u64,
    process: Process,
    /// A process that has just been started becomes what it is meant to be in a moment: read once, it is read again.
    reads: u32,
}

/// The pause before an environment is read again.
const BETWEEN_READS: Duration = Duration::from_millis(1);
/// Bytes that the environment of most processes has room in.
const FIRST_ROOM: usize = 16 * 1024;
/// A program is given no more than this where nobody has raised the limit of the stack, a quarter of which that is. A process
/// can say itself where its environment lies, and so that it is as large as its memory.
const LONGEST_ENVIRONMENT: usize = 2 * 1024 * 1024;
/// A name of 64 bytes at most and 52 numbers of 20 digits are no longer (proc(5)).
const LONGEST_STAT: usize = 2 * 1024;
/// So much of a command line says what runs.
const LONGEST_LINE: usize = 16 * 1024;
const MOST_WORDS: usize = 500;
/// So often a process is read before it is believed to stay as it is.
const READS: u32 = 2;
/// After so many looks everything is read anew, whatever the system's numbers of folders are worth.
const LOOKS_UNTIL_ALL: u32 = 60;

impl LooksAtAll {
    pub(super) const fn new() -> Self {
        Self {
            seen: BTreeMap::new(),
            looks: 0,
        }
    }

    /// Returns all processes as they are now, as far as that can have changed.
    pub(super) fn look(&mut self, waited_for: &BTreeSet<u32>) -> ProcessTable {
        self.looks += 1;
        let adopted: BTreeSet<u32> = match adopted_children() {
            Some(adopted) if !self.looks.is_multiple_of(LOOKS_UNTIL_ALL) => {
                let is_orphan = |pid: &u32| !waited_for.contains(pid);
                adopted.into_iter().filter(is_orphan).collect()
            }
            Some(_) | None => {
                self.seen.clear();
                BTreeSet::new()
            }
        };
        let again = |(pid, folder): (u32, u64)| {
            let before = self.seen.get(&pid).filter(|seen| seen.folder == folder);
            let reads = before.map_or(0, |seen| seen.reads);
            match before {
                Some(seen) if reads >= READS && !adopted.contains(&pid) => Some((pid, *seen)),
                Some(_) | None => Some((
                    pid,
                    SeenProcess {
                        folder,
                        process: process(pid)?,
                        reads: reads + 1,
                    },
                )),
            }
        };
        self.seen = numbered().filter_map(again).collect();
        self.seen.values().map(|seen| seen.process).collect()
    }
}

/// Reads what is known about one process, `None` when there is none with this number.
pub(super) fn process(pid: u32) -> Option<Process> {
    let mut stat = [0; LONGEST_STAT];
    let mut file = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
    // Each call costs the kernel a look at all threads of the process.
    let length = file.read(&mut stat).ok()?;
    parse_stat(pid, &stat[..length])
}

/// Returns the first words of each process's command line.
pub(super) fn command_lines() -> impl Iterator<Item = (u32, Vec<String>)> {
    let command_line = |pid: u32| {
        let text = |word| String::from_utf8_lossy(word).into_owned();
        let words = read_up_to(&format!("/proc/{pid}/cmdline"), LONGEST_LINE)?;
        let words = words.split(|&byte| byte == 0).take(MOST_WORDS);
        Some((pid, words.map(text).collect()))
    };
    pids().filter_map(command_line)
}

/// Reads the beginning of a file in one call: of one that is read in several, the rest is missing when the process becomes
/// another program between two of them.
fn read_up_to(path: &str, most: usize) -> Option<Vec<u8>> {
    let file = fs::File::open(path).ok()?;
    let mut bytes = vec![0; FIRST_ROOM.min(most)];
    loop {
        let length = file.read_at(&mut bytes, 0).ok()?;
        if length < bytes.len() || length == most {
            bytes.truncate(length);
            return Some(bytes);
        }
        bytes.resize((bytes.len() * 4).min(most), 0);
    }
}

/// Returns where a process works; `None` for somebody else's process.
pub(super) fn working_folder(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns the most locks that a process may ever have, which is how it is stamped ([`super::stamp_of`]); `None` where
/// there is no limit. Anybody may know, whosever process it is.
pub(super) fn most_locks(pid: u32) -> Option<u64> {
    parse_most_locks(&fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
}

/// Parses `/proc/<pid>/limits`, each line of which has a limit as it is, and as high as it may become.
fn parse_most_locks(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let values = lines.find_map(|line| line.strip_prefix("Max file locks"))?;
    values.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Reads a process's environment as `NAME=value` entries that end with a zero byte; `None` for somebody else's process.
///
/// That of a process which is just becoming another program reads as empty: that is waited for until `until`.
pub(super) fn environment(pid: u32, until: Instant) -> Option<Vec<u8>> {
    let memory = || fs::read(format!("/proc/{pid}/stat")).map(|stat| memory(&stat));
    let environment = environment_now(pid)?;
    if !environment.is_empty() {
        return Some(environment);
    }
    loop {
        let before = memory().ok()?;
        let environment = environment_now(pid)?;
        // It has been the same program all the time, or none.
        let is_sure = before != Memory::Unfinished && memory().ok()? == before;
        if !environment.is_empty() || is_sure || Instant::now() >= until {
            return Some(environment);
        }
        std::thread::sleep(BETWEEN_READS);
    }
}

fn environment_now(pid: u32) -> Option<Vec<u8>> {
    read_up_to(&format!("/proc/{pid}/environ"), LONGEST_ENVIRONMENT)
}

/// What a process has in memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Memory {
    /// Nothing, as one that has ended.
    None,
    /// A program that is being loaded.
    Unfinished,
    /// A program, and where its parts lie, which is elsewhere for the next one.
    Program([u64; 3]),
}

/// Parses `/proc/<pid>/stat`. Where the code ends, where the stack begins and where the environment ends (`endcode`,
/// `startstack` and `env_end`, fields 27, 28 and 51) is all known only once the environment is there.
fn memory(stat: &[u8]) -> Memory {
    let behind_name = stat
        .iter()
        .rposition(|&byte| byte == b')')
        .map_or(0, |at| at + 1);
    let fields = String::from_utf8_lossy(stat.get(behind_name..).unwrap_or_default());
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // The state is the third field.
    let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse().ok());
    let [size, code, stack, environment] =
        [23, 27, 28, 51].map(|number| field(number).unwrap_or(0));
    match [code, stack, environment] {
        _ if size == 0 => Memory::None,
        parts if parts.contains(&0) => Memory::Unfinished,
        parts => Memory::Program(parts),
    }
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
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // The first thread of a program may end long before the others.
    let threads: u32 = fields.nth(13)?.parse().ok()?;
    let state = if has_ended && threads <= 1 {
        ProcessState::Ended
    } else {
        ProcessState::Running
    };
    Some(Process {
        identity: ProcessIdentity {
            pid,
            start_time: fields.nth(1)?.parse().ok()?,
        },
        parent,
        group,
        session,
        state,
        threads,
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
        assert_eq!(process.threads, 1);
    }

    #[test]
    fn of_what_a_process_says_of_itself_no_more_is_read_than_may_be() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let path = file.path().to_str().unwrap();
        let length = |most| read_up_to(path, most).unwrap().len();
        assert_eq!(
            [10, FIRST_ROOM, LONGEST_ENVIRONMENT].map(length),
            [10, FIRST_ROOM, LONGEST_ENVIRONMENT]
        );
        file.as_file().set_len(20_000).unwrap();
        assert_eq!(length(LONGEST_ENVIRONMENT), 20_000);
        assert_eq!(read_up_to("/nowhere/at/all", 10), None);
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
    fn process_whose_first_thread_ended_runs_as_long_as_another_does() {
        let stat = b"77 (sh) Z 5 6 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 2 0 4242 9 9";
        assert!(parse_stat(77, stat).unwrap().is_running());
    }

    #[test]
    fn most_locks_are_those_that_may_never_be_more() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max address space         unlimited            unlimited            bytes     \n\
                      Max file locks            12                   345                  locks     \n";
        assert_eq!(parse_most_locks(limits), Some(345));
        assert_eq!(parse_most_locks(&limits.replace("345", "unlimited")), None);
        assert_eq!(parse_most_locks(""), None);
    }

    #[test]
    fn a_process_is_read_twice_and_not_again_and_a_new_one_is_found() {
        let mut looks = LooksAtAll::new();
        let own = std::process::id();
        let reads = |looks: &LooksAtAll, pid: u32| looks.seen.get(&pid).map(|seen| seen.reads);
        for expected in [1, 2, 2, 2] {
            assert!(looks.look(&BTreeSet::new()).get(own).is_some());
            assert_eq!(reads(&looks, own), Some(expected));
        }
        #[expect(clippy::disallowed_methods, reason = "any process will do")]
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let table = looks.look(&BTreeSet::new());
        assert_eq!(table.get(child.id()), process(child.id()).as_ref());
        child.kill().and_then(|()| child.wait()).unwrap();
        assert!(looks.look(&BTreeSet::new()).get(child.id()).is_none());
    }

    #[test]
    fn a_child_whose_starter_is_gone_is_read_anew_unless_somebody_waits_for_it() {
        #[expect(clippy::disallowed_methods, reason = "any process will do")]
        let start = || {
            let mut command = std::process::Command::new("cat");
            command.stdin(std::process::Stdio::piped()).spawn()
        };
        let mut child = std::thread::spawn(start).join().unwrap().unwrap();
        let pid = child.id();
        // The thread may still be about to leave it to the first one.
        while !adopted_children().unwrap().contains(&pid) {
            std::thread::yield_now();
        }
        let reads_after = |looks: u32, waited_for: &BTreeSet<u32>| {
            let mut all = LooksAtAll::new();
            (0..looks).for_each(|_| drop(all.look(waited_for)));
            all.seen.get(&pid).map(|seen| seen.reads)
        };
        assert_eq!(reads_after(5, &BTreeSet::new()), Some(5));
        assert_eq!(reads_after(5, &BTreeSet::from([pid])), Some(READS));
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    fn who_becomes_one_program_after_another_has_its_environment_at_every_moment() {
        let script = r#"[ "$1" -gt 0 ] || exec cat; exec sh -c "$0" "$0" "$(($1 - 1))""#;
        #[expect(clippy::disallowed_methods, reason = "any process will do")]
        let mut child = std::process::Command::new("sh")
            .args(["-c", script, script, "300"])
            .env("TM_MARK_OF_THIS_TEST", "on")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_mins(1);
        let has_mark = |environment: &Vec<u8>| {
            let mut entries = environment.split(|&byte| byte == 0);
            entries.any(|entry| entry == b"TM_MARK_OF_THIS_TEST=on")
        };
        let is_last =
            || fs::read(format!("/proc/{}/comm", child.id())).is_ok_and(|name| name == b"cat\n");
        while !is_last() {
            let environment = environment(child.id(), until).unwrap();
            assert!(
                has_mark(&environment),
                "{}",
                String::from_utf8_lossy(&environment)
            );
        }
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    fn a_program_that_is_being_loaded_is_told_from_one_without_variables() {
        let stat = |size: &str, code: &str, stack: &str, environment: &str| {
            let mut fields = ["1"; 52 - 3];
            fields[23 - 3] = size;
            (fields[27 - 3], fields[28 - 3], fields[51 - 3]) = (code, stack, environment);
            memory(format!("77 (a) 0 0) {}", fields.join(" ")).as_bytes())
        };
        assert_eq!(stat("4096", "7", "8", "9"), Memory::Program([7, 8, 9]));
        assert_eq!(stat("4096", "0", "8", "9"), Memory::Unfinished);
        assert_eq!(stat("4096", "7", "8", "0"), Memory::Unfinished);
        assert_eq!(stat("0", "0", "0", "0"), Memory::None);
        assert_eq!(memory(b"77 (a) S 5"), Memory::None);
    }

    #[test]
    fn own_process_is_in_the_table_with_its_parent() {
        let own = *processes().get(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
    }
}
