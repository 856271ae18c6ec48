//! Keeps a second run of the same project from starting.
//!
//! The kernel's lock on the open file decides, so it ends with the process however that ends. The record inside the
//! file tells who holds it, and decides nothing. The file is never removed: a lock on a removed file keeps nobody out.

use super::{Holder, ProjectDirectory};
use crate::Error;
use crate::file_system::unreliable_for_locks;
use fs2::FileExt as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tm_scheduler::RunId;

/// How often a lock is tried again that is held by somebody who has not said so yet.
const TRIES: u32 = 20;
/// How often a lock is tried again that others only look at.
const TRIES_AGAINST_LOOKERS: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);

/// The right to be the one live run of a project; ends when dropped, or with the process.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    file: File,
    holder: Holder,
}

impl RunLock {
    /// Takes the lock and records `holder` as who has it; creates the project's folders when missing.
    ///
    /// Fails with [`Error::Held`] when another process has it.
    pub fn acquire(project: &ProjectDirectory, holder: &Holder) -> Result<Self, Error> {
        project.create()?;
        let path = project.lock_file();
        let file = open_and_lock(&path)?;
        let lock = Self { path, file, holder: holder.clone() };
        lock.write_record()?;
        Ok(lock)
    }

    /// Records the run that the holder of the lock performs.
    pub fn set_run_id(&mut self, run_id: &RunId) -> Result<(), Error> {
        self.holder.run_id = Some(run_id.clone());
        self.write_record()
    }

    /// Returns who holds the lock now, nothing when it is free.
    pub fn holder(project: &ProjectDirectory) -> Result<Option<Holder>, Error> {
        let path = project.lock_file();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(lock_error(&path)(error)),
        };
        for _ in 0..TRIES {
            if is_free(&file).map_err(lock_error(&path))? {
                return Ok(None);
            }
            if let Some(holder) = live_holder(&path) {
                return Ok(Some(holder));
            }
            thread::sleep(PAUSE);
        }
        Ok(Some(Holder::default()))
    }

    /// Returns the kind of file system (`nfs`, `fuse`, …) when the lock lies on one where another machine may not see
    /// it.
    pub fn unreliable_file_system(&self) -> Option<&'static str> {
        unreliable_for_locks(&self.file)
    }

    /// Writes into the locked file itself: a file renamed over it would not be locked.
    fn write_record(&self) -> Result<(), Error> {
        let mut record =
            serde_json::to_vec(&self.holder).map_err(|source| Error::Serialize { path: self.path.clone(), source })?;
        record.push(b'\n');
        // Cut afterwards, so that a reader in between finds a record, with a rest of the old one behind it at worst.
        let written = self.file.write_all_at(&record, 0).and_then(|()| self.file.set_len(record.len() as u64));
        written.map_err(lock_error(&self.path))
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Only so that nobody reads an old record; the lock goes with the file handle in any case.
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, path = %self.path.display(), "the lock's record stays after its end");
        }
    }
}

/// Returns the lock file with its lock held.
fn open_and_lock(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.map_err(lock_error(path))?;
    for tries in 0..TRIES_AGAINST_LOOKERS {
        if not_contended(file.try_lock_exclusive()).map_err(lock_error(path))? {
            return Ok(file);
        }
        if let Some(holder) = live_holder(path) {
            return Err(Error::Held(Box::new(holder)));
        }
        if tries >= TRIES && !is_free(&file).map_err(lock_error(path))? {
            break;
        }
        thread::sleep(PAUSE);
    }
    Err(Error::Held(Box::default()))
}

/// Tells whether nobody holds the lock, by sharing it for a moment; who takes it right then tries again.
fn is_free(file: &File) -> io::Result<bool> {
    let is_free = not_contended(fs2::FileExt::try_lock_shared(file))?;
    if is_free {
        fs2::FileExt::unlock(file)?;
    }
    Ok(is_free)
}

fn not_contended(locked: io::Result<()>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the record in the lock file if it can be read and its process can be the one that holds the lock.
fn live_holder(path: &Path) -> Option<Holder> {
    let bytes = fs::read(path).ok()?;
    let holder = serde_json::Deserializer::from_slice(&bytes).into_iter::<Holder>().next()?.ok()?;
    holder.is_alive().then_some(holder)
}

fn lock_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Lock { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests;
