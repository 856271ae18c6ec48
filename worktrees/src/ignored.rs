//! What lies in the user's checkout that git ignores, and which files of a tree have certain names.
//!
//! git decides both what a pattern means and what is ignored. Does not know what the paths are wanted for.

use crate::git::{Git, fields, path_of};
use crate::names::name_of;
use crate::reader::Entry;
use crate::trees::NESTED;
use crate::{Error, PathPatterns, Repository, TreeId};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

impl Repository {
    /// Returns what in the user's checkout matches one of these lines, read as those of a `.gitignore` in its root, and
    /// is ignored by git: from its root, in order, none within another. An ignored folder in which everything is wanted
    /// is one path.
    ///
    /// # Errors
    /// git refused.
    pub fn ignored_paths<T: AsRef<str>>(&self, patterns: &[T]) -> Result<Vec<PathBuf>, Error> {
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        let matching = self.untracked_files_matching(patterns)?;
        if matching.is_empty() {
            return Ok(Vec::new());
        }
        let ignored = self.ignored_among(&with_folders(&matching))?;
        let wanted: BTreeSet<PathBuf> = matching.intersection(&ignored).cloned().collect();
        let everything = files(self.git().line("ls-files --cached --others -z"))?;
        let mixed = with_folders(&everything.difference(&wanted).cloned().collect());
        let whole = |folder: &&Path| ignored.contains(*folder) && !mixed.contains(*folder);
        let roots = wanted
            .iter()
            .map(|path| top_down(path).find(whole).unwrap_or(path).to_owned());
        Ok(roots.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn untracked_files_matching<T: AsRef<str>>(
        &self,
        patterns: &[T],
    ) -> Result<BTreeSet<PathBuf>, Error> {
        let lines = patterns_file(patterns)
            .map_err(Error::file("write patterns into", std::env::temp_dir()))?;
        let from = format!("--exclude-from={}", lines.path().display());
        files(self.git().line("ls-files --others --ignored -z").arg(&from))
    }

    /// Those of the paths that git's own rules ignore.
    fn ignored_among(&self, paths: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, Error> {
        let input: Vec<u8> = paths
            .iter()
            .flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat())
            .collect();
        let arguments = ["check-ignore", "-z", "--stdin"];
        let answer = self.git().args(arguments).input(input).answer()?;
        match answer.code {
            // 1: none of them is.
            0 | 1 => Ok(fields(&answer.stdout).map(path_of).collect()),
            _ => Err(answer.into_error(&arguments.map(str::to_owned))),
        }
    }

    /// Returns mode, kind, id and path of each file of a tree that the patterns cover, a line each.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn files_covered(
        &self,
        tree: &TreeId,
        patterns: &PathPatterns,
    ) -> Result<Vec<String>, Error> {
        let covered = self
            .files(tree, &|_, path| patterns.covers(&path_of(path)))?
            .into_iter();
        let line = |Entry { mode, id, path }: Entry| {
            let kind = if mode == NESTED { "commit" } else { "blob" };
            format!("{mode:06o} {kind} {id}\t{}", name_of(&path))
        };
        Ok(covered.map(line).collect())
    }
}

/// Runs a listing; a repository within the checkout is listed with a slash at its end.
fn files(call: Git) -> Result<BTreeSet<PathBuf>, Error> {
    let listing = call.bytes()?;
    Ok(fields(&listing)
        .map(|path| path_of(path.strip_suffix(b"/").unwrap_or(path)))
        .collect())
}

/// The paths and every folder on the way to them.
fn with_folders(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    paths
        .iter()
        .flat_map(|path| top_down(path))
        .map(Path::to_owned)
        .collect()
}

/// The first folder on the way to a path, then the next, the path itself at last.
fn top_down(path: &Path) -> impl Iterator<Item = &Path> {
    let mut ancestors: Vec<&Path> = path
        .ancestors()
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    ancestors.reverse();
    ancestors.into_iter()
}

fn patterns_file<T: AsRef<str>>(patterns: &[T]) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    for pattern in patterns {
        writeln!(file, "{}", pattern.as_ref())?;
    }
    file.flush()?;
    Ok(file)
}
