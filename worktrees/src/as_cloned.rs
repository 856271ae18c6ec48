//! Folders as a clone makes them, whatever rights whoever worked there has given them or taken from them: git asks nothing of
//! folders.

use crate::{OrFailedTo as _, Result};
use rustix::fs::{CWD, Mode, RawMode, lgetxattr_query, lremovexattr};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// What new files and folders in a folder get of it instead of what whoever makes them says, and what it gives others.
const LISTS: [&str; 2] = ["system.posix_acl_default", "system.posix_acl_access"];
/// The rights that a folder is made with, before this process's mask.
const ALL: Mode = Mode::from_raw_mode(0o777);
const USUAL_MASK: Mode = Mode::from_raw_mode(0o022);
/// Rights without the group that a folder hands down, which a folder gets of the one above.
const ALL_BUT_GROUP: Mode = Mode::from_raw_mode(0o5777);

/// Gives a folder the rights that it has in a clone: as if this process had just made it.
pub(crate) fn restore_folder(path: &Path) -> Result<()> {
    let made_with = ALL - mask();
    tm_untrusted::change_rights(CWD, path, |rights| (rights - ALL_BUT_GROUP) | made_with)
        .or_failed_to("open up", path)?;
    for list in LISTS {
        if lgetxattr_query(path, list).is_ok() {
            lremovexattr(path, list)
                .map_err(io::Error::from)
                .or_failed_to("open up", path)?;
        }
    }
    Ok(())
}

/// Returns which rights this process gives to nobody; to ask the kernel is to change it.
fn mask() -> Mode {
    static MASK: OnceLock<Mode> = OnceLock::new();
    *MASK.get_or_init(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let mask = mask.and_then(|mask| RawMode::from_str_radix(mask.trim(), 8).ok());
        mask.map_or(USUAL_MASK, Mode::from_raw_mode)
    })
}
