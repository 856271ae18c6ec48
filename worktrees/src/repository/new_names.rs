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
    objects: PathBuf,
    /// Which folders they are: of another one in the place of one of them nobody tells.
    identities: Vec<Identity>,
}

impl NewNames {
    /// Begins to listen: makes all folders that objects can lie in, so that none comes later. What is there already nobody
    /// tells of.
    ///
    /// # Errors
    /// The kernel tells of no more folders, or one can't be made.
    pub(super) fn listen(objects: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let (mut folders, mut identities) = (HashMap::new(), Vec::new());
        for name in names() {
            let folder = objects.join(&name);
            if let Err(error) = std::fs::create_dir(&folder)
                && error.kind() != io::ErrorKind::AlreadyExists
            {
                return Err(error);
            }
            folders.insert(inotify::add_watch(&inotify, &folder, NAMES)?, name.into());
            identities.push(Identity::of_folder(&folder)?);
        }
        Ok(Self {
            inotify,
            folders,
            objects: objects.to_owned(),
            identities,
        })
    }

    /// Returns the names that files got since it was asked last; `None` where some were not told, or no more will be.
    pub(super) fn take(&self) -> Option<Vec<PathBuf>> {
        let mut folders = names().zip(&self.identities);
        if !folders.all(|(name, identity)| identity.is_at(&self.objects.join(name))) {
            return None;
        }
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut names = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => names.push(self.name(&event)?),
                Err(Errno::AGAIN) => return Some(names),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    fn name(&self, event: &Event<'_>) -> Option<PathBuf> {
        let told = ReadFlags::CREATE | ReadFlags::MOVED_TO;
        let name = event.file_name()?.to_bytes();
        let folder = self.folders.get(&event.wd())?;
        let is_told = event.events().intersects(told);
        is_told.then(|| folder.join(OsStr::from_bytes(name)))
    }
}
