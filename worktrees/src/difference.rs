//! Differences as text, for people and for whoever reviews work: within bounds, whatever is in the files.

use crate::git::{are_few_words, exclusion, path_of};
use crate::{Error, Repository, Result, TreeId, Treeish};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

/// Files whose difference is shown are no longer together: it is held as a text.
pub(crate) const LONGEST_DIFFERENCE: u64 = 64 * 1024 * 1024;
/// So many of the files that are left out are named.
const MOST_NAMED: usize = 1_000;
/// What git says where it may have no more.
const OUT_OF_MEMORY: &str = "Out of memory";
/// What git says of a file besides its path and its lines, in bytes at the most.
const OF_HEADER: u64 = 256;
/// So often it says the path, in the summary and four times before the lines; a byte that is no letter takes four where it
/// is quoted.
const PATHS: u64 = 5 * 4;
/// A line of one byte takes two: it is marked.
const OF_LINES: u64 = 2;

impl Repository {
    /// Returns the difference between two commits as text, with a summary of the files first; of the longest
    /// files, where all are longer than anybody reads, no more than their names.
    ///
    /// # Errors
    /// git refused.
    pub fn diff(&self, from: &CommitId, to: &dyn Treeish) -> Result<String> {
        self.diff_within(LONGEST_DIFFERENCE, from, to)
    }

    /// As `diff`, for whoever holds another length.
    pub(crate) fn diff_within(
        &self,
        most: u64,
        from: &CommitId,
        to: &dyn Treeish,
    ) -> Result<String> {
        self.assert_walkable(to)?;
        let tree = TreeId(self.object(&to.to_string(), "tree")?);
        let long = self.too_long_to_show(most, &self.tree_of(from)?, &tree)?;
        // What a program of the user's would make of what agents wrote is not what lands.
        let git = self.git("diff --no-ext-diff --no-textconv --stat --patch");
        let git = git.commit(from).commit(to).merging();
        let left_out: Vec<OsString> = long.iter().map(|path| exclusion(path)).collect();
        let shown = if long.is_empty() {
            git.text()
        } else if are_few_words(&left_out) {
            git.args(["--", ":(top)"]).args(left_out).text()
        } else {
            Ok(String::new())
        };
        let shown = shown.or_else(|error| {
            let is_too_much = match &error {
                Error::GitTookTooLong { .. } => true,
                Error::Git { message, .. } => message.contains(OUT_OF_MEMORY),
                _ => false,
            };
            let words =
                "The difference can't be shown: git takes too long for it, or too much memory.\n";
            is_too_much.then(|| words.to_owned()).ok_or(error)
        })?;
        if long.is_empty() {
            return Ok(shown);
        }
        Ok(format!(
            "Changed as well, and too long for the difference to be shown:\n{}\n{shown}",
            named(&long)
        ))
    }

    /// Returns the difference between a commit and everything in a folder where somebody works who began with it, as `diff` does.
    ///
    /// # Errors
    /// As `tree_of_others`.
    pub fn diff_of_others(&self, from: &CommitId, folder: &Path) -> Result<String> {
        self.diff(from, &self.tree_of_others(folder, from)?)
    }

    /// Returns the longest of the files that differ between two trees, by what both have of them: so many that the difference
    /// of the others can be shown.
    fn too_long_to_show(&self, most: u64, from: &TreeId, to: &TreeId) -> Result<Vec<PathBuf>> {
        let differing = self.differing(from, to)?.into_iter();
        let paths: BTreeSet<Vec<u8>> = differing.map(|(path, _)| path).collect();
        let mut lengths: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for tree in [from, to] {
            let mut files = self.files_at(tree, &paths)?;
            files.retain(|file| !file.is_repository());
            let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
            for (file, length) in files.into_iter().zip(self.lengths(&ids)?) {
                let all = lengths.entry(file.path).or_default();
                *all = all.saturating_add(length);
            }
        }
        let shown = |path: &[u8], length: u64| {
            let path = (path.len() as u64).saturating_mul(PATHS);
            let lines = length.saturating_mul(OF_LINES);
            lines.saturating_add(path).saturating_add(OF_HEADER)
        };
        let longest = lengths
            .into_iter()
            .map(|(path, length)| (shown(&path, length), path));
        let mut longest: Vec<(u64, Vec<u8>)> = longest.collect();
        longest.sort_unstable();
        let mut all: u64 = 0;
        longest.retain(|(length, _)| {
            all = all.saturating_add(*length);
            all > most
        });
        Ok(longest.iter().map(|(_, path)| path_of(path)).collect())
    }
}

/// The last of some paths, a line each.
fn named(paths: &[PathBuf]) -> String {
    let mut names = String::new();
    for path in paths.iter().rev().take(MOST_NAMED) {
        let _ = writeln!(names, "    {}", path.display());
    }
    if let more @ 1.. = paths.len().saturating_sub(MOST_NAMED) {
        let _ = writeln!(names, "    and {more} more");
    }
    names
}
