//! Removes what does not belong into a folder of tm's own: files that nobody knows, whatever kind they are of.
//!
//! git's own cleaning passes over pipes, sockets and folders that can't be read, all of which an agent can leave.

use crate::Error;
use crate::git::{Git, fields, path_of};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The paths of an index, with whether each is a repository within.
pub(crate) type Known = HashMap<OsString, bool>;

/// Returns the paths of an index.
pub(crate) fn known(git: Git) -> Result<Known, Error> {
    let listing = git.args(["ls-files", "--stage", "-z"]).bytes()?;
    let entry = |entry: &[u8]| {
        let tab = entry.iter().position(|&byte| byte == b'\t')?;
        Some((path_of(&entry[tab + 1..]).into_os_string(), entry.starts_with(b"160000")))
    };
    Ok(fields(&listing).filter_map(entry).collect())
}

/// Removes everything below `root` but the known files, what is kept, and git's own file there. Links are never followed.
///
/// Known paths that are repositories of their own are left as empty folders. Of a file nothing is asked but what the
/// folder says of it: whether it is as it should be is for git to find out.
pub(crate) fn clean(root: &Path, known: &Known, kept: &[PathBuf]) -> Result<(), Error> {
    // However they are written, with a slash at the end or without.
    let kept: Vec<PathBuf> = kept.iter().map(|path| path.components().collect()).collect();
    let mut folders: HashSet<&OsStr> = HashSet::from([OsStr::new("")]);
    for path in known.keys().map(Path::new).chain(kept.iter().map(PathBuf::as_path)) {
        for folder in path.ancestors().skip(1) {
            if !folders.insert(folder.as_os_str()) {
                // So are those above it.
                break;
            }
        }
    }
    let kept: HashSet<&OsStr> = kept.iter().map(|path| path.as_os_str()).collect();
    let mut stack = vec![PathBuf::new()];
    while let Some(folder) = stack.pop() {
        let path = root.join(&folder);
        for entry in entries(&path)? {
            let relative = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(Error::file("look at", entry.path()))?;
            let name = relative.as_os_str();
            match known.get(name) {
                Some(false) if kind.is_file() || kind.is_symlink() => {}
                Some(true) if kind.is_dir() && kept.contains(name) => {}
                Some(true) if kind.is_dir() => empty(&entry.path())?,
                Some(true) => remove_it(&entry.path(), kind)?,
                _ if kept.contains(name) || name == ".git" => {}
                _ if kind.is_dir() && folders.contains(name) => stack.push(relative),
                _ => remove_it(&entry.path(), kind)?,
            }
        }
    }
    Ok(())
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
