//! Control groups (version 2 of Linux's): what the processes of a job may use up together, where a group is delegated to
//! whoever runs tm, as `systemd-run --user --scope -p Delegate=yes` does.
//!
//! Rules of the kernel (`admin-guide/cgroup-v2`): who may write in a group's folder may make groups below it; limits count
//! once the group above passes their controllers on; one that does so holds no processes itself, unless it is the topmost.
//! So tm goes into a group of its own beside those of its jobs.

use crate::Limits;
use rustix::fs::getxattr;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, process};

/// The word with which tm calls itself to join a group before it becomes what starts a held program.
pub(super) const JOIN: &str = "join-group";

/// What the names of groups begin with that tm's processes are in, and those of its jobs; the number of the tm follows.
const OF_TM: &str = "tm-itself-";
const OF_JOB: &str = "tm-job-";

/// What limits memory and processes.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
const PROCESSES: &str = "cgroup.procs";
const PASSED_ON: &str = "cgroup.subtree_control";

/// By which managers of systems mark a group that they delegate (systemd's `CGROUP_DELEGATION`).
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// What was killed is gone from a group within so many looks, or the kernel holds it.
const DROP_ROUNDS: u32 = 20;
/// The pause between two of them.
const DROP_PAUSE: Duration = Duration::from_millis(1);

/// The group of one job. Dropping it removes it, once nothing is in it.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
}

/// What a job wanted more of than it may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exceeded {
    /// Memory: the kernel has ended a process of it.
    Memory,
    /// Processes: one could not be started.
    Processes,
}

impl Group {
    /// Makes a group with these limits; `None` where none is delegated, or there is nothing to limit.
    pub fn new(limits: Limits) -> Option<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        if limits.memory.is_none() && limits.processes.is_none() {
            return None;
        }
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = delegated()?.join(format!("{OF_JOB}{}-{number}", process::id()));
        fs::create_dir(&folder).ok()?;
        let group = Self { folder };
        group.limit(limits).is_ok().then_some(group)
    }

    /// Returns the group that a process is in, where it is one of a job.
    pub fn of(pid: u32) -> Option<Self> {
        let folder = folder_of(&pid.to_string())?;
        let is_of_job = name(&folder).is_some_and(|name| name.starts_with(OF_JOB));
        is_of_job.then_some(Self { folder })
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn limit(&self, limits: Limits) -> io::Result<()> {
        let write = |file: &str, value: u64| say(&self.folder.join(file), &value.to_string());
        if let Some(most) = limits.processes {
            write("pids.max", most)?;
        }
        if let Some(most) = limits.memory {
            write("memory.max", most)?;
            // What would go there instead is as much in the way of others. A machine may have none.
            let _no_swap = write("memory.swap.max", 0);
        }
        Ok(())
    }

    /// Ends whatever is left in it.
    pub fn kill(&self) {
        // Kernels before 5.14 have no such file; what is left is found by its marks.
        let _too_old = say(&self.folder.join("cgroup.kill"), "1");
    }

    /// Returns what its processes wanted more of.
    pub fn exceeded(&self) -> Vec<Exceeded> {
        let counts = |file: &str, event: &str| {
            let events = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
            let mut counts = events.lines().filter_map(|line| line.split_once(' '));
            counts.any(|(name, count)| name == event && count != "0")
        };
        let memory = counts("memory.events", "oom_kill").then_some(Exceeded::Memory);
        let processes = counts("pids.events", "max").then_some(Exceeded::Processes);
        memory.into_iter().chain(processes).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..DROP_ROUNDS {
            // Where something stays in it, it goes with the group above, or when tm is started again.
            let removed = fs::remove_dir(&self.folder);
            if !removed.is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
                break;
            }
            std::thread::sleep(DROP_PAUSE);
        }
    }
}

/// Returns the group below which those of jobs are made; looks, and goes out of its way, on the first call.
pub fn delegated() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(prepared).as_deref()
}

fn prepared() -> Option<PathBuf> {
    let own = folder_of("self")?;
    let is_made_by_tm = name(&own).is_some_and(|name| name.starts_with(OF_TM));
    let base = if is_made_by_tm {
        own.parent()?.to_owned()
    } else {
        own
    };
    if !has_controllers(&base.join("cgroup.controllers")) || !is_delegated(&base) {
        return None;
    }
    if !has_controllers(&base.join(PASSED_ON)) {
        step_aside(&base).ok()?;
    }
    sweep(&base);
    Some(base)
}

/// Puts tm, and whoever else is in a group with it, into one below, and has the group pass its controllers on.
fn step_aside(base: &Path) -> io::Result<()> {
    let there = fs::read_to_string(base.join(PROCESSES))?;
    let there: BTreeSet<&str> = there.lines().collect();
    // Where nobody says that it is there for that, nobody else is moved.
    let kin = kin(process::id());
    if !is_marked(base) && !there.iter().all(|pid| kin.contains(*pid)) {
        return Err(io::Error::other("somebody else is in the group"));
    }
    let own = base.join(format!("{OF_TM}{}", process::id()));
    fs::create_dir(&own)?;
    let moved = |to: &Path| {
        there
            .iter()
            // One that is gone by now needs no place.
            .try_for_each(|pid| match say(&to.join(PROCESSES), pid) {
                Err(error) if error.raw_os_error() != Some(nix::libc::ESRCH) => Err(error),
                _ => Ok(()),
            })
    };
    let all = CONTROLLERS
        .map(|controller| format!("+{controller}"))
        .join(" ");
    let stepped = moved(&own).and_then(|()| say(&base.join(PASSED_ON), &all));
    if stepped.is_err() {
        let _as_before = moved(base);
        let _as_before = fs::remove_dir(&own);
    }
    stepped
}

/// A process, those from which it descends, and those that descend from it, by their numbers.
fn kin(pid: u32) -> BTreeSet<String> {
    let parent_of = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        Some(parent.trim().to_owned())
    };
    let above = |pid: String| std::iter::successors(Some(pid), |pid| parent_of(pid));
    let own = pid.to_string();
    let mut kin: BTreeSet<String> = above(own.clone()).collect();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|entry| entry.file_name().into_string().ok());
    for pid in all.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        if above(pid.clone()).any(|above| above == own) {
            kin.insert(pid);
        }
    }
    kin
}

/// Removes groups of jobs whose tm is gone; one that is in use stays.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let of_tm = name.strip_prefix(OF_JOB).or(name.strip_prefix(OF_TM));
        let Some(pid) = of_tm.and_then(|rest| rest.split('-').next()) else {
            continue;
        };
        if !Path::new("/proc").join(pid).exists() {
            let _in_use = fs::remove_dir(entry.path());
        }
    }
}

/// Whether a group was handed to whoever runs tm: it is its user's, and of root's one that is marked as such, or the
/// topmost one of a container.
fn is_delegated(base: &Path) -> bool {
    let user = rustix::process::geteuid();
    let is_of_user = fs::metadata(base).is_ok_and(|of| of.uid() == user.as_raw());
    let is_topmost = || path_of("self").is_some_and(|path| path == Path::new("/"));
    is_of_user && (!user.is_root() || is_marked(base) || is_topmost())
}

fn is_marked(base: &Path) -> bool {
    MARKS.iter().any(|mark| {
        let mut value = [0; 1];
        getxattr(base, *mark, &mut value).is_ok_and(|_| value == *b"1")
    })
}

/// Tells the kernel something by one of its files; none is made.
fn say(file: &Path, words: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(file)?;
    file.write_all(words.as_bytes())
}

fn has_controllers(file: &Path) -> bool {
    let there = fs::read_to_string(file).unwrap_or_default();
    let there: BTreeSet<&str> = there.split_whitespace().collect();
    CONTROLLERS.iter().all(|wanted| there.contains(wanted))
}

fn name(folder: &Path) -> Option<&str> {
    folder.file_name()?.to_str()
}

/// The group of a process, as it is called in the file system of groups.
fn path_of(process: &str) -> Option<PathBuf> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(PathBuf::from(path))
}

/// The folder of the group of a process.
fn folder_of(process: &str) -> Option<PathBuf> {
    let path = path_of(process)?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut mounts = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    mounts.find_map(|line| {
        let mut fields = line.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let below = path.strip_prefix(root).ok()?;
        Some(Path::new(place).join(below))
    })
}

/// Has this process join a group, with all that it starts from then on.
///
/// # Errors
/// The group is not there any more.
pub(super) fn join(folder: &OsStr) -> io::Result<()> {
    say(&Path::new(folder).join(PROCESSES), "0")
}
