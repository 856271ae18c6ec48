//! What stands at paths of a tree, as the library reads it.

use crate::library::{FOLDER, Found, content, length};
use crate::reader::{Entry, Reader, id};
use std::collections::BTreeSet;

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
    pub(crate) fn files_at(&self, tree: &str, paths: &BTreeSet<Vec<u8>>) -> Option<Vec<Entry>> {
        let (mut library, tree) = (self.library(), id(tree)?);
        let mut files = Vec::new();
        for path in paths {
            if let Found::Here((mode, found)) = library.find(tree, path)?
                && mode != FOLDER
            {
                files.push(Entry {
                    mode,
                    id: found.to_string(),
                    path: path.clone(),
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
