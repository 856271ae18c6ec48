//! Gives the owner of a folder its rights back: whoever worked there may have taken them from everybody.

use std::fs::{Permissions, set_permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
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
    }
}
