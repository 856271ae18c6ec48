//! How large a change is, and what was done in a folder between two moments: commits, and files that differ whether they
//! are committed or not.
//!
//! Touches neither the index nor a branch nor a file of the folder.

use crate::git::{fields, path_of};
use crate::nested::assert_git_may_look;
use crate::{Error, OrFailedTo as _, Repository, Result, TreeId, Worktree};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
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

/// The beginning of what differs between two commits, as a patch.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Patch {
    /// Whole lines.
    pub text: String,
    /// So many lines more there are.
    pub left_out: u64,
}

impl Repository {
    /// Takes a snapshot of the user's checkout.
    ///
    /// # Errors
    /// git refused, or would wait there for ever (`NotForGit`).
    pub fn work_snapshot(&self) -> Result<WorkSnapshot> {
        assert_git_may_look(self.checkout_root(), &[])?;
        Ok(WorkSnapshot {
            head: self.head()?.commit,
            tree: self.tree_of_checkout()?,
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
        // Whoever looks at the history walks each.
        for commit in &commits {
            self.assert_committed_walkable(&commit.id)?;
        }
        let short = |id: &CommitId| id.as_str().get(..SHORT).unwrap_or_default().to_owned();
        let mut work = WorkChanges {
            commits: commits
                .into_iter()
                .map(|commit| (short(&commit.id), commit.subject))
                .collect(),
            ..WorkChanges::default()
        };
        for tree in [&before.tree, &after.tree] {
            self.assert_committed_walkable(tree)?;
        }
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
        self.of_pairs(pairs, "--numstat", |sum: &mut Diffstat, line| {
            let mut fields = line.split('\t');
            // A file that is not text has no lines: `-`.
            let mut count = || fields.next().and_then(|field| field.parse::<usize>().ok());
            sum.files += 1;
            sum.insertions += count().unwrap_or(0);
            sum.deletions += count().unwrap_or(0);
        })
    }

    /// Returns what differs between two commits, as patches of so many bytes at the most, for many pairs at once, in
    /// their order; `None` where a commit is not there.
    ///
    /// # Errors
    /// git refused.
    pub fn patches(
        &self,
        pairs: &[(CommitId, CommitId)],
        most: usize,
    ) -> Result<Vec<Option<Patch>>> {
        let form = "--patch --no-color --no-ext-diff --no-textconv";
        self.of_pairs(pairs, form, |patch: &mut Patch, line| {
            if patch.left_out > 0 || patch.text.len() + line.len() >= most {
                patch.left_out += 1;
            } else {
                patch.text += line;
                patch.text.push('\n');
            }
        })
    }

    /// Asks git what differs between the commits of each pair, and takes in each line of what it says.
    fn of_pairs<T: Clone + Default>(
        &self,
        pairs: &[(CommitId, CommitId)],
        form: &str,
        take: impl Fn(&mut T, &str),
    ) -> Result<Vec<Option<T>>> {
        let trees = self.trees_of(pairs.iter().flat_map(|(from, to)| [from, to]))?;
        let trees: Vec<Option<String>> = trees
            .chunks_exact(2)
            .map(|pair| Some(format!("{} {}", pair[0].as_deref()?, pair[1].as_deref()?)))
            .collect();
        let mut taken: BTreeMap<&str, T> = trees
            .iter()
            .flatten()
            .map(|pair| (pair.as_str(), T::default()))
            .collect();
        if taken.is_empty() {
            return Ok(vec![None; pairs.len()]);
        }
        let input: String = taken.keys().flat_map(|pair| [*pair, "\n"]).collect();
        // It may be more than fits into memory.
        let folder = std::env::temp_dir();
        let listing = tempfile::NamedTempFile::new().or_failed_to("write to", &folder)?;
        self.git("diff-tree --stdin -r --no-renames")
            .line(form)
            .input(input)
            .output_to(listing.path().to_owned())
            .done()?;
        let listing = File::open(listing.path()).or_failed_to("read", listing.path())?;
        let (mut listing, mut line) = (BufReader::new(listing), Vec::new());
        let mut current = None;
        while listing
            .read_until(b'\n', &mut line)
            .or_failed_to("read in", &folder)?
            > 0
        {
            let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
            // The trees that the lines below are about: no line that is about them reads so.
            match taken.get_key_value(&*text) {
                Some((pair, _)) => current = Some(*pair),
                None => drop(
                    current
                        .and_then(|pair| taken.get_mut(pair))
                        .map(|known| take(known, &text)),
                ),
            }
            line.clear();
        }
        let of = |pair: &Option<String>| taken.get(pair.as_deref()?).cloned();
        Ok(trees.iter().map(of).collect())
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
