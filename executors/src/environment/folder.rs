//! Folders for temporary files that one command has for itself, and those of a tm that was killed, which the next removes.
//!
//! They lie where the system keeps temporary files and not with the run: their paths have to be short, since some programs
//! make sockets below them. A file in each is locked as long as its owner lives; the lock ends with the process, however
//! it ends.

use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = "tm-";
/// So many letters of a name nobody can guess.
const LETTERS: usize = 12;
/// The file that is locked.
const MARK: &str = ".tm-owner";

/// A folder that nobody else can read and whose name nobody can guess. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    folder: Option<TempDir>,
    path: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// Makes one in this folder.
    ///
    /// # Errors
    /// It can't be written to.
    pub(crate) fn new_in(place: &Path) -> std::io::Result<Self> {
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(LETTERS)
            .permissions(private)
            .tempdir_in(place)?;
        // Under its name it is locked from the first moment on.
        let new = folder.path().join(".tm-new");
        let lock = tm_untrusted::create_anew(&new)?;
        // Where files can't be locked, nobody can tell that the owner is gone either.
        let _not_everywhere = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        std::fs::rename(&new, folder.path().join(MARK))?;
        Ok(Self {
            path: folder.path().to_owned(),
            folder: Some(folder),
            _lock: lock,
        })
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            remove(&folder.keep());
        }
    }
}

/// Removes the private folders whose owners are gone; returns how many there were.
pub fn remove_abandoned_folders(place: &Path) -> usize {
    abandoned(place).inspect(|folder| remove(folder)).count()
}

fn abandoned(place: &Path) -> impl Iterator<Item = PathBuf> {
    tm_untrusted::entries(place)
        .filter(|entry| is_name(&entry.file_name()))
        .map(|entry| entry.path())
        .filter(|path| is_abandoned(path))
}

fn is_name(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.strip_prefix(PREFIX))
        .is_some_and(|letters| {
            letters.len() == LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// A folder of this user's, closed to others, whose mark nobody holds.
fn is_abandoned(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_own = folder.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == own && metadata.permissions().mode() & 0o777 == 0o700
    });
    let lock = || {
        flock(
            tm_untrusted::open(&folder.join(MARK)).ok()?,
            FlockOperation::NonBlockingLockExclusive,
        )
        .ok()
    };
    is_own && lock().is_some()
}

/// Removes a folder as far as that goes.
pub fn remove(folder: &Path) {
    // What stays is removed as all old temporary files are.
    let _removed_some_day = tm_untrusted::remove_folder(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(place: &Path) -> Vec<PathBuf> {
        abandoned(place).collect()
    }

    #[test]
    fn a_folder_is_abandoned_when_its_owner_is_gone_and_not_before() {
        let place = tempfile::tempdir().expect("a folder");
        let mut folder = PrivateFolder::new_in(place.path()).expect("a folder");
        assert_eq!(
            names(place.path()),
            Vec::<PathBuf>::new(),
            "its owner lives"
        );
        // As when a process ends without a word: the lock goes, the folder stays.
        let path = folder.path().to_owned();
        assert_eq!(folder.folder.take().expect("a folder").keep(), path);
        drop(folder);
        let others = [
            "tm-short",
            "tm-demo-abcdef",
            "tm-abcdefghijkl",
            "other-abcdefghijkl",
        ];
        for other in others {
            std::fs::create_dir(place.path().join(other)).expect("a folder");
        }
        std::os::unix::fs::symlink(&path, place.path().join("tm-linkedlinked")).expect("a link");
        let folders = names(place.path());
        assert_eq!(folders, std::slice::from_ref(&path));
        let locked = path.join("home/go");
        std::fs::create_dir_all(locked.join("mod")).expect("folders");
        std::fs::set_permissions(&locked, Permissions::from_mode(0o500)).expect("locked");
        remove(&path);
        assert!(!path.exists() && others.iter().all(|other| place.path().join(other).exists()));
    }

    #[test]
    fn a_folder_goes_with_its_owner() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = PrivateFolder::new_in(place.path()).expect("a folder");
        let mode = folder
            .path()
            .metadata()
            .expect("a folder")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "nobody else can look into it");
        drop(folder);
        assert_eq!(
            std::fs::read_dir(place.path()).expect("a folder").count(),
            0
        );
    }
}
