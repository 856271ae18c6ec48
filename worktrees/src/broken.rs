//! References of tm's own whose work is not there any more: what `git prune --expire=now` took between the making of a
//! commit and of the reference to it, which nothing of git's can prevent. git lists no reference where one is broken, so
//! they are put back to where they last held something, or removed, and told.

use crate::files::beginning;
use crate::{Repository, Result};
use std::fmt;
use tm_scheduler::{BranchName, CommitId};

/// A reference's log is no longer.
const LOG_BYTES: usize = 16 * 1024 * 1024;
/// What tm says in it.
const OWN_WORD: &str = "\ttm";

/// A reference to a commit of which something is missing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BrokenReference {
    /// Its full name.
    pub name: String,
    /// The commit.
    pub commit: CommitId,
    /// The last commit that it was at of which nothing is missing.
    before: Option<CommitId>,
}

impl fmt::Display for BrokenReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, commit, .. } = self;
        write!(
            formatter,
            "`{name}` names {commit}, of which objects are missing, as `git prune` or `git gc --prune=now` leaves it \
             beside a run"
        )
    }
}

impl BrokenReference {
    /// Says what becomes of it when it is mended.
    pub fn mended(&self) -> String {
        match &self.before {
            Some(before) => format!("{self}; it is put back to {before}"),
            None => format!("{self}; it is removed"),
        }
    }
}

impl Repository {
    /// Returns the references that tm made of whose work something is missing.
    ///
    /// # Errors
    /// git refused.
    pub fn broken_references(&self) -> Result<Vec<BrokenReference>> {
        let mut own = self.references_below("refs/tm/salvage")?;
        let of_tm = |(name, _): &(String, CommitId)| {
            let log = self.log_of(name);
            log.lines().any(|line| line.ends_with(OWN_WORD))
        };
        own.extend(
            self.references_below("refs/heads")?
                .into_iter()
                .filter(of_tm),
        );
        if self.are_whole(own.iter().map(|(_, commit)| commit)) {
            return Ok(Vec::new());
        }
        own.retain(|(_, commit)| !self.are_whole([commit]));
        let broken = |(name, commit): (String, CommitId)| {
            let log = self.log_of(&name);
            let ids = log.lines().rev().filter_map(|line| line.split(' ').nth(1));
            let mut ids = ids.map(CommitId::new);
            BrokenReference {
                before: ids.find(|id| self.are_whole([id])),
                name,
                commit,
            }
        };
        Ok(own.into_iter().map(broken).collect())
    }

    /// Mends them, each only where it was seen; returns those that were.
    ///
    /// # Errors
    /// git refused to list them; one that it refuses to mend stays.
    pub fn mend_references(&self) -> Result<Vec<BrokenReference>> {
        let is_mended = |broken: &BrokenReference| {
            let branch = broken.name.strip_prefix("refs/heads/").map(BranchName::new);
            let is_free = match branch {
                Some(Ok(branch)) => self.assert_not_protected(&branch).is_ok(),
                Some(Err(_)) => false,
                None => true,
            };
            let git = || self.git("update-ref --no-deref -m tm");
            let call = match &broken.before {
                Some(before) => git().arg(&broken.name).commit(before),
                None => git().args(["-d", &broken.name]),
            };
            is_free && call.commit(&broken.commit).done().is_ok()
        };
        let mut broken = self.broken_references()?;
        broken.retain(is_mended);
        Ok(broken)
    }

    /// Whether nothing is missing of commits but for what HEAD has.
    fn are_whole<'c>(&self, commits: impl IntoIterator<Item = &'c CommitId>) -> bool {
        let commits: String = commits
            .into_iter()
            .flat_map(|id| [id.as_str(), "\n"])
            .collect();
        self.git("rev-list --quiet --objects --exclude-promisor-objects --stdin")
            .input(format!("{commits}^HEAD\n"))
            .done()
            .is_ok()
    }

    fn log_of(&self, name: &str) -> String {
        let log = beginning(&self.common_dir().join("logs").join(name), LOG_BYTES);
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }
}
