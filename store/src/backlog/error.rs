//! What can be wrong with a backlog.

use std::path::{Path, PathBuf};

/// A backlog that can't be found, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BacklogError {
    /// There is none.
    #[error("find a backlog; looked for {looked_for} from `{}` upwards", start.display())]
    NotFound {
        /// Where the search began.
        start: PathBuf,
        /// The names.
        looked_for: String,
    },
    /// A file can't be read or written.
    #[error(transparent)]
    File(#[from] crate::Error),
    /// A file is not in its format.
    #[error("read `{}`: {why}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        why: String,
        /// Where, where that is known.
        position: Option<super::Position>,
    },
    /// There is no such tag.
    #[error("find the tag `{tag}` in `{}`; there are {known}", path.display())]
    UnknownTag {
        /// The file.
        path: PathBuf,
        /// The tag.
        tag: String,
        /// The tags that there are.
        known: String,
    },
    /// There are no such tasks.
    #[error("find {ids} in `{}`", path.display())]
    UnknownTasks {
        /// The file.
        path: PathBuf,
        /// Their ids.
        ids: String,
    },
    /// A change is not made.
    #[error("{refusal} in `{}`", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refusal: super::Refusal,
    },
    /// Somebody holds the file's lock.
    #[error("lock `{}`: somebody else holds it", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// Somebody changes the file again and again.
    #[error("write `{}`: it changes again and again while it is being written", path.display())]
    Contended {
        /// The file.
        path: PathBuf,
    },
    /// The file is laid out in a way in which a status can't be changed without touching anything else.
    #[error("change a status in `{}` without touching anything else; write each task as a block", path.display())]
    Layout {
        /// The file.
        path: PathBuf,
    },
}

impl BacklogError {
    /// A file is not in its format, nobody knows where.
    pub(super) fn syntax(path: &Path, why: impl Into<String>) -> Self {
        Self::Syntax {
            path: path.to_owned(),
            why: why.into(),
            position: None,
        }
    }

    /// Says in which file a change is refused.
    pub(super) fn refused(path: &Path) -> impl Fn(super::Refusal) -> Self {
        |refusal| Self::Refused {
            path: path.to_owned(),
            refusal,
        }
    }
}
