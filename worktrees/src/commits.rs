//! What revisions name.

use crate::files::held;
use crate::git::is_object_id;
use crate::reader::Found;
use crate::{Error, Repository, TreeId};
use tm_scheduler::CommitId;

impl Repository {
    /// Returns the commit that a revision names.
    ///
    /// # Errors
    /// It names none.
    pub fn resolve(&self, revision: &str) -> Result<CommitId, Error> {
        match self.read(|reader| reader.commit(revision)) {
            Some(Found::Here(commit)) => Ok(commit),
            Some(Found::Nothing) => Err(Error::unknown(revision)),
            None => self.object(revision, "commit").map(CommitId::new),
        }
    }

    /// Returns the id of the object of a kind that a revision leads to.
    fn object(&self, revision: &str, kind: &str) -> Result<String, Error> {
        let call = self
            .git()
            .line("rev-parse --verify --quiet --end-of-options");
        let answer = call.arg(format!("{revision}^{{{kind}}}")).answer()?;
        let id = String::from_utf8_lossy(&answer.stdout);
        let found = Some(id.trim_end()).filter(|id| answer.code == 0 && is_object_id(id));
        found
            .map(ToOwned::to_owned)
            .ok_or_else(|| Error::unknown(revision))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, Error> {
        // A lock that somebody died with holds whole entries all the same.
        let known = || held(&self.trees);
        if let Some(tree) = known().get(commit) {
            return Ok(tree.clone());
        }
        let tree = match self.read(|reader| reader.tree_of(commit.as_str())) {
            Some(tree) => TreeId(tree),
            None => TreeId(self.object(commit.as_str(), "tree")?),
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
}
