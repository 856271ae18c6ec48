//! Whether a folder of tm's own is as it was given out, told without git where that is certain.

use super::OwnedFolder;
use crate::TreeId;
use crate::indexed::{Indexed, Known, KnownFolder, entries_of};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

impl OwnedFolder {
    /// Tells whether the folder holds a tree and nothing beside it but what is kept. Where only git can tell, it is not
    /// said to.
    pub(crate) fn is_untouched(&self, tree: &TreeId) -> bool {
        self.holds(tree).unwrap_or(false)
    }

    fn holds(&self, tree: &TreeId) -> Option<bool> {
        let index = self.index_file();
        let all = |_: i32, _: &[u8]| true;
        if entries_of(&index)? != self.repository.read(|reader| reader.entries(tree, &all))? {
            return Some(false);
        }
        let kept = self.kept().into_iter().collect();
        is_as_indexed(&self.path, &Known::read(&index)?, &kept)
    }
}

/// Tells whether all known files are there as the index knows them, and nothing else is; `None` where a folder can't be
/// read.
fn is_as_indexed(root: &Path, known: &Known, kept: &HashSet<PathBuf>) -> Option<bool> {
    let nothing = KnownFolder::default();
    let (mut as_indexed, mut folders) = (0, vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        let known_here = known.folder(&folder).unwrap_or(&nothing);
        for entry in std::fs::read_dir(root.join(&folder)).ok()? {
            let entry = entry.ok()?;
            let path = folder.join(entry.file_name());
            match known_here.get(&*entry.file_name()) {
                Some(Indexed::File(Some(stamp))) if stamp.is_of(&entry.metadata().ok()?) => {
                    as_indexed += 1;
                }
                None if path == Path::new(".git") || kept.contains(&path) => {}
                None if entry.file_type().ok()?.is_dir() && leads_on(&path, known, kept) => {
                    folders.push(path);
                }
                Some(_) | None => return Some(false),
            }
        }
    }
    Some(as_indexed == known.files)
}

/// Whether something that is known or kept lies in a folder.
fn leads_on(folder: &Path, known: &Known, kept: &HashSet<PathBuf>) -> bool {
    known.folder(folder).is_some() || kept.iter().any(|kept| kept.starts_with(folder))
}
