//! Removes a folder with all that is in it, whatever rights its folders have and however deep they are. No link is followed.
//!
//! Folders that lie deeper than a thread has room for, or a process may hold open, are moved up and removed there.

use crate::rights::change_rights;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// What is deeper is moved up.
const DEEPEST: u32 = 64;
/// What the names begin with that it has then.
const MOVED_UP: &str = ".tm-removed-";
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Removes a folder; nobody else works in it.
///
/// # Errors
/// It is no folder, or the system refused.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    empty_folder(path)?;
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

/// Removes all that is in a folder, in which nobody else works.
///
/// # Errors
/// As [`remove_folder`].
pub fn empty_folder(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let top = opened_up(CWD, &name)?;
    let mut removal = Removal {
        top: &top,
        moved_up: Vec::new(),
    };
    removal.empty(&top, 0)?;
    while let Some(name) = removal.moved_up.pop() {
        removal.remove(top.as_fd(), &name, 0)?;
    }
    Ok(())
}

struct Removal<'a> {
    top: &'a OwnedFd,
    moved_up: Vec<CString>,
}

impl Removal<'_> {
    fn empty(&mut self, folder: &OwnedFd, depth: u32) -> io::Result<()> {
        for (name, kind) in entries(folder)? {
            if kind == FileType::Directory {
                self.remove_within(folder.as_fd(), &name, depth)?;
            } else {
                self.remove(folder.as_fd(), &name, depth)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, parent: BorrowedFd<'_>, name: &CStr, depth: u32) -> io::Result<()> {
        match unlinkat(parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // Which of them says that it is a folder is the system's.
            Err(Errno::ISDIR | Errno::PERM) => self.remove_within(parent, name, depth),
            Err(error) => Err(error.into()),
        }
    }

    fn remove_within(&mut self, parent: BorrowedFd<'_>, name: &CStr, depth: u32) -> io::Result<()> {
        let folder = match opened_up(parent, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folder => folder?,
        };
        if depth >= DEEPEST {
            return self.move_up(parent, name);
        }
        self.empty(&folder, depth + 1)?;
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }

    fn move_up(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        let new = CString::new(crate::unguessable_name(MOVED_UP))?;
        renameat(parent, name, self.top, &*new)?;
        self.moved_up.push(new);
        Ok(())
    }
}

/// Opens a folder, after making sure that it can be read and changed.
fn opened_up(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    change_rights(parent, path, |rights| rights | Mode::RWXU)?;
    Ok(openat(parent, name, FOLDER, Mode::empty())?)
}

/// Returns what is in a folder, with what the system says at once of its kind.
fn entries(folder: &OwnedFd) -> io::Result<Vec<(CString, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::new(folder.try_clone()?)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            entries.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::mkdirat;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_folder_goes_however_deep_it_is_whoever_may_not_write_in_it_and_no_link_is_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let (kept, top) = (place.path().join("kept"), place.path().join("top"));
        fs::create_dir(&kept).expect("made");
        fs::create_dir_all(top.join("closed/within")).expect("made");
        fs::create_dir(top.join(".tm-removed-1")).expect("made");
        symlink(&kept, top.join("link")).expect("linked");
        fs::File::create(kept.join("file")).expect("made");
        let mut folder = opened_up(
            CWD,
            &CString::new(top.as_os_str().as_bytes()).expect("a path"),
        )
        .expect("opened");
        for _ in 0..3_000 {
            mkdirat(&folder, c"deep", Mode::RWXU).expect("made");
            folder = opened_up(folder.as_fd(), c"deep").expect("opened");
        }
        fs::set_permissions(top.join("closed"), Permissions::from_mode(0o000)).expect("closed");
        remove_folder(&top).expect("removed");
        assert!(!top.exists() && kept.join("file").exists());
        assert!(remove_folder(&top).is_err(), "it is gone");
        symlink(&kept, &top).expect("linked");
        assert!(remove_folder(&top).is_err(), "a link is no folder");
    }
}
