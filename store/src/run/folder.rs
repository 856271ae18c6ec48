//! Makes folders that only their owner can enter.

use crate::atomic::{folder_of, replace, sync_folder};
use crate::error::Error;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Creates each folder of `path` that is missing, open to its owner alone; leaves those that exist as they are.
pub(super) fn create_private(path: &Path) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
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
}
