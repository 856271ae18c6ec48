//! Everything that can go wrong with a process and the files around it.
//!
//! Messages are fragments that follow "failed to"; which hint goes with one is for the caller to choose.

use std::io;
use std::path::PathBuf;

/// Why a process could not be started or its files not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be started.
    #[error("start `{program}` in `{}`", working_folder.display())]
    Start {
        /// The program as it was named.
        program: String,
        /// The folder it was to work in.
        working_folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file that a process reads or writes could not be opened.
    #[error("open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file could not be read.
    #[error("read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file about a process is not in its format.
    #[error("parse `{}`", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The operating system did not tell about a process that was just started, or did not let tm wait for it.
    #[error("watch process `{pid}`")]
    Watch {
        /// The process.
        pid: u32,
        /// What the operating system said.
        source: io::Error,
    },
    /// This process could not become the parent of orphaned descendants.
    #[error("become the parent of orphaned processes")]
    Subreaper {
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// Tells whether the machine had no room for what was to be done: disk, memory, files or processes. The same may go
    /// well later, and says nothing of who asked for it.
    pub fn is_of_surroundings(&self) -> bool {
        use rustix::io::Errno;
        const NO_ROOM: [Errno; 9] = [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::MFILE,
            Errno::NFILE,
            Errno::AGAIN,
            Errno::NOMEM,
            Errno::ROFS,
            Errno::IO,
            Errno::STALE,
        ];
        let is_no_room = |source: &io::Error| {
            let number = source.raw_os_error().map(Errno::from_raw_os_error);
            number.is_some_and(|number| NO_ROOM.contains(&number))
                || source.kind() == io::ErrorKind::StorageFull
        };
        match self {
            Self::Start { source, .. }
            | Self::Open { source, .. }
            | Self::Read { source, .. }
            | Self::Write { source, .. }
            | Self::Watch { source, .. }
            | Self::Subreaper { source } => is_no_room(source),
            Self::Json { source, .. } => source.io_error_kind().is_some_and(|kind| {
                matches!(
                    kind,
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                )
            }),
        }
    }

    /// Returns the message with every cause behind it, on one line.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}
