//! Copies files and folders with their modes and times, links as links; reads through no link and writes through none.
//!
//! Never a hard link: what is written through one changes all copies at once, and the original. Where the file system
//! can share blocks until one side writes, it does.

use super::folder::{Folder, kind};
use super::place::Moved;
use rustix::fs::{FileType, Mode, OFlags, openat, readlinkat, symlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Texts up to this size are looked through for the place that they were copied from.
const SMALL_TEXT: u64 = 64 * 1024;

/// How something is copied.
pub(super) struct Copying<'a> {
    /// Places, from the folder that is copied, that are left out with all that is in them.
    pub(super) left_out: &'a [PathBuf],
    /// What becomes of the old place in the copies.
    pub(super) moved: Option<&'a Moved>,
}

impl Copying<'_> {
    /// Copies what is at a place in one folder to the same place in another; what is there already stays as it is. Git's
    /// own files are left out, and what is neither file, folder nor link.
    pub(super) fn copy(&self, from: &Folder, to: &Folder, place: &Path) -> Result<(), CopyError> {
        let failed = |source| CopyError {
            path: place.to_owned(),
            source,
        };
        let Some((from, name)) = from.parent_of(place).map_err(failed)? else {
            return Ok(());
        };
        let Some((to, _)) = to.make_parent_of(place).map_err(failed)? else {
            return Ok(());
        };
        self.copy_entry(&from, &to, name, place)
    }

    fn copy_entry(
        &self,
        from: &Folder,
        to: &Folder,
        name: &OsStr,
        path: &Path,
    ) -> Result<(), CopyError> {
        if name == ".git" || self.left_out.iter().any(|left_out| left_out == path) {
            return Ok(());
        }
        let failed = |source| CopyError {
            path: path.to_owned(),
            source,
        };
        let Some(stat) = from.stat(name).map_err(failed)? else {
            return Ok(());
        };
        match kind(&stat) {
            FileType::Directory => self.copy_folder(from, to, name, path),
            FileType::RegularFile => self.copy_file(from, to, name).map_err(failed),
            FileType::Symlink => self.copy_link(from, to, name).map_err(failed),
            _ => Ok(()),
        }
    }

    fn copy_folder(
        &self,
        from: &Folder,
        to: &Folder,
        name: &OsStr,
        path: &Path,
    ) -> Result<(), CopyError> {
        let failed = |source| CopyError {
            path: path.to_owned(),
            source,
        };
        let is_new = to.stat(name).map_err(failed)?.is_none();
        let from = from.child(name).map_err(failed)?;
        let to = match to.make_child(name) {
            Ok(to) => to,
            // A file or a link of the tree's own is in its place.
            Err(_) if !is_new => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        for name in from.names().map_err(failed)? {
            self.copy_entry(&from, &to, &name, &path.join(&name))?;
        }
        if is_new {
            from.as_file()
                .metadata()
                .and_then(|like| set_times_and_mode(to.as_file(), &like))
                .map_err(failed)?;
        }
        Ok(())
    }

    fn copy_file(&self, from: &Folder, to: &Folder, name: &OsStr) -> io::Result<()> {
        // Whatever took its place meanwhile is not waited for.
        let reading = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut source = File::from(openat(from, name, reading, Mode::empty())?);
        let metadata = source.metadata()?;
        if !metadata.is_file() {
            return Ok(());
        }
        let writing =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = match openat(to, name, writing, Mode::from_raw_mode(0o600)) {
            Ok(copy) => File::from(copy),
            Err(Errno::EXIST) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.copy_content(&mut source, &mut copy, &metadata)?;
        set_times_and_mode(&copy, &metadata)
    }

    fn copy_content(
        &self,
        source: &mut File,
        copy: &mut File,
        metadata: &Metadata,
    ) -> io::Result<()> {
        match self.moved {
            Some(moved) if metadata.len() <= SMALL_TEXT => {
                let mut bytes = Vec::new();
                source.read_to_end(&mut bytes)?;
                copy.write_all(&moved.text(bytes))
            }
            _ if is_shared(source, copy) => Ok(()),
            _ => io::copy(source, copy).map(drop),
        }
    }

    fn copy_link(&self, from: &Folder, to: &Folder, name: &OsStr) -> io::Result<()> {
        let target = readlinkat(from, name, Vec::new())?;
        let target = Path::new(OsStr::from_bytes(target.to_bytes()));
        let target = self
            .moved
            .map_or_else(|| target.to_owned(), |moved| moved.target(target));
        link(to, name, &target)
    }
}

/// Makes a symbolic link, where there is nothing of the name yet.
pub(super) fn link(folder: &Folder, name: &OsStr, target: &Path) -> io::Result<()> {
    match symlinkat(target, folder, name) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Lets the copy share the blocks of its source, where the file system can.
#[cfg(target_os = "linux")]
fn is_shared(source: &File, copy: &File) -> bool {
    rustix::fs::ioctl_ficlone(copy, source).is_ok()
}

#[cfg(not(target_os = "linux"))]
const fn is_shared(_: &File, _: &File) -> bool {
    false
}

fn set_times_and_mode(file: &File, like: &Metadata) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(like.permissions().mode() & 0o777))?;
    file.set_times(
        FileTimes::new()
            .set_modified(like.modified()?)
            .set_accessed(like.accessed()?),
    )
}

/// What could not be copied.
#[derive(Debug)]
pub(super) struct CopyError {
    /// Where it is in the folder that is copied.
    pub(super) path: PathBuf,
    /// What the system says.
    pub(super) source: io::Error,
}
