//! The lock beside a backlog file, in the form that Task Master's own writers respect: a folder, or a file, whose age
//! tells whether its holder is alive.
//!
//! A folder of tm's own has the sticky bit, and its holder keeps it locked as long as it lives: one whose lock is free
//! was left behind by a tm that died, and nobody has to wait until it is old.

use super::BacklogError;
use crate::Error;
use crate::file_system::{is_at, try_lock, unreliable_for_locks};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A lock that is older belongs to nobody any more.
const STALE_AFTER: Duration = Duration::from_secs(10);
/// A lock that stays is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(7);
/// Nobody else makes a lock with it; where the system does not give it to a new folder, the age decides.
const STICKY: u32 = 0o1000;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    path: PathBuf,
    /// The locked folder, where that is possible.
    _alive: Option<File>,
}

impl FileLock {
    pub(super) fn acquire(file: &Path) -> Result<Self, BacklogError> {
        let mut path = file.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            match DirBuilder::new().mode(0o777 | STICKY).create(&path) {
                Ok(()) => match show_life(&path) {
                    Shown::Alive(alive) => {
                        return Ok(Self {
                            path,
                            _alive: alive,
                        });
                    }
                    Shown::TooLate => continue,
                },
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::write(&path)(error).into()),
            }
            if is_stale(&path) {
                remove(&path);
            } else if remove_abandoned(&path) {
                tracing::debug!(path = %path.display(), "removed the lock of a tm that died");
            } else if Instant::now() >= give_up_at {
                return Err(BacklogError::Locked { path });
            } else {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// How the holder of a new folder fares with locking it.
enum Shown {
    /// It is locked, or can't be here.
    Alive(Option<File>),
    /// Somebody else has taken it for abandoned in the meantime.
    TooLate,
}

fn show_life(path: &Path) -> Shown {
    let folder = match File::open(path) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Shown::TooLate,
        Err(_) => return Shown::Alive(None),
    };
    match try_lock(&folder) {
        Ok(true) if is_at(&folder, path) == Some(true) => Shown::Alive(Some(folder)),
        Ok(_) => Shown::TooLate,
        Err(_) => Shown::Alive(None),
    }
}

/// Removes a folder of tm's own that no living process has locked; false when it is none.
fn remove_abandoned(path: &Path) -> bool {
    let found = std::fs::symlink_metadata(path);
    if !found.is_ok_and(|found| found.is_dir() && found.mode() & STICKY != 0) {
        return false;
    }
    let Ok(folder) = File::open(path) else {
        return false;
    };
    let is_abandoned = unreliable_for_locks(&folder).is_none()
        && try_lock(&folder).unwrap_or(false)
        && is_at(&folder, path) == Some(true);
    if is_abandoned {
        remove(path);
    }
    is_abandoned
}

fn is_stale(path: &Path) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > STALE_AFTER))
}

/// Removes either kind; one that is gone already is as good.
fn remove(path: &Path) {
    let _gone = std::fs::remove_dir(path).or_else(|_| std::fs::remove_file(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_a_dead_tm_left_behind_is_removed_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.json.lock");
        DirBuilder::new()
            .mode(0o777 | STICKY)
            .create(&path)
            .unwrap();
        assert!(remove_abandoned(&path) && !path.exists());
    }

    #[test]
    fn a_lock_whose_holder_lives_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.json.lock");
        let held = FileLock::acquire(&folder.path().join("tasks.json")).unwrap();
        assert!(!remove_abandoned(&path) && path.exists());
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_of_another_program_is_judged_by_its_age_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.json.lock");
        std::fs::create_dir(&path).unwrap();
        assert!(!remove_abandoned(&path) && path.exists());
    }
}
