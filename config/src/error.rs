//! Everything that can be wrong with a configuration.
//!
//! Messages are fragments that follow "failed to"; which hint goes with one is for the caller to choose.

use crate::Source;
use std::io;
use std::path::PathBuf;

/// Why the configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is there and can't be read.
    #[error("read `{path}`: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is larger than any settings file.
    #[error("read `{path}`: it has {bytes} bytes, a settings file has at most {limit}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// A file is not in its format.
    #[error("parse `{path}`: {why}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// They are other ones than those that whoever asked for a run has read.
    #[error("read the settings that the run was asked for with: they changed since then")]
    Changed,
    /// There is no setting of that name.
    #[error("use `{key}` from {}: there is no such setting{}", shown(source_of_key), did_you_mean(meant.as_deref()))]
    UnknownKey {
        /// The setting as it was written, sections first.
        key: String,
        /// Where it was written.
        source_of_key: Source,
        /// The setting that was probably meant.
        meant: Option<String>,
    },
    /// The value is not of the setting's type.
    #[error(
        "use `{key}` from {}: expected {expected}, found {found}",
        shown(source_of_key)
    )]
    WrongType {
        /// The setting.
        key: String,
        /// Where it was written.
        source_of_key: Source,
        /// What its value may be, in words.
        expected: String,
        /// What its value is, in words.
        found: String,
    },
    /// The name of an agent could not be a part of a file name.
    #[error(
        "use `{name}` from {} as the name of an agent: it may hold letters, digits, `-` and `_` only",
        shown(source_of_key)
    )]
    AgentName {
        /// The name.
        name: String,
        /// Where it was written.
        source_of_key: Source,
    },
    /// Several of these at once, at least two.
    #[error("read the configuration, {} mistakes in all:{}", .0.len(), listed(.0))]
    Several(Vec<Self>),
}

impl Error {
    /// Returns one error for many, `None` for none.
    pub(crate) fn all(mut errors: Vec<Self>) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::Several(errors)),
        }
    }
}

fn shown(source: &Source) -> String {
    format!("`{source}`")
}

fn did_you_mean(meant: Option<&str>) -> String {
    meant
        .map(|meant| format!(", did you mean `{meant}`?"))
        .unwrap_or_default()
}

fn listed(errors: &[Error]) -> String {
    let lines: Vec<String> = errors.iter().map(|error| format!("\n- {error}")).collect();
    lines.concat()
}
