//! How large a change is, and what was done in a folder between two moments: commits, and files that differ whether they
//! are committed or not.
//!
//! Touches neither the index nor a branch nor a file of the folder.

use crate::git::{fields, path_of};
use crate::{Error, Repository, Result, TreeId, Worktree};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;
use tm_scheduler::iteration::WorkChanges;

/// So much of a commit's id is told.
const SHORT: usize = 7;

/// A folder at a moment: its commit, and everything that is in it as a tree.
#[derive(Debug)]
pub struct WorkSnapshot {
    head: CommitId,
    tree: TreeId,
}

/// The size of a change.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Diffstat {
    /// Files that differ.
    pub files: usize,
    /// Lines that are new.
    pub insertions: usize,
    /// Lines that are gone.
    pub deletions: usize,
}

impl Repository {
    /// Takes a snapshot of the user's checkout.
    ///
    /// # Errors
    /// git refused.
    pub fn work_snapshot(&self) -> Result<WorkSnapshot> {
        Ok(WorkSnapshot {
            head: self.head()?.commit,
            tree: self.tree_of_checkout(self.checkout_root())?,
        })
    }

    /// Returns what was done between two snapshots, but for some files (relative to the top).
    ///
    /// # Errors
    /// git refused.
    pub fn work_between(
        &self,
        before: &WorkSnapshot,
        after: &WorkSnapshot,
        left_out: &[PathBuf],
    ) -> Result<WorkChanges> {
        let is_left_out = |path: &Path| left_out.iter().any(|left_out| path.starts_with(left_out));
        let commits = self.history(&before.head, std::slice::from_ref(&after.head))?;
        let short = |id: &CommitId| id.as_str().get(..SHORT).unwrap_or_default().to_owned();
        let mut work = WorkChanges {
            commits: commits
                .into_iter()
                .map(|commit| (short(&commit.id), commit.subject))
                .collect(),
            ..WorkChanges::default()
        };
        let numbers = self
            .git_on_objects("diff-tree -r -z --no-renames --numstat")
            .args([&before.tree.0, &after.tree.0])
            .bytes()?;
        for (lines, path) in line_counts(&numbers) {
            if is_left_out(&path) {
                continue;
            }
            let (new, gone) = lines.unwrap_or_default();
            work.files += 1;
            work.insertions += new;
            work.deletions += gone;
        }
        work.uncommitted = self
            .differing(&self.tree_of(&after.head)?, &after.tree)?
            .iter()
            .filter(|(path, _)| !is_left_out(&path_of(path)))
            .count() as u64;
        Ok(work)
    }

    /// Returns how much differs between two commits.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn diffstat(&self, from: &CommitId, to: &CommitId) -> Result<Diffstat> {
        self.diffstats(&[(from.clone(), to.clone())])?
            .pop()
            .flatten()
            .ok_or_else(|| Error::unknown(format_args!("{from}..{to}")))
    }

    /// As `diffstat` for many pairs at once, in their order; `None` where a commit is not there.
    ///
    /// # Errors
    /// git refused.
    pub fn diffstats(&self, pairs: &[(CommitId, CommitId)]) -> Result<Vec<Option<Diffstat>>> {
        let trees = self.trees_of(pairs.iter().flat_map(|(from, to)| [from, to]))?;
        let trees: Vec<Option<(&str, &str)>> = trees
            .chunks_exact(2)
            .map(|pair| Some((pair[0].as_deref()?, pair[1].as_deref()?)))
            .collect();
        let mut input = String::new();
        for (from, to) in trees.iter().flatten() {
            let _ = writeln!(input, "{from} {to}");
        }
        if input.is_empty() {
            return Ok(vec![None; pairs.len()]);
        }
        let listing = self
            .git("diff-tree --stdin -r --no-renames --numstat")
            .input(input)
            .text()?;
        let mut sums: BTreeMap<(&str, &str), Diffstat> = BTreeMap::new();
        let mut current = None;
        for line in listing.lines() {
            let Some((insertions, rest)) = line.split_once('\t') else {
                // The two trees that the lines below are about.
                current = line.split_once(' ');
                continue;
            };
            let Some(pair) = current else { continue };
            let sum = sums.entry(pair).or_default();
            let deletions = rest.split('\t').next().unwrap_or_default();
            // A file that is not text has no lines: `-`.
            sum.files += 1;
            sum.insertions += insertions.parse().unwrap_or(0);
            sum.deletions += deletions.parse().unwrap_or(0);
        }
        Ok(trees
            .into_iter()
            .map(|pair| Some(sums.get(&pair?).copied().unwrap_or_default()))
            .collect())
    }

    /// Returns the commits that are not there.
    ///
    /// # Errors
    /// git refused.
    pub fn missing(&self, commits: &[CommitId]) -> Result<Vec<CommitId>> {
        let trees = self.trees_of(commits)?;
        Ok(commits
            .iter()
            .zip(trees)
            .filter(|(_, tree)| tree.is_none())
            .map(|(commit, _)| commit.clone())
            .collect())
    }

    /// Returns the tree of each commit; `None` for one that is not there.
    fn trees_of<'a>(
        &self,
        commits: impl IntoIterator<Item = &'a CommitId>,
    ) -> Result<Vec<Option<String>>> {
        let mut input = String::new();
        for commit in commits {
            let _ = writeln!(input, "{commit}^{{tree}}");
        }
        if input.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self
            .git("cat-file")
            .arg("--batch-check=%(objectname) %(objecttype)")
            .input(input)
            .text()?
            .lines()
            .map(|line| line.strip_suffix(" tree").map(ToOwned::to_owned))
            .collect())
    }
}

impl Worktree {
    /// Takes a snapshot of everything that is here.
    ///
    /// # Errors
    /// The folder is not tm's any more, or git refused.
    pub fn work_snapshot(&self) -> Result<WorkSnapshot> {
        Ok(WorkSnapshot {
            head: self.head(),
            tree: self.tree()?,
        })
    }
}

/// Reads what `--numstat -z` says: how many lines are new and gone in each file; a binary file has none.
pub(crate) fn line_counts(listing: &[u8]) -> impl Iterator<Item = (Option<(u64, u64)>, PathBuf)> {
    fields(listing).filter_map(|entry| {
        let mut parts = entry.splitn(3, |&byte| byte == b'\t');
        let mut part = || parts.next();
        let (new, gone, path) = (part()?, part()?, part()?);
        let number = |text| std::str::from_utf8(text).ok()?.parse().ok();
        Some((number(new).zip(number(gone)), path_of(path)))
    })
}
