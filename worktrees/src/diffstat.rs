//! How large a change is: files and lines between two commits. Reads; never writes.

use crate::{Error, Repository};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tm_scheduler::CommitId;

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
    /// Returns how much differs between two commits.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn diffstat(&self, from: &CommitId, to: &CommitId) -> Result<Diffstat, Error> {
        let mut found = self.diffstats(&[(from.clone(), to.clone())])?;
        let found = found.pop().flatten();
        found.ok_or_else(|| Error::unknown(format_args!("{from}..{to}")))
    }

    /// As `diffstat` for many pairs at once, in their order; `None` where a commit is not there.
    ///
    /// # Errors
    /// git refused.
    pub fn diffstats(
        &self,
        pairs: &[(CommitId, CommitId)],
    ) -> Result<Vec<Option<Diffstat>>, Error> {
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
        let call = self
            .git()
            .line("diff-tree --stdin -r --no-renames --numstat")
            .input(input);
        let listing = call.text()?;
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
    pub fn missing(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, Error> {
        let trees = self.trees_of(commits)?;
        let missing = commits.iter().zip(trees).filter(|(_, tree)| tree.is_none());
        Ok(missing.map(|(commit, _)| commit.clone()).collect())
    }

    /// Returns the tree of each commit; `None` for one that is not there.
    fn trees_of<'a>(
        &self,
        commits: impl IntoIterator<Item = &'a CommitId>,
    ) -> Result<Vec<Option<String>>, Error> {
        let mut input = String::new();
        for commit in commits {
            let _ = writeln!(input, "{commit}^{{tree}}");
        }
        if input.is_empty() {
            return Ok(Vec::new());
        }
        let call = self
            .git()
            .args(["cat-file", "--batch-check=%(objectname) %(objecttype)"])
            .input(input);
        let answer = call.text()?;
        Ok(answer
            .lines()
            .map(|line| line.strip_suffix(" tree").map(ToOwned::to_owned))
            .collect())
    }
}
