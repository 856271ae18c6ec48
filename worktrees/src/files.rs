//! Small files that git reads, and that others may have written: read with care, replaced whole.

use crate::{OrFailedTo as _, Result};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tempfile::NamedTempFile;

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
        match std::fs::symlink_metadata(path)? {
            folder if folder.is_dir() => Ok(Self {
                device: folder.dev(),
                inode: folder.ino(),
            }),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }
}

/// What tells one state of a file from another; `None` where there is none. The time at which its inode changed, which is last,
/// in seconds and nanoseconds, can't be set by a program.
pub(crate) type FileState = Option<[u64; 5]>;

/// Tells for certain that there is nothing.
pub(crate) fn is_gone(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the state of a file.
pub(crate) fn state_of(path: &Path) -> FileState {
    let metadata = path.metadata().ok()?;
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u64::try_from(metadata.ctime_nsec()).unwrap_or_default();
    Some([
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        seconds,
        nanoseconds,
    ])
}

/// Reads a short file that others can write.
///
/// # Errors
/// It is no regular file, it is longer, or it can't be read.
pub(crate) fn beginning(path: &Path, most: usize) -> Result<Vec<u8>> {
    tm_untrusted::read(path, most as u64).or_failed_to("read", path)
}

/// Replaces a file by another one with this content, in one step.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut file = new_beside(path)?;
        file.write_all(content)?;
        file.persist(path)?;
        Ok(())
    };
    write().or_failed_to("write", path)
}

/// As `replace`, by a copy of an index with its time of change: git takes a file for unchanged whose size and time the
/// index has, unless that time is not before the index's own.
pub(crate) fn copy_with_time(from: &Path, to: &Path) -> Result<()> {
    let copy = || -> io::Result<()> {
        let mut index = tm_untrusted::open_own(from)?;
        let mut copy = new_beside(to)?;
        io::copy(&mut index, copy.as_file_mut())?;
        let metadata = index.metadata()?;
        copy.as_file().set_permissions(metadata.permissions())?;
        copy.as_file().set_modified(metadata.modified()?)?;
        copy.persist(to)?;
        Ok(())
    };
    copy().or_failed_to("copy", from)
}

fn new_beside(path: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))
}

/// Makes a folder and those above it that are not there.
pub(crate) fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).or_failed_to("create", path)
}

/// Makes a link, in place of another one.
pub(crate) fn link(target: &Path, link: &Path) -> Result<()> {
    if std::fs::read_link(link).is_ok_and(|found| found == target) {
        return Ok(());
    }
    // Nothing there is the common case; what can't be removed is told by the linking.
    let _nothing_there = std::fs::remove_file(link);
    std::os::unix::fs::symlink(target, link).or_failed_to("link", link)
}

/// Returns the names in a folder; none of what is no folder.
pub(crate) fn names_in(folder: &Path) -> impl Iterator<Item = OsString> {
    let is_one = tm_untrusted::is_folder(folder);
    let entries = is_one.then(|| tm_untrusted::entries(folder));
    entries.into_iter().flatten().map(|entry| entry.file_name())
}
