//! The kernel's locks on one file or folder, and the record inside a file of who holds them.
//!
//! The record tells and decides nothing. Others can write where these files lie, so nothing but a regular file of a
//! record's size is read, and no opening waits for anybody.

use crate::Error;
use crate::atomic::remove_what_is_no_file;
use crate::file_system::{is_at, not_contended, try_lock, unreliable_for_locks};
use crate::run::Holder;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often a lock is tried again that is held by somebody who has not said so yet.
const TRIES: u32 = 20;
/// How often a lock is tried again that others only look at, or whose file is being replaced.
const TRIES_AGAINST_LOOKERS: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);
/// The longest record that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// A folder that this process has locked.
#[derive(Debug)]
pub(super) struct LockedFolder {
    path: PathBuf,
    file: File,
}

impl LockedFolder {
    /// Locks the folder; `None` on a file system that locks no folders. `records` tell who holds it.
    pub(super) fn take(path: &Path, records: &[PathBuf]) -> Result<Option<Self>, Error> {
        let file = File::open(path).map_err(Error::lock(path))?;
        match lock(&file, records) {
            Ok(()) => Ok(Some(Self {
                path: path.to_owned(),
                file,
            })),
            Err(Refused::Held(holder)) => Err(Error::Held(holder)),
            Err(Refused::Impossible(error)) => {
                tracing::debug!(%error, path = %path.display(), "the folder can't be locked, its file is");
                Ok(None)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells whether the locked folder is still found at its path.
    pub(super) fn is_in_place(&self) -> bool {
        is_at(&self.file, &self.path) != Some(false)
    }
}

/// A file that this process has locked, with the record of who that is.
#[derive(Debug)]
pub(super) struct LockedFile {
    path: PathBuf,
    file: File,
}

impl LockedFile {
    /// Locks the file that is at the path in the end, and makes it when there is none. `records` tell who holds it.
    pub(super) fn take(path: &Path, records: &[PathBuf]) -> Result<Self, Error> {
        for _ in 0..TRIES_AGAINST_LOOKERS {
            let file = tm_untrusted::open_private(path).map_err(Error::lock(path))?;
            match lock(&file, records) {
                // A lock on a file that somebody has removed meanwhile keeps nobody out.
                Ok(()) if is_at(&file, path) == Some(false) => {}
                Ok(()) => {
                    return Ok(Self {
                        path: path.to_owned(),
                        file,
                    });
                }
                Err(Refused::Held(holder)) => return Err(Error::Held(holder)),
                Err(Refused::Impossible(error)) => return Err(Error::lock(path)(error)),
            }
        }
        Err(Error::lock(path)(io::Error::other(
            "somebody removes it again and again",
        )))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn unreliable_file_system(&self) -> Option<&'static str> {
        unreliable_for_locks(&self.file)
    }

    /// Writes into the locked file itself: a file renamed over it would not be locked.
    pub(super) fn write(&self, holder: &Holder) -> Result<(), Error> {
        let record = self.record(holder)?;
        // Cut afterwards, so that a reader in between finds a record, with a rest of the old one behind it at worst.
        self.file
            .write_all_at(&record, 0)
            .and_then(|()| self.file.set_len(record.len() as u64))
            .map_err(Error::lock(&self.path))
    }

    /// Makes sure that the locked file is at its path and tells who holds it.
    pub(super) fn renew(&mut self, holder: &Holder) -> Result<(), Error> {
        if is_at(&self.file, &self.path) == Some(false) {
            // What stays is told of when the file can't be opened.
            let _stays = remove_what_is_no_file(&self.path);
            *self = Self::take(&self.path, std::slice::from_ref(&self.path))?;
        }
        let record = self.record(holder)?;
        if read(&self.path).is_some_and(|found| found == record) {
            Ok(())
        } else {
            self.write(holder)
        }
    }

    /// Empties the record, only so that nobody reads an old one; the lock goes with the file handle in any case.
    pub(super) fn clear(&self) {
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, path = %self.path.display(), "the lock's record stays after its end");
        }
    }

    fn record(&self, holder: &Holder) -> Result<Vec<u8>, Error> {
        let record = serde_json::to_string(holder).map_err(Error::serialize(&self.path))?;
        Ok((record + "\n").into_bytes())
    }
}

/// Returns who holds the lock on a file or folder, nothing when it is free, not there, or of a kind that has none.
pub(super) fn look(path: &Path, records: &[PathBuf]) -> Result<Option<Holder>, Error> {
    let is_folder = fs::metadata(path).is_ok_and(|found| found.is_dir());
    let opened = if is_folder {
        File::open(path)
    } else {
        tm_untrusted::open(path)
    };
    let file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
            return Ok(None);
        }
        Err(error) => return Err(Error::lock(path)(error)),
    };
    for _ in 0..TRIES {
        match is_free(&file) {
            Ok(false) => {}
            Ok(true) => return Ok(None),
            Err(_) if is_folder => return Ok(None),
            Err(error) => return Err(Error::lock(path)(error)),
        }
        if let Some(holder) = live_holder(records) {
            return Ok(Some(holder));
        }
        thread::sleep(PAUSE);
    }
    Ok(Some(Holder::default()))
}

/// Why a lock was not taken.
enum Refused {
    /// Somebody has it.
    Held(Box<Holder>),
    /// The file system has none, or there was trouble.
    Impossible(io::Error),
}

fn lock(file: &File, records: &[PathBuf]) -> Result<(), Refused> {
    for tries in 0..TRIES_AGAINST_LOOKERS {
        if try_lock(file).map_err(Refused::Impossible)? {
            return Ok(());
        }
        if let Some(holder) = live_holder(records) {
            return Err(Refused::Held(Box::new(holder)));
        }
        if tries >= TRIES && !is_free(file).map_err(Refused::Impossible)? {
            break;
        }
        thread::sleep(PAUSE);
    }
    Err(Refused::Held(Box::default()))
}

/// Tells whether nobody holds the lock, by sharing it for a moment; who takes it right then tries again.
fn is_free(file: &File) -> io::Result<bool> {
    let is_free = not_contended(fs2::FileExt::try_lock_shared(file))?;
    if is_free {
        fs2::FileExt::unlock(file)?;
    }
    Ok(is_free)
}

/// Returns the first record that can be read and whose process can be the one that holds the lock.
fn live_holder(records: &[PathBuf]) -> Option<Holder> {
    let holder = |path: &PathBuf| {
        let bytes = read(path)?;
        serde_json::Deserializer::from_slice(&bytes)
            .into_iter::<Holder>()
            .next()?
            .ok()
    };
    records.iter().filter_map(holder).find(Holder::is_alive)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    tm_untrusted::read_beginning(path, LONGEST).ok()
}
