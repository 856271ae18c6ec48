//! What lies in the user's checkout that git ignores.
//!
//! git decides both what a pattern means and what is ignored. Does not know what the paths are wanted for.

use crate::git::{Git, fields, joined, path_of};
use crate::{OrFailedTo as _, Repository, Result};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

impl Repository {
    /// Returns what in the user's checkout matches one of these lines, read as those of a `.gitignore` in its root, and
    /// is ignored by git: from its root, in order, none within another. An ignored folder in which everything is wanted
    /// is one path.
    ///
    /// # Errors
    /// git refused.
    pub fn ignored_paths<T: AsRef<str>>(&self, patterns: &[T]) -> Result<Vec<PathBuf>> {
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        let matching = self.untracked_files_matching(patterns)?;
        if matching.is_empty() {
            return Ok(Vec::new());
        }
        let ignored = self
            .git("check-ignore -z --stdin")
            .ignored_among(&with_folders(&matching))?;
        let wanted: BTreeSet<PathBuf> = matching.intersection(&ignored).cloned().collect();
        let everything = files(self.git("ls-files --cached --others -z"))?;
        let mixed = with_folders(&everything.difference(&wanted).cloned().collect());
        let whole = |folder: &&Path| ignored.contains(*folder) && !mixed.contains(*folder);
        Ok(wanted
            .iter()
            .map(|path| top_down(path).find(whole).unwrap_or(path).to_owned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect())
    }

    fn untracked_files_matching<T: AsRef<str>>(&self, patterns: &[T]) -> Result<BTreeSet<PathBuf>> {
        let lines =
            patterns_file(patterns).or_failed_to("write patterns into", std::env::temp_dir())?;
        let from = format!("--exclude-from={}", lines.path().display());
        files(self.git("ls-files --others --ignored -z").arg(from))
    }
}

impl Git {
    /// Runs a call of `check-ignore`, and returns those of the paths that git's own rules ignore.
    pub(crate) fn ignored_among<'p>(
        self,
        paths: impl IntoIterator<Item = &'p PathBuf>,
    ) -> Result<BTreeSet<PathBuf>> {
        // 1: none of them is.
        let answer = self.input(joined(paths)).answer_up_to(1)?;
        Ok(fields(&answer.stdout).map(path_of).collect())
    }
}

/// Runs a listing; a repository within the checkout is listed with a slash at its end.
fn files(call: Git) -> Result<BTreeSet<PathBuf>> {
    let listing = call.bytes()?;
    let plain = |path: &[u8]| path_of(path.strip_suffix(b"/").unwrap_or(path));
    Ok(fields(&listing).map(plain).collect())
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
