//! What tests built at the commit that a run began with, for each checkout that is new: nobody waits for the same
//! dependencies to be built once more.
//!
//! Invariant: it was made by tm's own run of the tests before any agent began, in caches that the user named, and where it
//! was touched since, nobody gets it. It keeps its times, and whatever a new checkout has is newer; so programs that build
//! by times build again what is the checkout's own.

use super::copying::{Copying, Moved};
use super::folder::Folder;
use super::manifest::Manifest;
use super::{Error, PreparedPlace};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tm_worktrees::PathPatterns;

/// Caches as the tests left them, in a folder of tm's own.
#[derive(Debug)]
pub(super) struct BuiltCaches {
    folder: PathBuf,
    /// The checkout that they were built in.
    checkout: PathBuf,
    manifest: Manifest,
}

impl BuiltCaches {
    /// Copies these places out of a checkout; `None` where nothing is there.
    pub(super) fn copy_out(
        place: &PreparedPlace,
        caches: &[PathBuf],
        folder: &Path,
    ) -> Result<Option<Self>, Error> {
        match tm_untrusted::remove_folder(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("remove", folder)(error));
            }
            _ => std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?,
        }
        let (from, to) = (place.open()?, open(folder)?);
        let copying = Copying {
            left_out: &[],
            named: &place.folder,
            moved: None,
        };
        for cache in caches {
            copying.copy(&from, &to, cache)?;
        }
        let manifest = Manifest::take(&to, caches, &PathPatterns::default(), folder);
        let manifest = manifest.map_err(Error::file("read", folder))?;
        std::thread::sleep(manifest.unsettled(SystemTime::now()));
        let is_empty = manifest.places().next().is_none();
        Ok((!is_empty).then(|| Self {
            folder: folder.to_owned(),
            checkout: place.folder.clone(),
            manifest,
        }))
    }

    /// Puts them into a checkout that has none of them.
    pub(super) fn put_into(&self, place: &PreparedPlace) -> Result<(), Error> {
        let from = open(&self.folder)?;
        let differences = self.manifest.differences(&from, &PathPatterns::default());
        let differences = differences.map_err(Error::file("read", &self.folder))?;
        if differences.changed.is_some() || !differences.added.is_empty() {
            tracing::warn!(folder = ?self.folder, "was touched, and is not used");
            return Ok(());
        }
        let to = place.open()?;
        let moved = Moved::new(&self.checkout, &place.folder);
        let copying = Copying {
            left_out: &[],
            named: &place.folder,
            moved: Some(&moved),
        };
        for cache in self.manifest.places() {
            if is_free(&to, cache).map_err(place.failed_to("read"))? {
                copying.copy(&from, &to, cache)?;
            }
        }
        Ok(())
    }
}

fn is_free(folder: &Folder, path: &Path) -> std::io::Result<bool> {
    match folder.parent_of(path)? {
        Some((parent, name)) => Ok(parent.stat(name)?.is_none()),
        None => Ok(true),
    }
}

fn open(folder: &Path) -> Result<Folder, Error> {
    Folder::open(folder).map_err(Error::file("open", folder))
}
