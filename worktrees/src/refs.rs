//! Moves branches by compare-and-swap, and never one that is not tm's to touch.

use crate::reader::Found;
use crate::{BranchName, Error, Protection, Repository};
use tm_scheduler::CommitId;

/// What a task's branch is expected to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BranchStart {
    /// It is not there.
    New,
    /// It is there from an earlier attempt.
    Reuse {
        /// Its commit.
        expected: CommitId,
    },
}

impl BranchStart {
    /// The old value for git: nothing where there is none.
    pub(crate) fn old_value(&self) -> String {
        match self {
            Self::New => String::new(),
            Self::Reuse { expected } => expected.to_string(),
        }
    }
}

/// Work that is kept under a name of tm's own.
#[derive(Clone, Debug, Eq, PartialEq)]
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
    pub fn branch_tip(&self, branch: &BranchName) -> Result<Option<CommitId>, Error> {
        self.at_reference(&branch.reference())
    }

    /// Returns the commit at a full name of a reference, `None` where there is none.
    pub(crate) fn at_reference(&self, name: &str) -> Result<Option<CommitId>, Error> {
        match self.reader().and_then(|reader| reader.reference(name)) {
            Some(Found::Here(id)) => return Ok(Some(CommitId::new(id))),
            Some(Found::Nothing) => return Ok(None),
            None => {}
        }
        let id = self
            .git()
            .line("rev-parse --verify --quiet")
            .arg(name)
            .text_if_any()?;
        Ok(id.map(CommitId::new))
    }

    /// Returns the names of all branches.
    ///
    /// # Errors
    /// git refused.
    pub fn branches(&self) -> Result<Vec<String>, Error> {
        let listing = self
            .git()
            .args(["for-each-ref", "--format=%(refname:short)", "refs/heads"])
            .text()?;
        Ok(listing.lines().map(ToOwned::to_owned).collect())
    }

    /// Returns the name, or the name with the first of `-2`, `-3` … that is free, here and at the remotes as far as they
    /// are known: a branch that a run on another machine pushed could not be pushed over.
    ///
    /// # Errors
    /// A branch is in the way whose name is a folder of this one, or the other way round.
    pub fn free_branch(&self, wanted: &BranchName) -> Result<BranchName, Error> {
        self.check_clash(wanted)?;
        let mut name = wanted.clone();
        let mut number = 1;
        let remotes = self.references_below("refs/remotes/")?;
        let is_at_remote = |name: &BranchName| {
            let of_remote = |(reference, _): &(String, CommitId)| {
                let rest = reference.strip_prefix("refs/remotes/").unwrap_or_default();
                rest.split_once('/')
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

    fn check_clash(&self, wanted: &BranchName) -> Result<(), Error> {
        let clash = |existing: &str| {
            Err(Error::BranchClash {
                wanted: wanted.clone(),
                existing: existing.to_owned(),
            })
        };
        let text = wanted.as_str();
        for (end, _) in text.match_indices('/') {
            let folder = &text[..end];
            if self
                .branch_tip(&BranchName::new(folder.to_owned())?)?
                .is_some()
            {
                return clash(folder);
            }
        }
        let below = format!("{}/", wanted.reference());
        if let Some(found) = self.reader().and_then(|reader| reader.references(&below)) {
            return found.first().map_or(Ok(()), |(name, _)| {
                clash(name.strip_prefix("refs/heads/").unwrap_or(name))
            });
        }
        let first = self
            .git()
            .args([
                "for-each-ref",
                "--count=1",
                "--format=%(refname:short)",
                &below,
            ])
            .text()?;
        if first.is_empty() {
            Ok(())
        } else {
            clash(&first)
        }
    }

    /// Creates a branch that is not there.
    ///
    /// # Errors
    /// It is there, or its name is protected.
    pub fn create_branch(&self, branch: &BranchName, at: &CommitId) -> Result<(), Error> {
        self.check_clash(branch)?;
        self.move_branch(branch, at, &BranchStart::New)
    }

    /// Moves a branch from where it is expected.
    ///
    /// # Errors
    /// It is elsewhere (`Moved`), or it is protected.
    pub fn move_branch(
        &self,
        branch: &BranchName,
        to: &CommitId,
        from: &BranchStart,
    ) -> Result<(), Error> {
        self.assert_not_protected(branch)?;
        let reference = branch.reference();
        let answer = self
            .git()
            .line("update-ref --no-deref -m tm")
            .arg(&reference)
            .commit(to)
            .arg(from.old_value())
            .answer()?;
        if answer.code == 0 {
            return Ok(());
        }
        let found = self.branch_tip(branch)?;
        let is_expected = match from {
            BranchStart::New => found.is_none(),
            BranchStart::Reuse { expected } => found.as_ref() == Some(expected),
        };
        if is_expected {
            return Err(answer.into_error(&["update-ref".to_owned(), reference]));
        }
        Err(Error::Moved {
            reference,
            expected: CommitId::new(from.old_value()),
            found,
        })
    }

    /// Removes a branch on which nothing was done since it was made here.
    ///
    /// # Errors
    /// It is elsewhere, or it is protected.
    pub fn remove_branch(&self, branch: &BranchName, made_at: &CommitId) -> Result<(), Error> {
        self.assert_not_protected(branch)?;
        self.git()
            .args([
                "update-ref",
                "--no-deref",
                "-m",
                "tm",
                "-d",
                &branch.reference(),
            ])
            .commit(made_at)
            .done()
    }

    /// Keeps a commit under a name that is tm's own. Where other work is kept under that name already, which the commit
    /// does not contain, the name gets a number.
    ///
    /// # Errors
    /// The name does not begin with `refs/tm/`, or git refused.
    pub fn keep(&self, reference: &str, commit: &CommitId) -> Result<(), Error> {
        if !reference.starts_with("refs/tm/") {
            return Err(Error::ForeignReference {
                reference: reference.to_owned(),
            });
        }
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
        self.git()
            .line("update-ref --no-deref -m tm")
            .arg(&name)
            .commit(commit)
            .done()
    }

    /// Returns the commits that are kept below a name of tm's own, the oldest first.
    ///
    /// # Errors
    /// git refused.
    pub fn kept(&self, below: &str) -> Result<Vec<Kept>, Error> {
        let format = "--format=%(refname) %(objectname) %(committerdate:iso-strict) %(subject)";
        let listing = self
            .git()
            .args(["for-each-ref", "--sort=committerdate", format, below])
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
    pub(crate) fn assert_not_protected(&self, branch: &BranchName) -> Result<(), Error> {
        let refuse = |protection| {
            Err(Error::RefusedDefaultBranch {
                branch: branch.clone(),
                protection,
            })
        };
        if self.default_branch()?.as_deref() == Some(branch.as_str()) {
            return refuse(Protection::Default);
        }
        if self.head()?.branch.as_deref() == Some(branch.as_str()) {
            return refuse(Protection::CheckedOut);
        }
        Ok(())
    }
}
