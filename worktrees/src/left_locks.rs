//! Locks of git that have been there for long: most likely left by a git that was killed, which nobody can tell for sure
//! from one that waits for its user. They are named, never removed, and not waited for.

use std::fmt;
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

/// A lock that has been there for long.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftLock {
    /// Its file.
    pub path: PathBuf,
    /// Since when.
    pub age: Duration,
}

impl LeftLock {
    fn at(path: PathBuf) -> Option<Self> {
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
