//! Moves branches by compare-and-swap, and never one that is not tm's to touch.

use crate::git::Git;
use crate::{Error, Protection, Repository, Result};
use tm_scheduler::{BranchName, CommitId};

/// Work that is kept under a name of tm's own.
#[derive(Debug, Eq, PartialEq)]
pub struct Kept {
    /// The full name of the reference.
    pub reference: String,
    /// The commit.
    pub commit: CommitId,
    /// When it was made, RFC 3339.
    pub at: String,
    /// The first line of its message.
    pub subject: String,
}

impl Repository {
    /// Returns the commit of a branch, `None` when there is no such branch.
    ///
    /// # Errors
    /// git refused.
    pub fn branch_tip(&self, branch: &BranchName) -> Result<Option<CommitId>> {
        self.at_reference(&branch.reference())
    }

    /// Returns the commit at a full name of a reference, `None` where there is none.
    pub(crate) fn at_reference(&self, name: &str) -> Result<Option<CommitId>> {
        let of_git = || {
            let call = self.git("rev-parse --verify --quiet").arg(name);
            Ok(call.text_if_any()?.map(CommitId::new))
        };
        self.read_or(|reader| Some(reader.reference(name)?.here()), of_git)
    }

    /// Returns the names of all branches.
    ///
    /// # Errors
    /// git refused.
    pub fn branches(&self) -> Result<Vec<String>> {
        let format = "--format=%(refname:short)";
        self.git("for-each-ref")
            .args([format, "refs/heads"])
            .lines()
    }

    /// Returns the full names of all branches, those of remotes too.
    ///
    /// # Errors
    /// git refused.
    pub fn branch_references(&self) -> Result<Vec<String>> {
        self.git("for-each-ref --format=%(refname)")
            .line("refs/heads refs/remotes")
            .lines()
    }

    /// Returns the full names of references below one of tm's own, with their commits.
    ///
    /// # Errors
    /// git refused.
    pub fn references_below(&self, below: &str) -> Result<Vec<(String, CommitId)>> {
        let folder = format!("{}/", below.trim_end_matches('/'));
        let reference = |line: &str| {
            let (name, id) = line.split_once(' ')?;
            Some((name.to_owned(), CommitId::new(id)))
        };
        let of_git = || {
            let format = "--format=%(refname) %(objectname)";
            let listing = self.git("for-each-ref").args([format, below]).text()?;
            Ok(listing.lines().filter_map(reference).collect())
        };
        self.read_or(|reader| reader.references(&folder), of_git)
    }

    /// Returns the name, or the name with the first of `-2`, `-3` … that is free, here and at the remotes as far as they
    /// are known: a branch that a run on another machine pushed could not be pushed over.
    ///
    /// # Errors
    /// A branch is in the way whose name is a folder of this one, or the other way round.
    pub fn free_branch(&self, wanted: &BranchName) -> Result<BranchName> {
        self.check_clash(wanted)?;
        let mut name = wanted.clone();
        let mut number = 1;
        let remotes = self.references_below("refs/remotes/")?;
        let is_at_remote = |name: &BranchName| {
            let of_remote = |(reference, _): &(String, CommitId)| {
                reference
                    .strip_prefix("refs/remotes/")
                    .unwrap_or_default()
                    .split_once('/')
                    .is_some_and(|(_, branch)| branch == name.as_str())
            };
            remotes.iter().any(of_remote)
        };
        while is_at_remote(&name) || self.branch_tip(&name)?.is_some() {
            number += 1;
            name = BranchName::new(format!("{wanted}-{number}"))?;
        }
        Ok(name)
    }

    fn check_clash(&self, wanted: &BranchName) -> Result<()> {
        let clash = |existing: &str| {
            Err(Error::BranchClash {
                wanted: wanted.clone(),
                existing: existing.to_owned(),
            })
        };
        let text = wanted.as_str();
        for (end, _) in text.match_indices('/') {
            let folder = &text[..end];
            if self.branch_tip(&BranchName::new(folder)?)?.is_some() {
                return clash(folder);
            }
        }
        self.references_below(&format!("{}/", wanted.reference()))?
            .first()
            .map_or(Ok(()), |(name, _)| {
                clash(name.strip_prefix("refs/heads/").unwrap_or(name))
            })
    }

    /// Creates a branch that is not there.
    ///
    /// # Errors
    /// It is there, or its name is protected.
    pub fn create_branch(&self, branch: &BranchName, at: &CommitId) -> Result<()> {
        self.check_clash(branch)?;
        self.move_branch(branch, at, None)
    }

    /// Moves a branch from where it is expected; with nothing expected it is made.
    ///
    /// # Errors
    /// It is elsewhere (`Moved`), or it is protected.
    pub fn move_branch(
        &self,
        branch: &BranchName,
        to: &CommitId,
        from: Option<&CommitId>,
    ) -> Result<()> {
        self.assert_not_protected(branch)?;
        self.move_reference(&branch.reference(), to, from)
    }

    /// Moves a reference from where it is expected; with nothing expected it is made.
    pub(crate) fn move_reference(
        &self,
        reference: &str,
        to: &CommitId,
        from: Option<&CommitId>,
    ) -> Result<()> {
        let expected = from.map_or("", CommitId::as_str);
        self.publish_objects()?;
        let start = || {
            let git = self.git_on_objects("update-ref --no-deref -m tm -z --stdin");
            git.staying()
        };
        let updates = self.own().map(|own| &own.reference_updates);
        if updates.is_some_and(|updates| updates.is_moved(start, reference, (from, to))) {
            return Ok(());
        }
        let git = self.git_update(reference).commit(to).arg(expected);
        let Err(error) = git.done() else {
            return Ok(());
        };
        let found = self.at_reference(reference)?;
        if found.as_ref() == from {
            return Err(error);
        }
        Err(Error::Moved {
            reference: reference.to_owned(),
            expected: CommitId::new(expected),
            found,
        })
    }

    fn git_update(&self, reference: &str) -> Git {
        self.git("update-ref --no-deref -m tm").arg(reference)
    }

    /// Removes a branch on which nothing was done since it was made here.
    ///
    /// # Errors
    /// It is elsewhere, or it is protected.
    pub fn remove_branch(&self, branch: &BranchName, made_at: &CommitId) -> Result<()> {
        self.assert_not_protected(branch)?;
        self.git_update("-d")
            .arg(branch.reference())
            .commit(made_at)
            .done()
    }

    /// Removes a reference of tm's own that is at a commit.
    ///
    /// # Errors
    /// Its name does not begin with `refs/tm/`, it is elsewhere, or git refused.
    pub fn forget(&self, reference: &str, at: &CommitId) -> Result<()> {
        assert_of_tm(reference)?;
        self.git_update("-d").arg(reference).commit(at).done()
    }

    /// Keeps a commit under a name that is tm's own. Where other work is kept under that name already, which the commit
    /// does not contain, the name gets a number.
    ///
    /// # Errors
    /// The name does not begin with `refs/tm/`, or git refused.
    pub fn keep(&self, reference: &str, commit: &CommitId) -> Result<()> {
        assert_of_tm(reference)?;
        let mut name = reference.to_owned();
        let mut number = 1_u32;
        while let Ok(kept) = self.resolve(&name) {
            if self.is_ancestor(commit, &kept)? {
                return Ok(());
            }
            if self.is_ancestor(&kept, commit)? {
                break;
            }
            number += 1;
            name = format!("{reference}-{number}");
        }
        self.publish_objects()?;
        self.git_update(&name).commit(commit).done()
    }

    /// Keeps work that a commit does not contain, as `keep` does; what is not there any more can't be.
    ///
    /// # Errors
    /// As `keep`.
    pub fn keep_unless_in(
        &self,
        commit: &CommitId,
        work: &CommitId,
        reference: &str,
    ) -> Result<()> {
        match self.is_ancestor(work, commit) {
            Ok(true) => Ok(()),
            Ok(false) => self.keep(reference, work),
            Err(_) if !self.missing(std::slice::from_ref(work))?.is_empty() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the commits that are kept below a name of tm's own, the oldest first.
    ///
    /// # Errors
    /// git refused.
    pub fn kept(&self, below: &str) -> Result<Vec<Kept>> {
        let format = "--format=%(refname) %(objectname) %(committerdate:iso-strict) %(subject)";
        let listing = self
            .git("for-each-ref --sort=committerdate")
            .args([format, below])
            .text()?;
        let kept = listing.lines().filter_map(|line| {
            let mut parts = line.splitn(4, ' ').map(ToOwned::to_owned);
            Some(Kept {
                reference: parts.next()?,
                commit: CommitId::new(parts.next()?),
                at: parts.next()?,
                subject: parts.next().unwrap_or_default(),
            })
        });
        Ok(kept.collect())
    }

    /// Refuses the default branch, and the branch that the user has checked out.
    pub(crate) fn assert_not_protected(&self, branch: &BranchName) -> Result<()> {
        let is_it = |name: Option<String>| name.as_deref() == Some(branch.as_str());
        let protection = if is_it(self.default_branch()?) {
            Protection::Default
        } else if is_it(self.head()?.branch) {
            Protection::CheckedOut
        } else {
            return Ok(());
        };
        Err(Error::RefusedDefaultBranch {
            branch: branch.clone(),
            protection,
        })
    }
}

fn assert_of_tm(reference: &str) -> Result<()> {
    if reference.starts_with("refs/tm/") {
        return Ok(());
    }
    Err(Error::ForeignReference(reference.to_owned()))
}
