//! Small files that git reads, and that others may have written: read with care, replaced whole.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which file or folder it is, whatever its name is by now.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    /// Tells whether it is that of the folder at a path now.
    pub(crate) fn is_at(self, path: &Path) -> bool {
        Self::of_folder(path).is_ok_and(|found| found == self)
    }

    /// Returns that of a folder; an error for a link to one, or anything else.
    pub(crate) fn of_folder(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::symlink_metadata(path)?;
        if metadata.is_dir() {
            Ok(Self {
                device: metadata.dev(),
                inode: metadata.ino(),
            })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }
}

/// Reads a short file that others can write.
///
/// # Errors
/// It is no regular file, it is longer, or it can't be read.
pub(crate) fn beginning(path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    tm_untrusted::read(path, most as u64).map_err(Error::file("read", path))
}

/// Replaces a file by another one with this content, in one step.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(Error::file("write", path))
}

/// Locks what whoever died with it left whole.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a folder and those above it that are not there.
pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(Error::file("create", path))
}

/// Makes a link, in place of another one.
pub(crate) fn link(target: &Path, link: &Path) -> Result<(), Error> {
    if std::fs::read_link(link).is_ok_and(|found| found == target) {
        return Ok(());
    }
    // Nothing there is the common case; what can't be removed is told by the linking.
    let _nothing_there = std::fs::remove_file(link);
    std::os::unix::fs::symlink(target, link).map_err(Error::file("link", link))
}
