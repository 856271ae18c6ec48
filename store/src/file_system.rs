//! Folders, files and locks as every part of this crate uses them: new folders are open to their owner alone.
//!
//! Knows on which file systems a lock may not be seen by everyone who should see it.

use crate::Error;
use crate::atomic::{folder_of, replace, sync_folder, unless_missing};
use fs2::FileExt as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use tm_scheduler::RunId;

/// Returns a path in a folder, without the room for a longer one: a run keeps some for each of its agents.
pub(crate) fn joined(folder: &Path, within: &str) -> PathBuf {
    let mut path = PathBuf::with_capacity(folder.as_os_str().len() + 1 + within.len());
    path.push(folder);
    path.push(within);
    path
}

/// Returns what lies in a folder.
pub(crate) fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect()
}

/// Returns what lies in a folder; nothing where there is none.
pub(crate) fn entries_if_there(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    match entries(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        found => found.map_err(Error::read(folder)),
    }
}

/// Returns the ids of the runs, or loops, whose folders lie in a folder, sorted.
pub(crate) fn ids_in(
    folder: &Path,
    is_one: impl Fn(&RunId, &Path) -> bool,
) -> Result<Vec<RunId>, Error> {
    let id = |path: PathBuf| {
        let id = RunId::from(path.file_name()?.to_str()?);
        is_one(&id, &path).then_some(id)
    };
    let paths = entries_if_there(folder)?.into_iter();
    let mut ids: Vec<RunId> = paths.filter_map(id).collect();
    ids.sort();
    Ok(ids)
}

/// Removes a file; one that is gone already is as good.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), Error> {
    unless_missing(fs::remove_file(path)).map_err(Error::write(path))
}

/// Creates each folder of `path` that is missing, open to its owner alone; leaves those that exist as they are.
pub(crate) fn create_private(path: &Path) -> Result<(), Error> {
    private()
        .recursive(true)
        .create(path)
        .map_err(Error::write(path))
}

/// Does the same, and each new folder is still there after a power loss; takes a flush to disk for each.
pub(crate) fn create_durable(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = folder_of(path);
    if parent != path {
        create_durable(parent)?;
    }
    create_one(path).map_err(Error::write(path))
}

fn create_one(path: &Path) -> io::Result<()> {
    match tm_faults::check("folder: create").and_then(|()| private().create(path)) {
        Ok(()) => sync_folder(folder_of(path)),
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes git ignore everything in a folder; an own `.gitignore` stays.
pub(crate) fn ignore_all(folder: &Path) -> Result<(), Error> {
    let gitignore = folder.join(".gitignore");
    if gitignore.exists() {
        return Ok(());
    }
    replace(&gitignore, b"*\n").map_err(Error::write(&gitignore))
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Locks a file or folder for this process alone; false when somebody else has locked it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    not_contended(file.try_lock_exclusive())
}

/// Tells whether a path leads to the open file or folder; `None` where nobody can look.
pub(crate) fn is_at(file: &File, path: &Path) -> Option<bool> {
    let held = file.metadata().ok()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Some((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(error) => (error.kind() == ErrorKind::NotFound).then_some(false),
    }
}

/// Tells whether nobody stood in the way of a lock.
pub(crate) fn not_contended(locked: io::Result<()>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Returns the kind of file system that `file` lies on when locks there depend on server and mount options.
#[cfg(target_os = "linux")]
pub(crate) fn unreliable_for_locks(file: &File) -> Option<&'static str> {
    let kind = rustix::fs::fstatfs(file).ok()?.f_type;
    // The numbers are 32 bits wide; the field's width and sign differ between machines.
    name_of(i128::from(kind) & 0xffff_ffff)
}

/// Returns the kind of file system that `file` lies on when locks there depend on server and mount options.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unreliable_for_locks(file: &File) -> Option<&'static str> {
    /// `MNT_LOCAL` of statfs(2).
    const LOCAL: u32 = 0x1000;
    let flags = rustix::fs::fstatfs(file).ok()?.f_flags;
    (flags & LOCAL == 0).then_some("network")
}

/// Names the file systems of statfs(2) that reach over a network or through a program.
#[cfg(target_os = "linux")]
const fn name_of(magic: i128) -> Option<&'static str> {
    match magic {
        0x6969 => Some("nfs"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("cifs"),
        0x6573_5546 => Some("fuse"),
        0x0102_1997 => Some("9p"),
        0x00c3_6400 => Some("ceph"),
        0x5346_414f => Some("afs"),
        0x0bd0_0bd0 => Some("lustre"),
        0x4750_4653 => Some("gpfs"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn new_folders_are_private_and_old_ones_stay_as_they_are() {
        for create in [create_private, create_durable] {
            let root = tempfile::tempdir().unwrap();
            fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
            let deep = root.path().join("a/b");
            create(&deep).unwrap();
            create(&deep).unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(
                [mode(&deep), mode(&root.path().join("a")), mode(root.path())],
                [0o700, 0o700, 0o755]
            );
        }
    }

    #[test]
    fn file_in_the_way_is_an_error_that_names_it() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        crate::atomic::replace(&file, b"").unwrap();
        for create in [create_private, create_durable] {
            let error = create(&file).unwrap_err();
            assert!(
                matches!(&error, Error::Write { path, .. } if *path == file),
                "{error}"
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(
            [0x6969, 0xff53_4d42, 0x6573_5546].map(name_of),
            [Some("nfs"), Some("cifs"), Some("fuse")]
        );
        let (ext4, tmpfs) = (0xef53, 0x0102_1994);
        assert_eq!([ext4, tmpfs].map(name_of), [None, None]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_as_files_are_local() {
        assert_eq!(
            unreliable_for_locks(&File::open("/proc/self/stat").unwrap()),
            None
        );
    }
}
