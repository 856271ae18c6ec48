//! Makes sure that no file of work is longer than anybody could read: one of holes takes no disk, and packs to nothing.
//!
//! Lengths are those that objects are said to have at their beginnings. So nothing is read before it is known to be short.

use crate::git::path_of;
use crate::{Conflict, Error, Repository, Result, TreeId};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

const MEBIBYTE: u64 = 1024 * 1024;
/// A file that is new, or has changed, is no longer than this: objects are read as a whole.
pub(crate) const LONGEST_FILE: u64 = 256 * MEBIBYTE;
/// All of them together are no longer: each is read several times.
const LONGEST_TOGETHER: u64 = 4 * 1024 * MEBIBYTE;
/// A text that tm itself understands, such as a manifest, is no longer.
pub(crate) const LONGEST_TEXT: u64 = 16 * MEBIBYTE;

/// All versions of all texts in conflict, and what git made of them, are no longer together: each is held several times.
const LONGEST_TEXTS: u64 = 6 * LONGEST_TEXT;

/// What a commit says is read with that of others, and told.
const LONGEST_MESSAGE: u64 = MEBIBYTE;
/// A folder with more entries than a tree may have is longer.
const LONGEST_FOLDER: u64 = 64 * MEBIBYTE;

/// Returns how long an object of a kind of git's is at the most, in bytes.
pub(crate) fn longest_object(kind: &str) -> u64 {
    match kind {
        "blob" => LONGEST_FILE,
        "tree" => LONGEST_FOLDER,
        _ => LONGEST_MESSAGE,
    }
}

impl Repository {
    /// Makes sure that these files of a tree are short enough to be read.
    ///
    /// # Errors
    /// They are not (`NotTaken`), or git refused.
    pub(crate) fn assert_short(&self, tree: &TreeId, paths: &BTreeSet<Vec<u8>>) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut files = self.files_at(tree, paths)?;
        files.retain(|file| !file.is_repository());
        let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
        let lengths = self.lengths(&ids)?;
        for (file, length) in files.iter().zip(&lengths) {
            if *length > LONGEST_FILE {
                let path = path_of(&file.path);
                let what = format!("`{}` has", path.display());
                return Err(too_long(&what, *length, LONGEST_FILE));
            }
        }
        let all = lengths.iter().sum();
        if all > LONGEST_TOGETHER {
            return Err(too_long("its files have", all, LONGEST_TOGETHER));
        }
        Ok(())
    }

    /// Returns a conflict whose texts nobody looks at where they are longer than texts are.
    ///
    /// # Errors
    /// git refused.
    pub(crate) fn without_long_texts(&self, conflict: Conflict) -> Result<Conflict> {
        let texts = conflict.texts.as_deref().unwrap_or_default();
        let versions = texts.iter().flat_map(|of| {
            let sides = [of.ours.clone(), of.theirs.clone()];
            of.base.iter().cloned().chain(sides)
        });
        // Attributes say how long the marks in a file are.
        let paths = texts.iter().map(|of| of.path.as_os_str().as_bytes());
        let marked = self.files_at(&conflict.marked, &paths.collect())?;
        let marked: Vec<String> = marked.into_iter().map(|file| file.id).collect();
        let versions = self.lengths(&versions.collect::<Vec<_>>())?;
        let all: u64 = versions.iter().chain(&self.lengths(&marked)?).sum();
        let are_short =
            versions.iter().all(|length| *length <= LONGEST_TEXT) && all <= LONGEST_TEXTS;
        Ok(Conflict {
            texts: conflict.texts.filter(|_| are_short),
            ..conflict
        })
    }

    pub(crate) fn lengths(&self, ids: &[String]) -> Result<Vec<u64>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.read_or(|reader| reader.lengths(ids), || self.lengths_by_git(ids))
    }

    fn lengths_by_git(&self, ids: &[String]) -> Result<Vec<u64>> {
        let git = self.git_on_objects("cat-file --batch-check=%(objectsize)");
        let said = git.input(ids.join("\n") + "\n").lines()?;
        // What is missing is told by whoever reads it.
        Ok(said.iter().map(|said| said.parse().unwrap_or(0)).collect())
    }
}

fn too_long(what: &str, length: u64, most: u64) -> Error {
    Error::NotTaken(format!(
        "{what} {length} bytes, and {most} is the most that is taken: leave out what is made again, or keep it in Git LFS"
    ))
}
