//! Everything that can go wrong with a process and the files around it.
//!
//! Messages are fragments that follow "failed to"; which hint goes with one is for the caller to choose.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

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
    /// What was to hold a program failed before it began.
    #[error("hold `{program}`: {why}")]
    Hold {
        /// The program as it was named.
        program: String,
        /// What was said.
        why: String,
    },
    /// What was to hold a program failed again and again before it began, while others are held.
    #[error("hold `{program}`, as other programs are: {why}")]
    HoldThis {
        /// The program as it was named.
        program: String,
        /// What was said last.
        why: String,
    },
    /// A command does not tell what jobs are to be given.
    #[error("get the secret `{name}` from `{command}`")]
    Secret {
        /// The variable.
        name: String,
        /// The command.
        command: String,
        /// What became of it.
        source: io::Error,
    },
    /// What was started is nowhere to be found any more; holds what is known of it.
    #[error("find out what became of a job: {0}")]
    Lost(String),
    /// No job begins where they are to be started until something there is changed; holds what was said.
    #[error("have a job started: {0}")]
    Refused(String),
    /// What the settings say of where jobs are to be started is no use; holds why.
    #[error("use the settings of where jobs run: {0}")]
    PlaceSettings(String),
    /// Jobs don't run where they are to be started; holds what became of a first one.
    #[error("run a first job: {0}")]
    NoPlace(String),
    /// A file or a process could not be used.
    #[error("{what}")]
    Use {
        /// What was to be done with which one.
        what: String,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// Returns an error of the system as one about doing this with a file.
    pub(crate) fn failed_to(verb: &str, path: &Path, source: io::Error) -> Self {
        Self::Use {
            what: format!("{verb} `{}`", path.display()),
            source,
        }
    }

    /// Returns what makes an error of the system one about starting this program there.
    pub(crate) fn not_started(program: &OsStr, folder: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Start {
            program: program.to_string_lossy().into_owned(),
            working_folder: folder.to_owned(),
            source,
        }
    }

    /// Returns the error of a process that can't be watched.
    pub(crate) fn of_watching(pid: u32, source: io::Error) -> Self {
        Self::Use {
            what: format!("watch process `{pid}`"),
            source,
        }
    }

    /// Tells whether the machine had no room for what was to be done (disk, memory, files or processes), could not hold a
    /// program as it was to be held, or was told no secret. The same may go well later, and says nothing of who asked for it.
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
        let source = match self {
            Self::Start { source, .. } | Self::Use { source, .. } => source,
            Self::HoldThis { .. } => return false,
            _ => return true,
        };
        let number = source.raw_os_error().map(Errno::from_raw_os_error);
        number.is_some_and(|number| NO_ROOM.contains(&number))
            || source.kind() == io::ErrorKind::StorageFull
    }

    /// Returns the message with every cause behind it, on one line.
    pub fn with_causes(&self) -> String {
        tm_scheduler::with_causes(self)
    }
}

/// Says of an error of the system what was to be done with which file.
pub(crate) trait OrFailedTo<T> {
    /// Returns what the system gave, or what failed: to `read`, to `write`, this file.
    fn or_failed_to(self, verb: &str, path: &Path) -> Result<T, Error>;
}

impl<T> OrFailedTo<T> for io::Result<T> {
    fn or_failed_to(self, verb: &str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::failed_to(verb, path, source))
    }
}
