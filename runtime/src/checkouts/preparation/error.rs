//! Why a worktree could not be made ready; the texts follow "failed to".

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A command of the set-up failed: the fault of nobody's work.
    #[error(transparent)]
    Setup(#[from] SetupFailed),
    /// A file or folder can't be read or changed.
    #[error("{action} `{}`", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The copies that were made when the run began are not what they were.
    #[error(
        "use the copies of ignored files in `{}`: `{}` was changed since the run began, so they prove nothing any more; \
         start a new run",
        folder.display(),
        changed.display()
    )]
    CopiesChanged {
        /// Where the copies are.
        folder: PathBuf,
        /// What was changed.
        changed: PathBuf,
    },
    /// A pattern can't be read, or git refused.
    #[error(transparent)]
    Git(#[from] tm_worktrees::Error),
    /// A program could not be written down or watched.
    #[error(transparent)]
    Process(#[from] tm_executors::Error),
    /// What was copied could not be written down or read.
    #[error(transparent)]
    Store(#[from] tm_store::Error),
    /// git or the disk refused, or tm itself broke off.
    #[error("make a worktree ready: {why}")]
    BrokenOff {
        /// What happened.
        why: String,
    },
}

/// A command that is to make a worktree ready, or to clear up after it, and failed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("set up a worktree: `{command}` {end}; all it printed is in `{}`{}", log.display(), quoted(last_lines))]
pub struct SetupFailed {
    /// The command.
    pub command: String,
    /// How it ended.
    pub end: SetupEnd,
    /// The last lines that it printed.
    pub last_lines: Vec<String>,
    /// The file with all that it printed.
    pub log: PathBuf,
}

/// How a command ended.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SetupEnd {
    /// With this exit code.
    #[error("exited with code {0}")]
    Exited(i32),
    /// By a signal.
    #[error("was killed by a signal")]
    Killed,
    /// It was ended when the time for all commands was over.
    #[error("was ended after {} seconds, which is `worktree.setup_timeout`", .0.as_secs())]
    TimedOut(Duration),
    /// It could not be started.
    #[error("could not be started: {0}")]
    NotStarted(String),
}

impl Error {
    /// Wraps what the system says about a file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

fn quoted(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n  ", line]).collect()
}
