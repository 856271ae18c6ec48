//! Finds out whether a file tells by its times that somebody wrote into it through a mapping.
//!
//! On a disk the kernel notices the first write to each page and stamps the file. File systems in memory have nothing to
//! write back, so nobody asks to be told: what was mapped and read can be written, and every time stays as it was.

use rustix::fs::fstatvfs;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use vmap::MapMut;

/// What a file system does with the times of a file that is written through a shared mapping.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MappedWrites {
    /// It sets them, as for every other write, or refuses such mappings: who knows the times knows the file.
    Stamped,
    /// It leaves them, or nobody can tell: what a file is, its content says alone.
    Unnoticed,
}

/// What was found out, by device.
static KNOWN: Mutex<BTreeMap<u64, MappedWrites>> = Mutex::new(BTreeMap::new());

/// A page is no longer than this anywhere.
const PAGE: usize = 64 * 1024;
/// The kernel kills whoever writes into a mapping for which the disk has no room.
const ROOM: u64 = 16 * 1024 * 1024;
/// A time that no clock shows any more.
const LONG_AGO: Duration = Duration::from_secs(1_000_000);

impl MappedWrites {
    /// Tells what becomes of files in a folder of tm's own; tried once for each file system.
    pub fn of(folder: &Path) -> Self {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(device) = std::fs::metadata(folder).map(|found| found.dev()) else {
            return Self::Unnoticed;
        };
        if let Some(found) = known().get(&device) {
            return *found;
        }
        // Where it could not be tried, the next one may.
        tried(folder).map_or(Self::Unnoticed, |found| {
            known().insert(device, found);
            found
        })
    }
}

fn tried(folder: &Path) -> io::Result<MappedWrites> {
    let mut file = tempfile::tempfile_in(folder)?;
    let found = fstatvfs(&file)?;
    if found.f_bavail.saturating_mul(found.f_frsize) < ROOM {
        return Err(io::ErrorKind::StorageFull.into());
    }
    file.write_all(&vec![0; PAGE])?;
    let before = SystemTime::UNIX_EPOCH + LONG_AGO;
    file.set_modified(before)?;
    match write_mapped(&file) {
        Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {
            return Ok(MappedWrites::Stamped);
        }
        written => written.map_err(io::Error::from)?,
    }
    // Not flushed before: who writes so need not do that either.
    Ok(if file.metadata()?.modified()? == before {
        MappedWrites::Unnoticed
    } else {
        MappedWrites::Stamped
    })
}

/// Reads a page and then writes it: one that was only read is what the kernel may hand out as writable.
fn write_mapped(file: &File) -> vmap::Result<()> {
    let mut mapping = MapMut::with_options().map(file)?;
    black_box(mapping.first().copied());
    mapping[0] = black_box(1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FsWord, statfs};

    const TMPFS: FsWord = 0x0102_1994;
    /// ext4, XFS and Btrfs.
    const DISKS: [FsWord; 3] = [0xef53, 0x5846_5342, 0x9123_683e];

    #[test]
    fn a_disk_stamps_what_is_written_through_a_mapping_and_memory_does_not() {
        let folders = [env!("CARGO_MANIFEST_DIR"), "/dev/shm", "/tmp", "/var/tmp"];
        for folder in folders.map(Path::new) {
            let (Ok(kind), Ok(own)) = (statfs(folder), tempfile::tempdir_in(folder)) else {
                continue;
            };
            let kind = kind.f_type;
            let expected = match kind {
                TMPFS => MappedWrites::Unnoticed,
                _ if DISKS.contains(&kind) => MappedWrites::Stamped,
                _ => continue,
            };
            assert_eq!(MappedWrites::of(own.path()), expected, "{folder:?}");
            assert_eq!(tried(own.path()).expect("tried"), expected, "{folder:?}");
            let left = std::fs::read_dir(own.path()).expect("a folder").count();
            assert_eq!(left, 0, "{folder:?}");
        }
    }

    #[test]
    fn where_nothing_can_be_tried_times_say_nothing() {
        let gone = Path::new("/nowhere/at/all");
        assert_eq!(MappedWrites::of(gone), MappedWrites::Unnoticed);
    }
}
