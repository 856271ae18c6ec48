//! Compares what is in a folder of tm's own with an index of tm's own, and changes nothing: where the index says it all, git
//! need not look.
//!
//! A file is what it was when its time of change is that of the index, which no program can set.

use crate::indexed::{Indexed, Known, KnownFolder};
use crate::owned::OwnedFolder;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a folder has beside what an index knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Beside {
    /// Nothing, and every known file is as it was.
    AllAsIndexed,
    /// Nothing; of some known files nobody can tell, or they are gone.
    NothingUnknown,
    /// Something that the index does not know.
    Unknown,
}

impl OwnedFolder {
    /// Tells for certain that a folder holds what an index of tm's own says and nothing else, but for what is kept. Where
    /// there are repositories within, only git can tell.
    pub(crate) fn is_untouched(&self, index: &Path) -> bool {
        let known = || self.repository.read(|_| Known::read(index));
        known().is_some_and(|known| {
            !known.has_repositories() && self.beside(&known).ok() == Some(Beside::AllAsIndexed)
        })
    }

    /// Tells for certain that there is nothing in the folder that tm's index does not know, but for what is kept.
    pub(crate) fn has_nothing_unknown(&self) -> bool {
        let known = self.repository.read(|_| Known::read(&self.index_file()));
        let beside = known.and_then(|known| self.beside(&known).ok());
        beside.is_some_and(|beside| beside != Beside::Unknown)
    }

    fn beside(&self, known: &Known) -> io::Result<Beside> {
        let kept: HashSet<PathBuf> = self
            .kept()
            .iter()
            .map(|path| path.components().collect())
            .collect();
        let above_kept: HashSet<&Path> = kept
            .iter()
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        let nothing = KnownFolder::default();
        let (mut as_indexed, mut folders) = (0, vec![PathBuf::new()]);
        while let Some(folder) = folders.pop() {
            let known_here = known.folder(&folder).unwrap_or(&nothing);
            for entry in fs::read_dir(self.path.join(&folder))? {
                let entry = entry?;
                let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
                let kind = entry.file_type()?;
                match known_here.get(&*name) {
                    Some(Indexed::File(stamp)) if kind.is_file() || kind.is_symlink() => {
                        let found = entry.metadata()?;
                        let is_same = stamp.is_some_and(|stamp| stamp.is_of(&found));
                        as_indexed += usize::from(is_same);
                    }
                    Some(Indexed::Repository) if kind.is_dir() => {}
                    _ if kept.contains(&path) || path == Path::new(".git") => {}
                    None if kind.is_dir()
                        && (known.folder(&path).is_some() || above_kept.contains(&*path)) =>
                    {
                        folders.push(path);
                    }
                    Some(_) | None => return Ok(Beside::Unknown),
                }
            }
        }
        Ok(if as_indexed == known.files {
            Beside::AllAsIndexed
        } else {
            Beside::NothingUnknown
        })
    }
}
