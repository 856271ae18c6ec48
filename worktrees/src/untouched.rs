//! Compares what is in a folder of tm's own with an index of tm's own, and changes nothing: where the index says it all, git
//! need not look.
//!
//! What a file is by the index is said in `as_written.rs`.

use crate::as_written::AsWritten;
use crate::indexed::{Indexed, Known, KnownFolder};
use crate::owned::OwnedFolder;
use std::collections::HashSet;
use std::fs::{self, DirEntry};
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

/// Tells whether a file is what an index says.
type IsSame<'a> = &'a dyn Fn(Option<AsWritten>, &DirEntry) -> io::Result<bool>;

fn is_as_written(written: Option<AsWritten>, entry: &DirEntry) -> io::Result<bool> {
    let says = entry.metadata()?;
    Ok(written.is_some_and(|written| written.is_at(&entry.path(), &says)))
}

impl OwnedFolder {
    /// Tells for certain that a folder holds what an index of tm's own says and nothing else, but for what is kept. Where
    /// there are repositories within, only git can tell.
    pub(crate) fn is_untouched(&self, index: &Path) -> bool {
        let known = || self.repository.read(|_| self.known_by(index));
        known().is_some_and(|known| {
            let beside = || self.beside(&known, &is_as_written).ok();
            !known.has_repositories() && beside() == Some(Beside::AllAsIndexed)
        })
    }

    /// Tells for certain that there is nothing in the folder that tm's index does not know, but for what is kept.
    pub(crate) fn has_nothing_unknown(&self) -> bool {
        let known = self.repository.read(|_| self.known_by(&self.index_file()));
        let beside = known.and_then(|known| self.beside(&known, &|_, _| Ok(false)).ok());
        beside.is_some_and(|beside| beside != Beside::Unknown)
    }

    fn beside(&self, known: &Known, is_same: IsSame<'_>) -> io::Result<Beside> {
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
        let (mut files, mut all_as_indexed) = (0, true);
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let known_here = known.folder(&folder).unwrap_or(&nothing);
            for entry in fs::read_dir(self.path.join(&folder))? {
                let entry = entry?;
                let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
                let kind = entry.file_type()?;
                match known_here.get(&*name) {
                    Some(Indexed::File(written)) if kind.is_file() || kind.is_symlink() => {
                        files += 1;
                        all_as_indexed = all_as_indexed && is_same(*written, &entry)?;
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
        Ok(if all_as_indexed && files == known.files {
            Beside::AllAsIndexed
        } else {
            Beside::NothingUnknown
        })
    }
}
