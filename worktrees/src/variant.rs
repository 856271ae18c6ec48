//! What a tree holds.

use crate::git::fields;
use crate::names::name_of;
use crate::reader::Entry;
use crate::trees::LINK;
use crate::{Error, Repository, TreeId};
use std::collections::{BTreeMap, BTreeSet};

impl Repository {
    /// Returns the paths of all files of a tree, symbolic links among them.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn paths(&self, tree: &TreeId) -> Result<BTreeSet<String>, Error> {
        Ok(self
            .files(tree, &|_, _| true)?
            .into_iter()
            .map(Entry::name)
            .collect())
    }

    /// Returns the symbolic links of a tree: where each leads to, by its path.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn links(&self, tree: &TreeId) -> Result<BTreeMap<String, String>, Error> {
        let links = self.files(tree, &|mode, _| mode == LINK)?.into_iter();
        links
            .map(|link| {
                let target = name_of(&self.blob(&link.id)?);
                Ok((link.name(), target))
            })
            .collect()
    }

    /// The files of a tree that are wanted by mode and path.
    pub(crate) fn files(
        &self,
        tree: &TreeId,
        is_wanted: &dyn Fn(i32, &[u8]) -> bool,
    ) -> Result<Vec<Entry>, Error> {
        if let Some(found) = self
            .reader()
            .and_then(|reader| reader.entries(tree, is_wanted))
        {
            return Ok(found);
        }
        let listing = self
            .git()
            .line("ls-tree -r -z --full-tree")
            .arg(&tree.0)
            .bytes()?;
        let entry = |bytes: &[u8]| {
            let tab = bytes.iter().position(|&byte| byte == b'\t')?;
            let facts = String::from_utf8_lossy(&bytes[..tab]).into_owned();
            let mut words = facts.split(' ');
            let mode = i32::from_str_radix(words.next()?, 8).ok()?;
            Some(Entry {
                mode,
                id: words.nth(1)?.to_owned(),
                path: bytes[tab + 1..].to_owned(),
            })
        };
        let entries = fields(&listing).filter_map(entry);
        Ok(entries
            .filter(|entry| is_wanted(entry.mode, &entry.path))
            .collect())
    }

    /// The content of a blob.
    pub(crate) fn blob(&self, id: &str) -> Result<Vec<u8>, Error> {
        match self.reader().and_then(|reader| reader.blob(id)) {
            Some(content) => Ok(content),
            None => self.git_on_objects().line("cat-file blob").arg(id).bytes(),
        }
    }
}
