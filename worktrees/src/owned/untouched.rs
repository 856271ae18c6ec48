//! Compares what is in a folder of tm's own with an index of tm's own, and changes nothing: where the index says it all, git
//! need not look.
//!
//! What a file is by the index is said in `as_written.rs`.

use super::OwnedFolder;
use crate::as_written::{AsWritten, Found};
use crate::indexed::{Indexed, Known, KnownFolder};
use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use tm_untrusted::MappedWrites;

/// What a folder is by an index of tm's own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ByIndex {
    /// For certain it holds what the index says and nothing else, but for what is kept. Where there are repositories within,
    /// only git can tell.
    Untouched,
    /// It may hold other things.
    Touched(Unnoticed),
}

/// The known files that were written through a mapping, which left their times as they were; `None` where nobody can tell.
pub(crate) type Unnoticed = Option<Vec<PathBuf>>;

impl ByIndex {
    pub(crate) fn unnoticed(self) -> Unnoticed {
        match self {
            Self::Untouched => Some(Vec::new()),
            Self::Touched(unnoticed) => unnoticed,
        }
    }
}

/// What a walk through a folder finds beside what an index knows.
#[derive(Default)]
struct Beside {
    /// Whether there is something that the index does not know.
    is_unknown_there: bool,
    /// How many known files are what the index says.
    as_indexed: usize,
    /// Those that are not, by their bytes alone.
    of_other_content: Vec<PathBuf>,
}

/// Tells what a file is by what the index says of it.
type Find<'a> = &'a dyn Fn(Option<AsWritten>, &DirEntry) -> io::Result<Found>;

/// How far a walk goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Until {
    /// To the first thing that is not what the index says.
    Other,
    /// To the first that it does not know.
    Unknown,
    /// To the end.
    End,
}

fn found_at(written: Option<AsWritten>, entry: &DirEntry) -> io::Result<Found> {
    let says = entry.metadata()?;
    Ok(written.map_or(Found::Other, |it| it.found_at(&entry.path(), &says)))
}

impl OwnedFolder {
    /// Compares the folder with an index of tm's own. Where times do not tell of all that was written, all files are looked at,
    /// since git would go by their times.
    pub(crate) fn by_index(&self, index: &Path) -> ByIndex {
        let is_told = self.mapped_writes() == MappedWrites::Stamped;
        let until = if is_told { Until::Other } else { Until::End };
        let known = self.repository.read(|_| self.known_by(index));
        let looked = known.and_then(|known| {
            let is_for_git = known.has_repositories();
            if is_for_git && is_told {
                return None;
            }
            let beside = self.beside(&known, &found_at, until).ok()?;
            let is_all = !beside.is_unknown_there && beside.as_indexed == known.files;
            if is_all && !is_for_git {
                return Some(ByIndex::Untouched);
            }
            let in_kept = self.of_other_content_in_kept(&known);
            let others = beside.of_other_content.into_iter().chain(in_kept);
            Some(ByIndex::Touched(Some(others.collect())))
        });
        looked.unwrap_or(ByIndex::Touched(is_told.then(Vec::new)))
    }

    /// git compares what it knows in a folder that is kept where a rule has it pass over the rest.
    fn of_other_content_in_kept(&self, known: &Known) -> Vec<PathBuf> {
        let kept = self.kept();
        if kept.is_empty() {
            return Vec::new();
        }
        let is_kept = |path: &Path| kept.iter().any(|kept| path.starts_with(kept));
        let is_other = |(path, written): (PathBuf, AsWritten)| {
            let path = self.path.join(path);
            let says = path.symlink_metadata().ok()?;
            (written.found_at(&path, &says) == Found::OtherContent).then_some(path)
        };
        let files = known.files_written();
        let of_kept = files.filter(|(path, _)| is_kept(path));
        of_kept.filter_map(is_other).collect()
    }

    /// Tells for certain that there is nothing in the folder that tm's index does not know, but for what is kept.
    pub(crate) fn has_nothing_unknown(&self) -> bool {
        let known = self.repository.read(|_| self.known_by(&self.index_file()));
        let find = |_, _: &DirEntry| Ok(Found::Other);
        let beside = known.and_then(|known| self.beside(&known, &find, Until::Unknown).ok());
        beside.is_some_and(|beside| !beside.is_unknown_there)
    }

    fn beside(&self, known: &Known, find: Find<'_>, until: Until) -> io::Result<Beside> {
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
        let mut beside = Beside::default();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let known_here = known.folder(&folder).unwrap_or(&nothing);
            for entry in fs::read_dir(self.path.join(&folder))? {
                let entry = entry?;
                let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
                let kind = entry.file_type()?;
                match known_here.get(&*name) {
                    Some(Indexed::File(written)) if kind.is_file() || kind.is_symlink() => {
                        match find(*written, &entry)? {
                            Found::Same => beside.as_indexed += 1,
                            _ if until == Until::Other => return Ok(beside),
                            Found::OtherContent => beside.of_other_content.push(entry.path()),
                            Found::Other => {}
                        }
                    }
                    Some(Indexed::Repository) if kind.is_dir() => {}
                    _ if kept.contains(&path) || path == Path::new(".git") => {}
                    None if kind.is_dir()
                        && (known.folder(&path).is_some() || above_kept.contains(&*path)) =>
                    {
                        folders.push(path);
                    }
                    Some(_) | None => {
                        beside.is_unknown_there = true;
                        if until != Until::End {
                            return Ok(beside);
                        }
                    }
                }
            }
        }
        Ok(beside)
    }
}
