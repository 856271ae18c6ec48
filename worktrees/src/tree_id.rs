//! The id of a tree, and what stands for a tree.

use std::fmt;
use tm_scheduler::CommitId;

/// The full object id of a tree.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct TreeId(pub(crate) String);

impl TreeId {
    /// Takes the id that git gave to a tree.
    pub const fn new(id: String) -> Self {
        Self(id)
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What stands for a tree: itself, or a commit of it.
pub trait Treeish: fmt::Display {}

impl Treeish for CommitId {}

impl Treeish for TreeId {}
