//! Removes what does not belong into a folder of tm's own: files that nobody knows, whatever kind they are of.
//!
//! git's own cleaning passes over pipes, sockets and folders that can't be read, all of which an agent can leave.

use crate::Error;
use crate::git::{Git, fields, path_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the paths of an index, with whether each is a repository within.
pub(crate) fn known(git: Git) -> Result<BTreeMap<PathBuf, bool>, Error> {
    let listing = git.args(["ls-files", "--stage", "-z"]).bytes()?;
    let entry = |entry: &[u8]| {
        let tab = entry.iter().position(|&byte| byte == b'\t')?;
        Some((path_of(&entry[tab + 1..]), entry.starts_with(b"160000")))
    };
    Ok(fields(&listing).filter_map(entry).collect())
}

/// Removes everything below `root` but the known files, what is kept, and git's own file there. Links are never followed.
///
/// Known paths that are repositories of their own are left as empty folders.
pub(crate) fn clean(root: &Path, known: &BTreeMap<PathBuf, bool>, kept: &[PathBuf]) -> Result<(), Error> {
    let mut folders: BTreeSet<&Path> = BTreeSet::new();
    for path in known.keys().chain(kept) {
        folders.extend(path.ancestors().skip(1));
    }
    folders.insert(Path::new(""));
    let kept: BTreeSet<&Path> = kept.iter().map(PathBuf::as_path).collect();
    let mut stack = vec![PathBuf::new()];
    while let Some(folder) = stack.pop() {
        let path = root.join(&folder);
        for entry in entries(&path)? {
            let relative = folder.join(entry.file_name());
            let metadata = entry.metadata().map_err(Error::file("look at", entry.path()))?;
            match known.get(&relative) {
                Some(false) if metadata.is_file() || metadata.is_symlink() => {}
                Some(true) if metadata.is_dir() && kept.contains(relative.as_path()) => {}
                Some(true) if metadata.is_dir() => empty(&entry.path())?,
                Some(true) => remove_it(&entry.path(), &metadata)?,
                _ if kept.contains(relative.as_path()) || relative == Path::new(".git") => {}
                _ if metadata.is_dir() && folders.contains(relative.as_path()) => stack.push(relative),
                _ => remove_it(&entry.path(), &metadata)?,
            }
        }
    }
    Ok(())
}

/// Removes a file or a folder with all that is in it.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    let metadata = fs::symlink_metadata(path).map_err(Error::file("look at", path))?;
    remove_it(path, &metadata)
}

fn remove_it(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    if !metadata.is_dir() {
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
        let metadata = entry.metadata().map_err(Error::file("look at", entry.path()))?;
        remove_it(&entry.path(), &metadata)?;
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
