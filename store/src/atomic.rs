//! Replaces a file so that a reader sees the old or the new content, never a part, even after a power loss.
//!
//! Knows nothing of what is in the file, and does not keep two writers apart: whoever reads, changes and replaces
//! does that under a lock of its own.

use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

/// How many symbolic links may follow one another, as in Linux.
const SYMLINK_LIMIT: usize = 40;

/// Replaces the file at `path` with `bytes`: written beside it, flushed to disk, renamed over it.
///
/// Keeps the permissions and, where allowed, the owner of the old file; a new one gets what the umask leaves of
/// `0666`. A symbolic link stays and its target is replaced. A file that may not be written is not replaced either,
/// although renaming over it would work.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_there(&follow_symlinks(path)?, bytes)
}

/// As [`replace`], for a file of tm's own in a folder where others can write: a link, a pipe or whatever else has its
/// name is replaced itself, and nothing that it leads to.
pub fn replace_own(path: &Path, bytes: &[u8]) -> io::Result<()> {
    remove_what_is_no_file(path)?;
    replace_there(path, bytes)
}

fn replace_there(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = tempfile::Builder::new();
    replace_by(target, bytes, temporary.prefix(".tm-").suffix(".tmp"))
}

/// Takes an operation on a file that is not there for one that has succeeded.
pub(crate) fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Takes links, pipes and the like away; a folder stays, and is an error later.
pub(crate) fn remove_what_is_no_file(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => fs::remove_file(path),
        found => unless_missing(found.map(drop)),
    }
}

/// So many letters of a name are random, where it has to be another one than those that are taken.
const LETTERS: usize = 12;

/// As [`replace`], for a file that has one writer at a time: what a crash left beside it is gone with the next one.
pub fn replace_as_only_writer(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = follow_symlinks(path)?;
    let mut prefix = OsString::from(".tm-");
    prefix.push(target.file_name().unwrap_or_default());
    let mut leftover = prefix.clone();
    leftover.push(".tmp");
    // Where somebody else has put a folder there, another name does.
    let is_free = unless_missing(fs::remove_file(folder_of(&target).join(leftover))).is_ok();
    replace_by(
        &target,
        bytes,
        tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            .rand_bytes(if is_free { 0 } else { LETTERS }),
    )
}

fn replace_by(
    target: &Path,
    bytes: &[u8],
    temporary: &mut tempfile::Builder<'_, '_>,
) -> io::Result<()> {
    let old = writable_file(target)?;
    let folder = folder_of(target);
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let mut temporary = temporary
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    tm_faults::check("replace: write")?;
    temporary.write_all(bytes)?;
    if let Some(old) = old {
        keep_access(temporary.as_file(), &old)?;
    }
    tm_faults::check("replace: sync")?;
    temporary.as_file().sync_all()?;
    tm_faults::check("replace: rename")?;
    temporary.persist(target).map_err(|error| error.error)?;
    tm_faults::check("replace: sync of the folder")?;
    sync_folder(folder)
}

/// Flushes the names in a folder to disk, so that a file created or renamed there is still found after a power loss.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some network file systems have no such operation on folders; there is nothing more to be done there.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Returns the folder that holds `path`, `.` for a bare file name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| *folder != OsStr::new(""))
        .unwrap_or(Path::new("."))
}

/// Returns where `path` leads, which need not exist.
fn follow_symlinks(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..SYMLINK_LIMIT {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(target);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::LOOP.into())
}

/// Returns the metadata of a file that may be written, nothing when there is no file yet.
fn writable_file(path: &Path) -> io::Result<Option<Metadata>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        // Opening a pipe to find out would wait for its reader.
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    drop(tm_untrusted::open_writable(path)?);
    Ok(Some(metadata))
}

/// Gives a file the owner and mode of another.
fn keep_access(file: &File, old: &Metadata) -> io::Result<()> {
    // Only root may give a file away; anyone else keeps it, as every editor does.
    if fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
        tracing::debug!(
            uid = old.uid(),
            gid = old.gid(),
            "the replaced file changes its owner"
        );
    }
    file.set_permissions(old.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn new_file_has_the_bytes_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two, longer").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two, longer");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_crash_left_beside_a_file_is_gone_with_its_next_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        replace(&folder.path().join(".tm-a.json.tmp"), b"half").unwrap();
        replace_as_only_writer(&path, b"half").unwrap();
        fs::create_dir_all(folder.path().join(".tm-a.json.tmp/taken")).unwrap();
        replace_as_only_writer(&path, b"whole").unwrap();
        fs::remove_dir_all(folder.path().join(".tm-a.json.tmp")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn permissions_of_the_old_file_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace(&path, b"one").unwrap();
        for wanted in [0o600, 0o644, 0o755, 0o666] {
            fs::set_permissions(&path, Permissions::from_mode(wanted)).unwrap();
            replace(&path, b"two").unwrap();
            assert_eq!(mode(&path), wanted);
        }
    }

    #[test]
    fn symlink_stays_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        let target = folder.path().join("real/file");
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        symlink("real/file", &second).unwrap();
        symlink("second", &first).unwrap();
        replace(&first, b"through a link to nothing yet").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"through a link to nothing yet");
        replace(&first, b"again").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"again");
        assert!(first.is_symlink() && second.is_symlink() && !target.is_symlink());
    }

    #[test]
    fn symlink_loop_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loop");
        symlink("loop", &path).unwrap();
        assert!(replace(&path, b"x").is_err());
        assert!(path.is_symlink());
    }

    #[test]
    fn a_file_of_tms_own_takes_the_place_of_a_link_or_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (
            folder.path().join("prompt.md"),
            folder.path().join("precious"),
        );
        replace(&precious, b"mine").unwrap();
        symlink("precious", &path).unwrap();
        replace_own(&path, b"one").unwrap();
        assert!(!path.is_symlink());
        fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        replace_own(&path, b"two").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&precious).unwrap()),
            (b"two".to_vec(), b"mine".to_vec())
        );
    }

    #[test]
    fn folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(folder.path(), b"x").is_err());
        assert!(folder.path().is_dir());
    }

    #[test]
    fn missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&folder.path().join("none/file"), b"x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn another_name_of_the_old_file_keeps_the_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        replace(&path, b"old").unwrap();
        fs::hard_link(&path, &other).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&other).unwrap()),
            (b"new".to_vec(), b"old".to_vec())
        );
    }

    #[test]
    fn file_that_may_not_be_written_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        // Root may write anything.
        let may_be_written = fs::OpenOptions::new().write(true).open(&path).is_ok();
        assert_eq!(replace(&path, b"new").is_ok(), may_be_written);
        assert_eq!(fs::read(&path).unwrap() == b"new", may_be_written);
    }
}
