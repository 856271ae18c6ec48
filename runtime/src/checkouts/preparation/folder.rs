//! Folders held open: what is in one is reached by its name, never through a link, and removed whatever it is.
//!
//! What programs have left may be a link to anywhere, so no path with more than one part is ever handed to the system.
//! Links are removed themselves and never what they lead to, folders that nobody may write to as well, and folders deeper
//! than files can be held open.

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fgetxattr, mkdirat, open, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use tm_worktrees::PathPatterns;

/// The default list of access control of a folder, and how long the system lets such a thing be.
const HANDED_DOWN: &str = "system.posix_acl_default";
const LONGEST_LIST: usize = 64 * 1024;

/// Nothing that is copied or written down lies deeper than this below its place: no project has that, and whoever walks
/// there has room for it.
const DEEPEST_READ: u32 = 128;

/// A folder that is held open.
#[derive(Debug)]
pub(super) struct Folder {
    file: File,
    /// How far it is below the place at which a walk began.
    depth: u32,
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Folder {
    /// Opens a folder of tm's own or of the user's by its path.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        // Whatever else has its name by now is not waited for.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Whoever set something up there may have closed it.
        tm_untrusted::open_up_if_closed(path);
        let file = File::from(open(path, flags, Mode::empty())?);
        Ok(Self { file, depth: 0 })
    }

    /// Opens a folder in this one.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        if self.depth >= DEEPEST_READ {
            let words = format!("it has folders more than {DEEPEST_READ} deep");
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            file: File::from(openat(self, name, flags, Mode::empty())?),
            depth: self.depth + 1,
        })
    }

    /// Makes sure that tm has these rights to a folder in this one, whoever took them; what is no folder stays.
    pub(super) fn open_up(&self, name: &OsStr, needed: Mode) -> io::Result<()> {
        tm_untrusted::change_rights(self.as_fd(), Path::new(name), |rights| rights | needed)
    }

    /// Opens a folder in this one, which is made where there is nothing of the name.
    pub(super) fn make_child(&self, name: &OsStr) -> io::Result<Self> {
        match mkdirat(self, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the folder in which a path lies; `None` where the way to it is not there, or leads over a link.
    pub(super) fn parent_of<'path>(
        &self,
        path: &'path Path,
    ) -> io::Result<Option<(Self, &'path OsStr)>> {
        self.walk_to(path, Self::child)
    }

    /// As `parent_of`; folders on the way that are not there are made.
    pub(super) fn make_parent_of<'path>(
        &self,
        path: &'path Path,
    ) -> io::Result<Option<(Self, &'path OsStr)>> {
        self.walk_to(path, Self::make_child)
    }

    fn walk_to<'path>(
        &self,
        path: &'path Path,
        step: fn(&Self, &OsStr) -> io::Result<Self>,
    ) -> io::Result<Option<(Self, &'path OsStr)>> {
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return Ok(None);
        };
        let mut folder = Self {
            file: self.file.try_clone()?,
            depth: 0,
        };
        for component in parent.components() {
            let Component::Normal(name) = component else {
                return Ok(None);
            };
            folder = match step(&folder, name) {
                Ok(folder) => folder,
                Err(error) if is_no_folder(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            folder.depth = 0;
        }
        Ok(Some((folder, name)))
    }

    /// Returns what has this name, itself and not what it may lead to.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match statat(self, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file in this one for reading, and tells how long it is; `None` for whatever is no file.
    pub(super) fn file(&self, name: &OsStr) -> io::Result<Option<(File, u64)>> {
        // Whatever took its place meanwhile is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(self, name, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        Ok(metadata.is_file().then_some((file, metadata.len())))
    }

    /// Returns the names of all that is in it.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Returns which rights whatever is made in it gets of it, whoever makes it; empty where that is nothing.
    pub(super) fn handed_down(&self) -> Vec<u8> {
        let mut list = vec![0; LONGEST_LIST];
        let length = fgetxattr(self, HANDED_DOWN, &mut list[..]).unwrap_or_default();
        list.truncate(length);
        list
    }

    /// Returns the folder as a file, for its times and its mode.
    pub(super) const fn as_file(&self) -> &File {
        &self.file
    }
}

/// Tells what kind of thing it is.
pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Tells whether something is not there, or no folder.
fn is_no_folder(error: &io::Error) -> bool {
    let known = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    known
        .iter()
        .any(|known| error.raw_os_error() == Some(known.raw_os_error()))
}

/// What is deeper is moved up first.
const DEEPEST: u32 = 64;

/// Removes what is at these places in a folder; what `caches` covers stays, with the folders on the way to it.
pub(super) fn remove(folder: &Folder, places: &[PathBuf], caches: &PathPatterns) -> io::Result<()> {
    let mut removal = Removal {
        top: folder,
        caches,
        moved_up: Vec::new(),
    };
    for place in places {
        if let Some((parent, name)) = folder.parent_of(place)? {
            removal.remove(&parent, name, place, 0)?;
        }
    }
    while let Some(name) = removal.moved_up.pop() {
        removal.remove(folder, &name, Path::new(&name), 0)?;
    }
    Ok(())
}

struct Removal<'a> {
    top: &'a Folder,
    caches: &'a PathPatterns,
    moved_up: Vec<OsString>,
}

impl Removal<'_> {
    fn remove(&mut self, parent: &Folder, name: &OsStr, path: &Path, depth: u32) -> io::Result<()> {
        let Some(stat) = parent.stat(name)?.filter(|_| !self.caches.covers(path)) else {
            return Ok(());
        };
        if kind(&stat) != FileType::Directory {
            return Ok(unlinkat(parent, name, AtFlags::empty())?);
        }
        parent.open_up(name, Mode::RWXU)?;
        if depth >= DEEPEST {
            return self.move_up(parent, name);
        }
        let folder = parent.child(name)?;
        for name in folder.names()? {
            self.remove(&folder, &name, &path.join(&name), depth + 1)?;
        }
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            // A cache is in it.
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn move_up(&mut self, parent: &Folder, name: &OsStr) -> io::Result<()> {
        let new = OsString::from(tm_untrusted::unguessable_name(".tm-removed-"));
        renameat(parent, name, self.top, &new)?;
        self.moved_up.push(new);
        Ok(())
    }
}
