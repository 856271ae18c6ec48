//! The lock beside a backlog file, in the form that Task Master's own writers respect: a folder, or a file, whose age
//! tells whether its holder is alive.

use super::BacklogError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A lock that is older belongs to nobody any more.
const STALE_AFTER: Duration = Duration::from_secs(10);
/// A lock that stays is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(7);

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    path: PathBuf,
}

impl FileLock {
    pub(super) fn acquire(file: &Path) -> Result<Self, BacklogError> {
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(BacklogError::Write { path, source }),
            }
            if is_stale(&path) {
                remove(&path);
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

fn is_stale(path: &Path) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > STALE_AFTER))
}

/// Removes either kind; one that is gone already is as good.
fn remove(path: &Path) {
    let _gone = std::fs::remove_dir(path).or_else(|_| std::fs::remove_file(path));
}
