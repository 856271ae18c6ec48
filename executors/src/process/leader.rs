//! How the first process of a tree is known, by which much of the rest is.

use super::ProcessIdentity;

/// How a tree's first process is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Leader {
    /// It is being started.
    Starting,
    /// This process started it.
    Child(ProcessIdentity),
    /// An earlier tm started it; its orphans do not come to this process.
    Adopted(ProcessIdentity),
    /// Nobody knows it; only the marks tell who belongs to the tree.
    Unknown,
}

impl Leader {
    pub(super) const fn identity(self) -> Option<ProcessIdentity> {
        match self {
            Self::Child(identity) | Self::Adopted(identity) => Some(identity),
            Self::Starting | Self::Unknown => None,
        }
    }
}
