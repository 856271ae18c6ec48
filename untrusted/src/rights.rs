//! Gives the owner of a folder its rights back: whoever worked there may have taken them from everybody.

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{Metadata, Permissions, set_permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Without these nobody works in a folder.
const TO_WORK_THERE: u32 = 0o700;

/// Makes sure that a folder of this user's can be read, changed and entered. What is no folder, or not there, is for whoever
/// goes there to tell of.
///
/// # Errors
/// The system refused.
pub fn open_up(folder: &Path) -> io::Result<()> {
    let Ok(found) = folder.symlink_metadata() else {
        return Ok(());
    };
    let mode = found.permissions().mode();
    if found.is_dir() && mode & TO_WORK_THERE != TO_WORK_THERE {
        set_permissions(folder, Permissions::from_mode(mode | TO_WORK_THERE))?;
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
    use std::fs::File;

    #[test]
    fn a_folder_gets_its_owners_rights_and_nothing_else_any() {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, file) = (place.path().join("folder"), place.path().join("file"));
        std::fs::create_dir(&folder).expect("made");
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
}
