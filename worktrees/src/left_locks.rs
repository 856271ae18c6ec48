//! Locks of git that have been there for long: most likely left by a git that was killed, which nobody can tell for sure
//! from one that waits for its user. They are named, never removed, and not waited for. In git folders of tm's own nobody
//! but tm has git work: there they are removed when no process has them open.

use crate::pause::pause;
use std::fmt;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tm_scheduler::counted;

/// A git that is at work holds a lock for a moment, unless it waits for its user.
const LONG: Duration = Duration::from_mins(1);
/// The locks that hold up more than one branch.
const NAMES: [&str; 5] = [
    "index.lock",
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "shallow.lock",
];

/// git gives what it has closed its name within this.
const MOMENT: Duration = Duration::from_millis(50);
/// Where the system tells what processes have open.
const PROCESSES: &str = "/proc";

/// A lock that has been there for long.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftLock {
    /// Its file.
    pub path: PathBuf,
    /// Since when.
    pub age: Duration,
}

impl LeftLock {
    pub(crate) fn at(path: PathBuf) -> Option<Self> {
        let made = path.symlink_metadata().ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(made).ok()?;
        (age >= LONG).then_some(Self { path, age })
    }
}

impl fmt::Display for LeftLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.age.as_secs() / 60;
        let age = match minutes {
            ..120 => counted(minutes, "minute"),
            120..2880 => counted(minutes / 60, "hour"),
            _ => counted(minutes / (24 * 60), "day"),
        };
        let path = self.path.display();
        write!(
            formatter,
            "git's lock `{path}` has been there for {age}, as a git that was killed leaves it"
        )
    }
}

/// Returns the locks in these git folders that have been there for long.
pub(crate) fn left_locks(folders: &[&Path]) -> Vec<LeftLock> {
    let paths = folders
        .iter()
        .flat_map(|folder| NAMES.map(|name| folder.join(name)));
    paths.filter_map(LeftLock::at).collect()
}

/// Removes the locks in a git folder of tm's own that no process holds: whoever made them has ended. git keeps a lock open
/// for as long as it has it.
pub(crate) fn remove_abandoned_locks(folder: &Path) {
    for lock in NAMES.map(|name| folder.join(name)) {
        // One that is gone, or can't be removed, is for git to tell of.
        let _as_git_finds_it = match lock.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&lock),
            Ok(found) if is_abandoned(&lock, &found) => std::fs::remove_file(&lock),
            Ok(_) | Err(_) => Ok(()),
        };
    }
}

/// git closes a lock right before it gives it another name, so one that is still there a moment later has no owner.
fn is_abandoned(lock: &Path, found: &Metadata) -> bool {
    let is_same = |now: Metadata| now.ino() == found.ino();
    !is_open_anywhere(found) && {
        pause(MOMENT);
        lock.symlink_metadata().is_ok_and(is_same)
    }
}

/// Tells whether any process has a file open; where nobody can tell, one may.
fn is_open_anywhere(file: &Metadata) -> bool {
    let is_process = |entry: &DirEntry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    };
    let mut processes = tm_untrusted::entries(Path::new(PROCESSES))
        .filter(is_process)
        .peekable();
    let is_same = |opened: DirEntry| {
        let found = opened.path().metadata();
        found.is_ok_and(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()))
    };
    processes.peek().is_none()
        || processes.any(|process| tm_untrusted::entries(&process.path().join("fd")).any(is_same))
}

/// Tells whether git was refused by a lock that has been there for long: another try would be refused as well.
pub(crate) fn names_left_lock(stderr: &str, folder: &Path) -> bool {
    let mut locks = stderr.lines().filter_map(|line| {
        let (before, _) = line.split_once("': File exists")?;
        before.rsplit_once('\'').map(|(_, path)| folder.join(path))
    });
    locks.any(|path| LeftLock::at(path).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn locks_in_a_folder_of_tms_own_go_once_nobody_has_them_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let held = std::fs::File::create(at("index.lock")).expect("a lock");
        std::fs::create_dir_all(at("HEAD.lock/within")).expect("a folder");
        for name in ["config.lock", "shallow.lock", "packed-refs.lock", "index"] {
            drop(std::fs::File::create(at(name)).expect("a file"));
        }
        let left = || {
            remove_abandoned_locks(folder.path());
            let mut names: Vec<_> = tm_untrusted::entries(folder.path())
                .map(|entry| entry.file_name())
                .collect();
            names.sort();
            names
        };
        assert_eq!(left(), ["index", "index.lock"]);
        drop(held);
        assert_eq!(left(), ["index"]);
    }

    #[test]
    fn a_lock_is_left_when_it_has_been_there_for_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("packed-refs.lock");
        let file = std::fs::File::create(&path).expect("a lock");
        let said = "fatal: cannot lock ref: Unable to create 'packed-refs.lock': File exists.";
        let is_left = || names_left_lock(said, folder.path());
        assert!(!is_left(), "somebody may be at work");
        for (minutes, words) in [
            (5, "for 5 minutes"),
            (300, "for 5 hours"),
            (9000, "for 6 days"),
        ] {
            let made = SystemTime::now() - Duration::from_mins(minutes);
            file.set_modified(made).expect("an age");
            assert!(is_left());
            let lock = LeftLock::at(path.clone()).expect("a lock").to_string();
            assert!(lock.contains(words), "{lock}");
        }
        assert!(!names_left_lock(
            "fatal: No space left on device",
            folder.path()
        ));
    }
}
