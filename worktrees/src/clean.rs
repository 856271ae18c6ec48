//! Removes what does not belong into a folder of tm's own: files that nobody knows, whatever kind they are of.
//!
//! git's own cleaning passes over pipes, sockets and folders that can't be read, all of which an agent can leave.

use crate::Error;
use crate::indexed::{Indexed, Known, KnownFolder};
use std::collections::HashSet;
use std::fs::{self, FileType};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What the known files are found to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum KnownFiles {
    /// All of them are there, and none was written since the index was.
    AsIndexed,
    /// Some are not, or nobody can tell.
    Unsure,
}

/// Removes everything below `root` but the known files, what is kept, and git's own file there, and says of the known
/// ones whether they are as the index knows them. Links are never followed.
///
/// Known paths that are repositories of their own are left as empty folders.
pub(crate) fn clean(root: &Path, known: &Known, kept: &[PathBuf]) -> Result<KnownFiles, Error> {
    // However they are written, with a slash at the end or without.
    let kept: HashSet<PathBuf> = kept.iter().map(|path| path.components().collect()).collect();
    let above_kept: HashSet<&Path> = kept.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let nothing = KnownFolder::new();
    let mut stack = vec![PathBuf::new()];
    let mut as_indexed = 0;
    while let Some(folder) = stack.pop() {
        let known_here = known.folder(&folder).unwrap_or(&nothing);
        for entry in entries(&root.join(&folder))? {
            let (name, kind) = (entry.file_name(), entry.file_type().map_err(Error::file("look at", entry.path()))?);
            match known_here.get(&*name) {
                Some(Indexed::File(stamp)) if kind.is_file() || kind.is_symlink() => {
                    let is_same = stamp.is_some_and(|stamp| entry.metadata().is_ok_and(|found| stamp.is_of(&found)));
                    as_indexed += usize::from(is_same);
                }
                Some(Indexed::Repository) if !kind.is_dir() => remove_it(&entry.path(), kind)?,
                Some(Indexed::Repository) if kept.contains(&folder.join(&name)) => {}
                Some(Indexed::Repository) => empty(&entry.path())?,
                Some(Indexed::File(_)) | None => {
                    let path = folder.join(&name);
                    if kept.contains(&path) || path == Path::new(".git") {
                        continue;
                    }
                    if kind.is_dir() && (known.folder(&path).is_some() || above_kept.contains(&*path)) {
                        stack.push(path);
                    } else {
                        remove_it(&entry.path(), kind)?;
                    }
                }
            }
        }
    }
    Ok(if as_indexed == known.files() { KnownFiles::AsIndexed } else { KnownFiles::Unsure })
}

/// Removes a file or a folder with all that is in it.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    let metadata = fs::symlink_metadata(path).map_err(Error::file("look at", path))?;
    remove_it(path, metadata.file_type())
}

fn remove_it(path: &Path, kind: FileType) -> Result<(), Error> {
    if !kind.is_dir() {
        return fs::remove_file(path).map_err(Error::file("remove", path));
    }
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    // Whoever made a folder can take the right to change it from everybody, and give it back.
    empty(path)?;
    fs::remove_dir(path).map_err(Error::file("remove", path))
}

fn empty(path: &Path) -> Result<(), Error> {
    for entry in entries(path)? {
        let kind = entry.file_type().map_err(Error::file("look at", entry.path()))?;
        remove_it(&entry.path(), kind)?;
    }
    Ok(())
}

/// Returns what is in a folder, after making sure that it can be read and changed.
fn entries(path: &Path) -> Result<Vec<fs::DirEntry>, Error> {
    let metadata = fs::symlink_metadata(path).map_err(Error::file("look at", path))?;
    if metadata.is_dir() && metadata.permissions().mode() & 0o700 != 0o700 {
        let mode = metadata.permissions().mode() | 0o700;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(Error::file("open up", path))?;
    }
    let entries = fs::read_dir(path).map_err(Error::file("read", path))?;
    entries.map(|entry| entry.map_err(Error::file("read", path))).collect()
}
