//! Gives the owner of a folder its rights back: whoever worked there may have taken them from everybody.

use rustix::fd::BorrowedFd;
use rustix::fs::{Access, CWD, Mode, access};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Makes sure that a folder of this user's can be read, changed and entered. What is no folder, or not there, is for whoever
/// goes there to tell of.
///
/// # Errors
/// The system refused.
pub fn open_up(folder: &Path) -> io::Result<()> {
    // Without these nobody works in a folder.
    change_rights(CWD, folder, |rights| rights | Mode::RWXU)
}

/// Gives a folder other rights, and never what a link leads to that somebody puts in its place meanwhile. What is no folder,
/// or not there, is for whoever goes there to tell of.
///
/// # Errors
/// The system refused.
#[cfg(target_os = "linux")]
pub fn change_rights(
    parent: BorrowedFd<'_>,
    folder: &Path,
    rights: impl FnOnce(Mode) -> Mode,
) -> io::Result<()> {
    use rustix::fd::AsRawFd as _;
    use rustix::fs::{OFlags, chmod, fstat, openat};
    // Held without a right to it, it stays the same folder.
    let held = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(held) = openat(parent, folder, held, Mode::empty()) else {
        return Ok(());
    };
    let before = Mode::from_raw_mode(fstat(&held)?.st_mode);
    let after = rights(before);
    if before != after {
        chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), after)?;
    }
    Ok(())
}

/// Gives a folder other rights, and never what a link leads to that somebody puts in its place meanwhile: the system changes
/// the link then. What is no folder, or not there, is for whoever goes there to tell of.
///
/// # Errors
/// The system refused.
#[cfg(not(target_os = "linux"))]
pub fn change_rights(
    parent: BorrowedFd<'_>,
    folder: &Path,
    rights: impl FnOnce(Mode) -> Mode,
) -> io::Result<()> {
    use rustix::fs::{AtFlags, FileType, chmodat, statat};
    let Ok(found) = statat(parent, folder, AtFlags::SYMLINK_NOFOLLOW) else {
        return Ok(());
    };
    let before = Mode::from_raw_mode(found.st_mode);
    let after = rights(before);
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    if is_folder && before != after {
        chmodat(parent, folder, after, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// Gives this user its rights to a folder of its own back where it can't even look into it: whoever worked there has closed
/// it. What can't be opened up is for whoever goes there to tell of.
pub fn open_up_if_closed(folder: &Path) {
    let is_own = |found: Metadata| found.uid() == geteuid().as_raw();
    let is_closed = access(folder, Access::READ_OK | Access::EXEC_OK) == Err(Errno::ACCESS);
    if is_closed && folder.symlink_metadata().is_ok_and(is_own) {
        let _who_goes_there_tells = open_up(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions, create_dir, rename, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_folder_gets_its_owners_rights_and_nothing_else_any() {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, file) = (place.path().join("folder"), place.path().join("file"));
        create_dir(&folder).expect("made");
        drop(File::create(&file).expect("made"));
        let mode =
            |path: &Path| path.symlink_metadata().expect("there").permissions().mode() & 0o777;
        for path in [&folder, &file] {
            set_permissions(path, Permissions::from_mode(0o050)).expect("closed");
            open_up(path).expect("nothing refused");
        }
        assert_eq!([mode(&folder), mode(&file)], [0o750, 0o050]);
        open_up(&place.path().join("gone")).expect("nothing is there");
        set_permissions(&folder, Permissions::from_mode(0o555)).expect("closed");
        open_up_if_closed(&folder);
        assert_eq!(mode(&folder), 0o555, "one can work there");
        set_permissions(&folder, Permissions::from_mode(0o000)).expect("closed");
        open_up_if_closed(&folder);
        // Whoever may do everything is kept out of nothing.
        let is_kept_out = geteuid().as_raw() != 0;
        assert_eq!(mode(&folder) == 0o700, is_kept_out);
    }

    #[test]
    fn what_somebody_puts_in_a_folders_place_meanwhile_keeps_its_rights() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().join(name);
        let mode = |name| at(name).metadata().expect("there").permissions().mode() & 0o777;
        for name in ["folder", "users"] {
            create_dir(at(name)).expect("made");
            set_permissions(at(name), Permissions::from_mode(0o500)).expect("closed");
        }
        let swapped = |rights| {
            rename(at("folder"), at("moved")).expect("moved");
            symlink(at("users"), at("folder")).expect("linked");
            rights | Mode::RWXU
        };
        // Whichever of the two it is.
        let _changed = change_rights(CWD, &at("folder"), swapped);
        assert_eq!(mode("users"), 0o500);
        open_up(&at("folder")).expect("a link is no folder");
        assert_eq!(mode("users"), 0o500);
    }
}
