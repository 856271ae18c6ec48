//! Reads what a history is made of, all at once: its commits with parents, tree and trailers.

use crate::git::{fields, unexpected};
use crate::{Error, Landing, Repository, TreeId};
use tm_scheduler::CommitId;

/// One commit of a history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastCommit {
    /// Its id.
    pub id: CommitId,
    /// Its parents, the first one first.
    pub parents: Vec<CommitId>,
    /// Its tree.
    pub tree: TreeId,
    /// The first line of its message.
    pub subject: String,
    /// The trailers of its message.
    pub trailers: Vec<(String, String)>,
}

/// What the tree of a merge is to its parents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MergedTree {
    /// What merging them gives.
    AsMerged,
    /// Another one than merging them gives.
    Other,
    /// Merging them gives none: they conflict in these files.
    Conflict(Vec<String>),
}

impl Repository {
    /// Returns the commits that any of `tips` has and `from` has not, each after its parents.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn history(&self, from: &CommitId, tips: &[CommitId]) -> Result<Vec<PastCommit>, Error> {
        let trailers = "%(trailers:only,unfold,separator=%x1e,key_value_separator=%x1f)";
        let format = format!("--format=%H%n%P%n%T%n%s%n{trailers}");
        let mut git = self.git().args(["log", "-z", "--topo-order", "--reverse", "--no-show-signature", &format]);
        for tip in tips {
            git = git.commit(tip);
        }
        let listing = git.args(["--not"]).commit(from).arg("--").bytes()?;
        fields(&listing).map(past_commit).collect()
    }

    /// Tells whether the tree of a merge of two is what merging them gives.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn merged_tree(&self, one: &CommitId, other: &CommitId, tree: &TreeId) -> Result<MergedTree, Error> {
        Ok(match self.land(one, other)? {
            Landing::Clean(preview) if preview.tree == *tree => MergedTree::AsMerged,
            Landing::AlreadyLanded if self.tree_of(one)? == *tree => MergedTree::AsMerged,
            Landing::Clean(_) | Landing::AlreadyLanded => MergedTree::Other,
            Landing::Conflict(conflict) => MergedTree::Conflict(conflict.files),
        })
    }

    /// Returns the full names of all branches, those of remotes too.
    ///
    /// # Errors
    /// git refused.
    pub fn branch_references(&self) -> Result<Vec<String>, Error> {
        let listing = self.git().args(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"]).text()?;
        Ok(listing.lines().map(ToOwned::to_owned).collect())
    }

    /// Tells whether a part of the history is not here.
    ///
    /// # Errors
    /// git refused.
    pub fn is_shallow(&self) -> Result<bool, Error> {
        Ok(self.git().args(["rev-parse", "--is-shallow-repository"]).text()? == "true")
    }
}

fn past_commit(entry: &[u8]) -> Result<PastCommit, Error> {
    let text = String::from_utf8_lossy(entry);
    let mut parts = text.splitn(5, '\n');
    let mut part = || parts.next().ok_or_else(|| unexpected(&["log"], entry));
    let (id, parents, tree, subject, trailers) = (part()?, part()?, part()?, part()?, part()?);
    let trailer = |trailer: &str| {
        let (name, value) = trailer.split_once('\u{1f}')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    Ok(PastCommit {
        id: CommitId::new(id),
        parents: parents.split(' ').filter(|id| !id.is_empty()).map(CommitId::new).collect(),
        tree: TreeId::new(tree.to_owned()),
        subject: subject.to_owned(),
        trailers: trailers.split('\u{1e}').filter_map(trailer).collect(),
    })
}
