//! What stands at paths of a tree.

use crate::git::path_of;
use crate::library::{FOLDER, Found, content, length};
use crate::reader::{Entry, Reader, id};
use crate::{Repository, Result, TreeId};
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// So many files are found one by one, and not by a walk through all.
const FEW: usize = 50;

impl Repository {
    /// The files of a tree at these paths, repositories within among them.
    pub(crate) fn files_at<Name: Borrow<[u8]> + Ord>(
        &self,
        tree: &TreeId,
        paths: &BTreeSet<Name>,
    ) -> Result<Vec<Entry>> {
        let few = || self.read(|reader| reader.files_at(&tree.0, paths));
        let found = (paths.len() <= FEW).then(few).flatten();
        found.map_or_else(|| self.files(tree, &|_, path| paths.contains(path)), Ok)
    }

    /// Tells whether a tree has anything at a path, a folder or a file.
    pub(crate) fn has_path(&self, tree: &TreeId, path: &Path) -> Result<bool> {
        let path: PathBuf = path.components().collect();
        let within = |file: &[u8]| path_of(file).starts_with(&path);
        self.read_or(
            |reader| reader.has_path(&tree.0, path.as_os_str().as_bytes()),
            || Ok(!self.files(tree, &|_, file| within(file))?.is_empty()),
        )
    }
}

impl Reader {
    /// Returns the content of a file, or the target of a link, in a tree; a longer one counts as not there.
    pub(crate) fn file(&self, tree: &str, path: &[u8], most: u64) -> Option<Found<Vec<u8>>> {
        let mut library = self.library();
        match library.find(id(tree)?, path)? {
            Found::Here((_, found)) if length(&library.git, found)? <= most => {
                content(&library.git, found).map(Found::Here)
            }
            Found::Here(_) | Found::Nothing => Some(Found::Nothing),
        }
    }

    /// Returns the files at a few paths of a tree, without a look at others.
    pub(crate) fn files_at<Name: Borrow<[u8]>>(
        &self,
        tree: &str,
        paths: &BTreeSet<Name>,
    ) -> Option<Vec<Entry>> {
        let (mut library, tree) = (self.library(), id(tree)?);
        let mut files = Vec::new();
        for path in paths.iter().map(Borrow::borrow) {
            if let Found::Here((mode, found)) = library.find(tree, path)?
                && mode != FOLDER
            {
                files.push(Entry {
                    mode,
                    id: found.to_string(),
                    path: path.to_owned(),
                });
            }
        }
        Some(files)
    }

    /// Returns how long objects are, as they say themselves.
    pub(crate) fn lengths(&self, ids: &[String]) -> Option<Vec<u64>> {
        let library = self.library();
        let length = |named: &String| length(&library.git, id(named)?);
        ids.iter().map(length).collect()
    }

    /// Tells whether a tree has anything at a path, a folder or a file.
    pub(crate) fn has_path(&self, tree: &str, path: &[u8]) -> Option<bool> {
        let found = self.library().find(id(tree)?, path)?;
        Some(found.here().is_some())
    }
}
