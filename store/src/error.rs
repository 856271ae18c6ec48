//! Everything that can go wrong with a durable file.
//!
//! Messages are fragments that follow "failed to"; which hint goes with one is for the caller to choose.

use crate::run::Holder;
use std::io;
use std::path::{Path, PathBuf};

/// Why a durable file could not be read, written or locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read.
    #[error("read `{path}`")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file could not be written, or a folder not created.
    #[error("write `{path}`")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is not the JSON that it should be.
    #[error("parse `{path}`")]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A value can't be written as JSON.
    #[error("turn a value into JSON for `{path}`")]
    Serialize {
        /// The file it was meant for.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The lock file could not be opened, locked or written.
    #[error("lock `{path}`")]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another live process holds the lock.
    #[error("take the run lock, which is held by {0}")]
    Held(Box<Holder>),
    /// The lock was taken away from its live holder.
    #[error("keep the run lock `{path}`: it was replaced, and the new one is held by {holder}")]
    LockLost {
        /// The lock file.
        path: PathBuf,
        /// Who holds what is there now.
        holder: Box<Holder>,
    },
    /// The repository is another one than that which was locked.
    #[error("keep the run lock: `{path}` is not the folder any more that was locked")]
    RepositoryReplaced {
        /// The folder that all worktrees share.
        path: PathBuf,
    },
    /// A run id that is no safe file name.
    #[error(
        "use `{id}` as a run id: it may hold letters, digits, `-` and `_` only, at most 64 of them"
    )]
    UnsafeRunId {
        /// The id as it came.
        id: String,
    },
    /// A run id that is none of autopilot's.
    #[error("use `{id}` as a run of autopilot: those are named `<tag>__task-<id>__<time>`")]
    NotAutopilot {
        /// The id as it came.
        id: String,
    },
    /// Another command of autopilot is at work in this checkout.
    #[error("lock `{path}`: another command of autopilot is at work in this checkout")]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// A journal holds what was never written to it.
    #[error("read line {line} of the journal `{path}`: {why}")]
    JournalDamaged {
        /// The journal.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A journal is not there or ends before its first line does, so its run had not begun.
    #[error("read the journal `{path}`: its run was ended before it began")]
    JournalUnstarted {
        /// The journal.
        path: PathBuf,
    },
    /// A journal was written by a version of tm that this one can't read.
    #[error(
        "read the journal `{path}`: its format has version {found}, this tm reads versions {oldest} to {newest}"
    )]
    JournalVersion {
        /// The journal.
        path: PathBuf,
        /// The version in the file.
        found: u64,
        /// The oldest version that this tm reads.
        oldest: u64,
        /// The newest version that this tm reads, and the one that it writes.
        newest: u64,
    },
    /// A file was written by a newer version of tm.
    #[error("read `{path}`: its format has version {found}, this tm reads version {supported}")]
    NewerFile {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The newest version that this tm reads.
        supported: u32,
    },
}

impl Error {
    /// Wraps an error met while reading `path`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_path_buf(),
            source,
        }
    }

    /// Wraps an error met while locking `path`.
    pub(crate) fn lock(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Lock {
            path: path.to_path_buf(),
            source,
        }
    }

    /// Wraps an error met while turning a value into JSON for `path`.
    pub(crate) fn serialize(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Serialize {
            path: path.to_path_buf(),
            source,
        }
    }

    /// Wraps an error met while writing `path`.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write {
            path: path.to_path_buf(),
            source,
        }
    }
}
