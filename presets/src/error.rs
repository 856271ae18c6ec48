//! What can be wrong with a recipe or a prompt.

use std::path::PathBuf;

/// Trouble with a recipe or a prompt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such agent.
    #[error("find the agent `{name}`; there are {known}")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The recipe has no command.
    #[error("start the agent `{name}`: it has no command")]
    NoCommand {
        /// The agent.
        name: String,
    },
    /// The recipe uses a placeholder that tm does not fill in.
    #[error("fill in `{{{placeholder}}}` for the agent `{name}`; there are {known}")]
    UnknownPlaceholder {
        /// The agent.
        name: String,
        /// The placeholder without braces.
        placeholder: String,
        /// The placeholders that there are.
        known: String,
    },
    /// A prompt can't be read.
    #[error("read the prompt `{}`", path.display())]
    PromptFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A prompt's template is wrong.
    #[error("fill in the prompt `{name}`: {why}")]
    Template {
        /// The prompt.
        name: String,
        /// What is wrong.
        why: String,
    },
}
