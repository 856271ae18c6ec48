//! The kernel's word on which files got a name in a folder of objects, so that it need not be looked through again.

use crate::files::Identity;
use rustix::fs::inotify::{self, CreateFlags, Event, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// git gives an object its name by a link or by renaming; a folder that goes away ends what is told of it.
const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);
/// Of the folder above it counts whether a folder in it comes or goes.
const FOLDERS: WatchFlags = NAMES
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM);
/// So much is read of the queue at once.
const BUFFER: usize = 16 * 1024;

/// The folders in which objects lie.
fn names() -> impl Iterator<Item = String> {
    let loose = (0..=u8::MAX).map(|first| format!("{first:02x}"));
    loose.chain(["pack".to_owned()])
}

/// What is told of a folder of objects from some moment on.
#[derive(Debug)]
pub(super) struct NewNames {
    inotify: OwnedFd,
    /// The folders, by the kernel's numbers.
    folders: HashMap<i32, PathBuf>,
    /// The folder above them, by its path and as what it is: that a folder further up is another one nobody tells.
    objects: (PathBuf, Identity),
}

impl NewNames {
    /// Begins to listen: makes all folders that objects can lie in, so that none comes later. What is there already nobody
    /// tells of.
    ///
    /// # Errors
    /// The kernel tells of no more folders, or one can't be made.
    pub(super) fn listen(objects: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let identity = Identity::of_folder(objects)?;
        for name in names() {
            if let Err(error) = std::fs::create_dir(objects.join(name))
                && error.kind() != io::ErrorKind::AlreadyExists
            {
                return Err(error);
            }
        }
        // First, so that no folder gives way to another one unseen.
        inotify::add_watch(&inotify, objects, FOLDERS)?;
        let mut folders = HashMap::new();
        for name in names() {
            let watch = inotify::add_watch(&inotify, objects.join(&name), NAMES)?;
            folders.insert(watch, name.into());
        }
        Ok(Self {
            inotify,
            folders,
            objects: (objects.to_owned(), identity),
        })
    }

    /// Returns the names that files got since it was asked last; `None` where some were not told, or no more will be.
    pub(super) fn take(&self) -> Option<Vec<PathBuf>> {
        let (objects, identity) = &self.objects;
        if !identity.is_at(objects) {
            return None;
        }
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut names = Vec::new();
        loop {
            match reader.next() {
                Ok(event) if self.is_beside(&event) => {}
                Ok(event) => names.push(self.name(&event)?),
                Err(Errno::AGAIN) => return Some(names),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Tells whether it is of a file beside the folders, which is none of the objects: git and the library write some first.
    fn is_beside(&self, event: &Event<'_>) -> bool {
        let is_file = event.file_name().is_some() && !event.events().contains(ReadFlags::ISDIR);
        is_file && !self.folders.contains_key(&event.wd())
    }

    /// Returns the name that a file got in one of the folders; `None` where something else happened.
    fn name(&self, event: &Event<'_>) -> Option<PathBuf> {
        let told = ReadFlags::CREATE | ReadFlags::MOVED_TO;
        let name = event.file_name()?.to_bytes();
        let folder = self.folders.get(&event.wd())?;
        let is_told = event.events().intersects(told);
        is_told.then(|| folder.join(OsStr::from_bytes(name)))
    }
}
