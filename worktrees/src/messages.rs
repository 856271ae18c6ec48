//! Reads the messages of a history, and takes the work of commits back on top of it. Knows nothing of what messages mean.

use crate::git::{fields, unexpected};
use crate::{Conflict, Error, Landing, Repository, TreeId};
use tm_scheduler::CommitId;

/// A commit with its parents and all of its message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommitMessage {
    /// Its id.
    pub id: CommitId,
    /// Its parents.
    pub parents: Vec<CommitId>,
    /// Its message.
    pub message: String,
}

/// What taking work back comes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TakenBackTree {
    /// The tree without it.
    Clean(TreeId),
    /// What came later is in the way of taking back this commit.
    Conflict {
        /// The commit.
        commit: CommitId,
        /// Where.
        conflict: Conflict,
    },
}

impl Repository {
    /// Returns the commits up to `tip` whose messages have one of these words, the newest first, each before its parents.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn told(&self, tip: &CommitId, words: &[&str]) -> Result<Vec<CommitMessage>, Error> {
        let words = words.iter().map(|words| format!("--grep={words}"));
        let call = self
            .git()
            .line("log -z --topo-order --fixed-strings --format=%H%n%P%n%B")
            .args(words);
        let listing = call.commit(tip).arg("--").bytes()?;
        fields(&listing).map(told).collect()
    }

    /// Returns commits with their messages, in the order in which they are named.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn told_of(&self, commits: &[CommitId]) -> Result<Vec<CommitMessage>, Error> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let mut git = self
            .git()
            .line("log -z --no-walk=unsorted --format=%H%n%P%n%B");
        for commit in commits {
            git = git.commit(commit);
        }
        fields(&git.arg("--").bytes()?).map(told).collect()
    }

    /// Returns a commit and, where it is a merge, all that it brought to its first parent.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn brought_by(&self, commit: &CommitId) -> Result<Vec<CommitId>, Error> {
        let parents = self.parents(commit)?;
        let [first, _, ..] = parents.as_slice() else {
            return Ok(vec![commit.clone()]);
        };
        let listing = self
            .git()
            .line("rev-list")
            .commit(commit)
            .arg("--not")
            .commit(first)
            .arg("--")
            .text()?;
        Ok(listing.lines().map(CommitId::new).collect())
    }

    /// Takes the changes of commits back, one after the other, from the tree of `onto`; lines that they only added also
    /// where others added lines next to them. It moves nothing.
    ///
    /// # Errors
    /// One of them is not there, or has no parent; or git refused.
    pub fn taken_back(
        &self,
        onto: &CommitId,
        commits: &[CommitId],
    ) -> Result<TakenBackTree, Error> {
        let mut tree = self.tree_of(onto)?;
        for commit in commits {
            let before = self.tree_of(&self.before(commit)?)?;
            match self.carried_over(&tree, &self.tree_of(commit)?, &before)? {
                Landing::Clean(preview) => tree = preview.tree,
                Landing::AlreadyLanded => {}
                // Lines that were added next to each other, by work that was put together, conflict when one of them goes.
                Landing::Conflict(conflict) => match self.without_lines_of(&conflict)? {
                    Some(without) => tree = without,
                    None => {
                        return Ok(TakenBackTree::Conflict {
                            commit: commit.clone(),
                            conflict,
                        });
                    }
                },
            }
        }
        Ok(TakenBackTree::Clean(tree))
    }

    /// Brings the changes of a commit to the tree of `onto`. It moves nothing.
    ///
    /// # Errors
    /// It is not there, or has no parent; or git refused.
    pub fn brought_again(
        &self,
        onto: &CommitId,
        commit: &CommitId,
    ) -> Result<TakenBackTree, Error> {
        let tree = self.tree_of(onto)?;
        let before = self.tree_of(&self.before(commit)?)?;
        Ok(
            match self.carried_over(&tree, &before, &self.tree_of(commit)?)? {
                Landing::Clean(preview) => TakenBackTree::Clean(preview.tree),
                Landing::AlreadyLanded => TakenBackTree::Clean(tree),
                Landing::Conflict(conflict) => TakenBackTree::Conflict {
                    commit: commit.clone(),
                    conflict,
                },
            },
        )
    }

    fn before(&self, commit: &CommitId) -> Result<CommitId, Error> {
        let none = || Error::UnknownRevision {
            revision: format!("{commit}^"),
        };
        self.first_parent(commit)?.ok_or_else(none)
    }

    /// Brings what differs from one tree to another to a third one: by a merge of three commits made for it, since git
    /// 2.38 can't be told of another base.
    fn carried_over(&self, onto: &TreeId, from: &TreeId, to: &TreeId) -> Result<Landing, Error> {
        let words = "tm: a change carried over\n";
        let base = self.commit_tree(from, &[], words)?;
        let ours = self.commit_tree(onto, &[&base], words)?;
        let theirs = self.commit_tree(to, &[&base], words)?;
        self.land(&ours, &theirs)
    }

    /// Makes a commit of a tree on top of another one. It is on no branch yet, and signed by nobody: what becomes part of
    /// the user's history is made by `commit_as_user`.
    ///
    /// # Errors
    /// The object store can't be written.
    pub fn commit_on(
        &self,
        parent: &CommitId,
        tree: &TreeId,
        message: &str,
    ) -> Result<CommitId, Error> {
        self.commit_tree(tree, &[parent], message)
    }

    /// Returns the full names of references below one of tm's own, with their commits.
    ///
    /// # Errors
    /// git refused.
    pub fn references_below(&self, below: &str) -> Result<Vec<(String, CommitId)>, Error> {
        let folder = format!("{}/", below.trim_end_matches('/'));
        if let Some(found) = self.reader().and_then(|reader| reader.references(&folder)) {
            return Ok(found
                .into_iter()
                .map(|(name, id)| (name, CommitId::new(id)))
                .collect());
        }
        let listing = self
            .git()
            .args(["for-each-ref", "--format=%(refname) %(objectname)", below])
            .text()?;
        let reference = |line: &str| {
            line.split_once(' ')
                .map(|(name, id)| (name.to_owned(), CommitId::new(id)))
        };
        Ok(listing.lines().filter_map(reference).collect())
    }

    /// Removes a reference of tm's own that is at a commit.
    ///
    /// # Errors
    /// Its name does not begin with `refs/tm/`, it is elsewhere, or git refused.
    pub fn forget(&self, reference: &str, at: &CommitId) -> Result<(), Error> {
        if !reference.starts_with("refs/tm/") {
            return Err(Error::ForeignReference {
                reference: reference.to_owned(),
            });
        }
        self.git()
            .line("update-ref --no-deref -m tm -d")
            .arg(reference)
            .commit(at)
            .done()
    }
}

fn told(entry: &[u8]) -> Result<CommitMessage, Error> {
    let text = String::from_utf8_lossy(entry);
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().ok_or_else(|| unexpected(&["log"], entry));
    let (id, parents, message) = (part()?, part()?, part()?);
    Ok(CommitMessage {
        id: CommitId::new(id),
        parents: parents
            .split(' ')
            .filter(|id| !id.is_empty())
            .map(CommitId::new)
            .collect(),
        message: message.to_owned(),
    })
}
