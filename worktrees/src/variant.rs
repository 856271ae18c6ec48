//! What a tree holds, and trees that differ from another one in the text of some files.

use crate::git::fields;
use crate::reader::Entry;
use crate::{Error, Repository, TreeId};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::CommitId;

/// The mode of a symbolic link.
const LINK: &str = "120000";

impl Repository {
    /// Returns the paths of all files of a tree, symbolic links among them.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn paths(&self, tree: &TreeId) -> Result<BTreeSet<String>, Error> {
        Ok(self.entries(tree)?.into_iter().map(|(_, _, path)| path).collect())
    }

    /// Returns the symbolic links of a tree: where each leads to, by its path.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn links(&self, tree: &TreeId) -> Result<BTreeMap<String, String>, Error> {
        let links = self.entries(tree)?.into_iter().filter(|(mode, _, _)| mode == LINK);
        links.map(|(_, id, path)| Ok((path, String::from_utf8_lossy(&self.blob(&id)?).into_owned()))).collect()
    }

    /// Makes a commit, on no branch, of a tree in which these files have these texts. A file that is there keeps its
    /// mode; a symbolic link gives way to a file.
    ///
    /// # Errors
    /// There is no such tree, or the object store can't be written.
    pub fn with_texts(&self, tree: &TreeId, texts: &[(String, String)], parent: &CommitId) -> Result<CommitId, Error> {
        let modes: BTreeMap<String, String> =
            self.entries(tree)?.into_iter().map(|(mode, _, path)| (path, mode)).collect();
        let mut changes = Vec::new();
        for (path, text) in texts {
            let write = self.git_on_objects().args(["hash-object", "-w", "--stdin"]);
            let id = write.input(text.as_bytes()).object_id()?;
            let mode = modes.get(path).map(String::as_str).filter(|mode| *mode != LINK).unwrap_or("100644");
            changes.extend_from_slice(format!("{mode} {id}\t{path}\0").as_bytes());
        }
        let made = self.tree_with(tree, changes)?;
        self.commit_to_test(&made, parent)
    }

    /// Mode, id and path of every file.
    pub(crate) fn entries(&self, tree: &TreeId) -> Result<Vec<(String, String, String)>, Error> {
        let entry =
            |Entry { mode, id, path }: Entry| (format!("{mode:06o}"), id, String::from_utf8_lossy(&path).into_owned());
        Ok(self.files(tree)?.into_iter().map(entry).collect())
    }

    /// Every file of a tree.
    pub(crate) fn files(&self, tree: &TreeId) -> Result<Vec<Entry>, Error> {
        if let Some(found) = self.reader().and_then(|reader| reader.entries(tree)) {
            return Ok(found);
        }
        let listing = self.git().args(["ls-tree", "-r", "-z", "--full-tree", &tree.0]).bytes()?;
        let entry = |bytes: &[u8]| {
            let tab = bytes.iter().position(|&byte| byte == b'\t')?;
            let facts = String::from_utf8_lossy(&bytes[..tab]).into_owned();
            let mut words = facts.split(' ');
            let mode = i32::from_str_radix(words.next()?, 8).ok()?;
            Some(Entry { mode, id: words.nth(1)?.to_owned(), path: bytes[tab + 1..].to_owned() })
        };
        Ok(fields(&listing).filter_map(entry).collect())
    }

    /// The content of a blob.
    pub(crate) fn blob(&self, id: &str) -> Result<Vec<u8>, Error> {
        match self.reader().and_then(|reader| reader.blob(id)) {
            Some(content) => Ok(content),
            None => self.git_on_objects().args(["cat-file", "blob", id]).bytes(),
        }
    }
}
