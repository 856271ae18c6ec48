//! Small files that git reads, and that others may have written: read with care, replaced whole.

use crate::Error;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Which file or folder it is, whatever its name is by now.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Identity {
    /// Returns that of a folder; an error for a link to one, or anything else.
    pub(crate) fn of_folder(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::symlink_metadata(path)?;
        if metadata.is_dir() {
            Ok(Self { device: metadata.dev(), inode: metadata.ino() })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }
}

/// Reads a short regular file, no link to one, and never waits for whoever may hold the other end of a pipe.
///
/// # Errors
/// It is something else, it is longer, or it can't be read.
pub(crate) fn beginning(path: &Path, most: usize) -> Result<Vec<u8>, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let read = || -> io::Result<Vec<u8>> {
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
    };
    read().map_err(Error::file("read", path))
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

/// Tells whether a path is a link with this target.
pub(crate) fn is_link_to(link: &Path, target: &Path) -> bool {
    std::fs::read_link(link).is_ok_and(|found| found == target)
}
