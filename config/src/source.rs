//! Where a value came from, and what was odd on the way.

use std::fmt;
use std::path::PathBuf;

/// Where the value of a setting came from, from low to high.
///
/// Paths are relative to the project where they lie in it, and lines count from 1.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// The embedded `default.yaml`.
    BuiltIn,
    /// The user's own file for all projects.
    UserFile(PathBuf, Option<usize>),
    /// `.taskmaster/config.json`, which Task Master owns.
    ProjectJson(PathBuf),
    /// `.taskmaster/tm.yaml`.
    ProjectYaml(PathBuf, Option<usize>),
    /// The front matter of `.claude/agent-alchemy.local.md`.
    AgentAlchemy(PathBuf),
    /// An environment variable; holds its name.
    Environment(String),
    /// A flag; holds its name with the dashes.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.pad("default"),
            Self::UserFile(path, Some(line)) | Self::ProjectYaml(path, Some(line)) => {
                formatter.pad(&format!("{}:{line}", path.display()))
            }
            Self::UserFile(path, None)
            | Self::ProjectYaml(path, None)
            | Self::ProjectJson(path)
            | Self::AgentAlchemy(path) => formatter.pad(&path.display().to_string()),
            Self::Environment(name) | Self::Flag(name) => formatter.pad(name),
        }
    }
}

/// Something odd that stops nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Warning {
    /// An environment variable that looks like a setting and is none.
    MisspeltVariable {
        /// Its name.
        name: String,
        /// The variable that was probably meant.
        meant: Option<String>,
    },
    /// A value in a file of another program that tm can't use; what lies below it counts.
    Ignored {
        /// The file.
        path: PathBuf,
        /// The key in that file, empty for the file as a whole.
        key: String,
        /// Why.
        why: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MisspeltVariable {
                name,
                meant: Some(meant),
            } => {
                write!(formatter, "`{name}` is no setting, did you mean `{meant}`?")
            }
            Self::MisspeltVariable { name, meant: None } => {
                write!(formatter, "`{name}` is no setting")
            }
            Self::Ignored { path, key, why } if key.is_empty() => {
                write!(formatter, "`{}` is ignored: {why}", path.display())
            }
            Self::Ignored { path, key, why } => {
                write!(
                    formatter,
                    "`{key}` of `{}` is ignored: {why}",
                    path.display()
                )
            }
        }
    }
}
