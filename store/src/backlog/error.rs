//! What can be wrong with a backlog.

use std::path::{Path, PathBuf};

/// A backlog that can't be found, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BacklogError {
    /// There is none.
    #[error("find a backlog; looked for {looked_for} from `{start}` upwards")]
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
    #[error("read `{path}`: {why}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        why: String,
        /// Where, where that is known.
        position: Option<super::Position>,
    },
    /// There is no such tag.
    #[error("find the tag `{tag}` in `{path}`; there are {known}")]
    UnknownTag {
        /// The file.
        path: PathBuf,
        /// The tag.
        tag: String,
        /// The tags that there are.
        known: String,
    },
    /// No task has the group that was asked for.
    #[error("find a task of the group `{group}` in `{path}`, tag `{tag}`: {known}")]
    UnknownGroup {
        /// The file.
        path: PathBuf,
        /// The group.
        group: String,
        /// The tag that was read.
        tag: tm_scheduler::Tag,
        /// The groups that there are, in words.
        known: String,
    },
    /// A change is not made.
    #[error("{refusal} in `{path}`")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refusal: super::Refusal,
    },
    /// Somebody holds the file's lock.
    #[error("lock `{path}`: somebody else holds it")]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// Somebody changes the file again and again.
    #[error("write `{path}`: it changes again and again while it is being written")]
    Contended {
        /// The file.
        path: PathBuf,
    },
    /// The file is laid out in a way in which a status can't be changed without touching anything else.
    #[error(
        "change a status in `{path}` without touching anything else; write each task as a block"
    )]
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
