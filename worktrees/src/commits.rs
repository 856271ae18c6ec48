//! What revisions name, and how commits are related.

use crate::git::is_object_id;
use crate::reader::Found;
use crate::{Error, Repository, TreeId};
use std::fmt::Write as _;
use std::sync::PoisonError;
use tm_scheduler::CommitId;

impl Repository {
    /// Returns the commit that a revision names.
    ///
    /// # Errors
    /// It names none.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, Error> {
        match self.reader().and_then(|reader| reader.commit(revision)) {
            Some(Found::Here(commit)) => return Ok(commit),
            Some(Found::Nothing) => {
                return Err(Error::UnknownRevision {
                    revision: revision.to_owned(),
                });
            }
            None => {}
        }
        self.object(&format!("{revision}^{{commit}}"), revision)
            .map(CommitId::new)
    }

    /// Returns the id that an expression names; an error says `revision`.
    fn object(&self, expression: &str, revision: &str) -> Result<String, Error> {
        let call = self
            .git()
            .line("rev-parse --verify --quiet --end-of-options")
            .arg(expression);
        let answer = call.answer()?;
        let id = String::from_utf8_lossy(&answer.stdout)
            .trim_end()
            .to_owned();
        let is_found = answer.code == 0 && is_object_id(&id);
        if is_found {
            Ok(id)
        } else {
            Err(Error::UnknownRevision {
                revision: revision.to_owned(),
            })
        }
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, Error> {
        // A lock that somebody died with holds whole entries all the same.
        let known = || self.trees().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = known().get(commit) {
            return Ok(tree.clone());
        }
        let tree = match self
            .reader()
            .and_then(|reader| reader.tree_of(commit.as_str()))
        {
            Some(tree) => TreeId(tree),
            None => TreeId(self.object(&format!("{commit}^{{tree}}"), commit.as_str())?),
        };
        if is_object_id(commit.as_str()) {
            known().insert(commit.clone(), tree.clone());
        }
        Ok(tree)
    }

    /// Refuses a commit of another tree.
    ///
    /// # Errors
    /// Its tree is another one, or there is no such commit.
    pub fn assert_tree_of(&self, commit: &CommitId, tree: &TreeId) -> Result<(), Error> {
        let found = self.tree_of(commit)?;
        if found == *tree {
            return Ok(());
        }
        Err(Error::OtherTree {
            commit: commit.clone(),
            expected: tree.to_string(),
            found: found.to_string(),
        })
    }

    /// Tells whether `ancestor` is reachable from `descendant`; every commit is from itself.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool, Error> {
        if ancestor == descendant {
            return Ok(true);
        }
        if let Some(answer) = self
            .reader()
            .and_then(|reader| reader.is_ancestor(ancestor, descendant))
        {
            return Ok(answer);
        }
        self.git()
            .line("merge-base --is-ancestor")
            .commit(ancestor)
            .commit(descendant)
            .yes_or_no()
    }

    /// Returns the one of these commits that contains the others, all of them on one line from `base` on; `base` itself
    /// when it has them all.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn newest(&self, base: &CommitId, commits: &[CommitId]) -> Result<CommitId, Error> {
        let mut input = format!("^{base}\n");
        for commit in commits {
            let _ = writeln!(input, "{commit}");
        }
        let found = self
            .git()
            .line("rev-list --topo-order --max-count=1 --stdin")
            .input(input)
            .text()?;
        Ok(if found.is_empty() {
            base.clone()
        } else {
            CommitId::new(found)
        })
    }

    /// Returns the first line of a commit's message.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn subject(&self, commit: &CommitId) -> Result<String, Error> {
        self.git()
            .line("show --no-patch --format=%s")
            .commit(commit)
            .text()
    }
}
