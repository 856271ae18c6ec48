//! Removes what does not belong into a folder of tm's own: files that nobody knows, whatever kind they are of, and known
//! ones that somebody touched. Folders that stay get the rights that they have in a clone.
//!
//! git's own cleaning passes over pipes, sockets and folders that can't be read, all of which an agent can leave.

use crate::as_cloned::restore_folder;
use crate::indexed::{Indexed, Known, KnownFolder};
use crate::{OrFailedTo as _, Result};
use std::collections::HashSet;
use std::fs::{self, FileType};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

/// What the known files are found to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum KnownFiles {
    /// All of them are there, and none was written since the index was.
    AsIndexed,
    /// Some are not, or nobody can tell.
    Unsure,
}

/// What becomes of known files that are not for certain what they were when the index was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OtherFiles {
    /// They go, to be written anew: whatever rights they were given, and whatever other names they have, git leaves them
    /// where their content is the same.
    Removed,
    /// They stay, and nobody looks at them.
    Kept,
}

/// So many threads look at folders at the same time, where there are at least so many of them.
const MOST_THREADS: usize = 4;
const FOLDERS_FOR_THREADS: usize = 16;

/// Removes everything below `root` but the known files, what is kept, and git's own file there, and says of the known
/// ones whether they are as the index knows them. Links are never followed.
///
/// Known paths that are repositories of their own are left as empty folders.
pub(crate) fn clean(
    root: &Path,
    known: &Known,
    kept: &[PathBuf],
    others: OtherFiles,
) -> Result<KnownFiles> {
    // However they are written, with a slash at the end or without.
    let kept: HashSet<PathBuf> = kept
        .iter()
        .map(|path| path.components().collect())
        .collect();
    let above_kept = kept
        .iter()
        .flat_map(|path| path.ancestors().skip(1))
        .collect();
    let walk = Walk {
        root,
        known,
        kept: &kept,
        above_kept,
        others,
    };
    let (mut as_indexed, mut level) = (0, vec![PathBuf::new()]);
    while !level.is_empty() {
        let cleaned = walk.level(&level)?;
        as_indexed += cleaned.as_indexed;
        level = cleaned.below;
    }
    Ok(if as_indexed == known.files {
        KnownFiles::AsIndexed
    } else {
        KnownFiles::Unsure
    })
}

/// What a folder is cleaned by.
struct Walk<'a> {
    root: &'a Path,
    known: &'a Known,
    kept: &'a HashSet<PathBuf>,
    above_kept: HashSet<&'a Path>,
    others: OtherFiles,
}

/// What came of some folders.
#[derive(Default)]
struct Cleaned {
    /// How many known files are as the index knows them.
    as_indexed: usize,
    /// The folders within that are to be cleaned in turn.
    below: Vec<PathBuf>,
}

impl Walk<'_> {
    /// Cleans folders of which none is within another one.
    fn level(&self, folders: &[PathBuf]) -> Result<Cleaned> {
        // What the system says of processors costs it more than a folder, so that is asked last.
        if folders.len() < FOLDERS_FOR_THREADS {
            return self.folders(folders);
        }
        let threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MOST_THREADS);
        if threads == 1 {
            return self.folders(folders);
        }
        std::thread::scope(|scope| {
            let parts: Vec<_> = folders
                .chunks(folders.len().div_ceil(threads))
                .map(|part| scope.spawn(|| self.folders(part)))
                .collect();
            let mut all = Cleaned::default();
            for part in parts {
                let Cleaned { as_indexed, below } =
                    part.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                all.as_indexed += as_indexed;
                all.below.extend(below);
            }
            Ok(all)
        })
    }

    fn folders(&self, folders: &[PathBuf]) -> Result<Cleaned> {
        let mut cleaned = Cleaned::default();
        for folder in folders {
            self.folder(folder, &mut cleaned)?;
        }
        Ok(cleaned)
    }

    fn folder(&self, folder: &Path, cleaned: &mut Cleaned) -> Result<()> {
        let nothing = KnownFolder::default();
        let known_here = self.known.folder(folder).unwrap_or(&nothing);
        let path = self.root.join(folder);
        restore_folder(&path)?;
        for entry in entries(&path)? {
            let (name, kind) = (
                entry.file_name(),
                entry.file_type().or_failed_to("look at", entry.path())?,
            );
            match known_here.get(&*name) {
                Some(Indexed::File(_))
                    if self.others == OtherFiles::Kept && (kind.is_file() || kind.is_symlink()) => {
                }
                Some(Indexed::File(written)) if kind.is_file() || kind.is_symlink() => {
                    let is_same = written.is_some_and(|written| {
                        let says = entry.metadata();
                        says.is_ok_and(|says| written.is_at(&entry.path(), &says))
                    });
                    cleaned.as_indexed += usize::from(is_same);
                    if !is_same {
                        remove_it(&entry.path(), kind)?;
                    }
                }
                Some(Indexed::Repository) if !kind.is_dir() => remove_it(&entry.path(), kind)?,
                Some(Indexed::Repository) if self.kept.contains(&folder.join(&name)) => {}
                Some(Indexed::Repository) => {
                    let path = entry.path();
                    tm_untrusted::empty_folder(&path).or_failed_to("empty", path)?;
                }
                Some(Indexed::File(_)) | None => {
                    let path = folder.join(&name);
                    if self.kept.contains(&path) || path == Path::new(".git") {
                        continue;
                    }
                    if kind.is_dir()
                        && (self.known.folder(&path).is_some() || self.above_kept.contains(&*path))
                    {
                        cleaned.below.push(path);
                    } else {
                        remove_it(&entry.path(), kind)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// As `remove`, where anything is there.
pub(crate) fn remove_if_there(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        remove(path)?;
    }
    Ok(())
}

/// Removes a file or a folder with all that is in it.
pub(crate) fn remove(path: &Path) -> Result<()> {
    remove_it(
        path,
        fs::symlink_metadata(path)
            .or_failed_to("look at", path)?
            .file_type(),
    )
}

fn remove_it(path: &Path, kind: FileType) -> Result<()> {
    if !kind.is_dir() {
        return fs::remove_file(path).or_failed_to("remove", path);
    }
    tm_untrusted::remove_folder(path).or_failed_to("remove", path)
}

/// Returns what is in a folder, after making sure that it can be read and changed.
fn entries(path: &Path) -> Result<Vec<fs::DirEntry>> {
    open_up(path)?;
    fs::read_dir(path)
        .or_failed_to("read", path)?
        .map(|entry| entry.or_failed_to("read", path))
        .collect()
}

/// Makes sure that a folder can be read and changed; whoever made it can have taken that right from everybody.
pub(crate) fn open_up(path: &Path) -> Result<()> {
    tm_untrusted::open_up(path).or_failed_to("open up", path)
}
