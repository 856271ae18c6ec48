//! Everything that can be wrong with a recipe or a prompt.
//!
//! Messages are fragments that follow "failed to".

use std::path::{Path, PathBuf};

/// Why an agent can't be started, or a prompt not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no agent of that name.
    #[error("find the agent `{name}`, there are {known}")]
    UnknownAgent {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Recipes extend one another in a circle.
    #[error("find the agent `{name}`, which extends itself")]
    ExtendsItself {
        /// The agent.
        name: String,
    },
    /// The recipe has no command.
    #[error("start the agent `{name}`, which has no command")]
    NoCommand {
        /// The agent.
        name: String,
    },
    /// The recipe uses a placeholder that tm does not know.
    #[error("fill in `{{{placeholder}}}` for the agent `{name}`, there are {known}")]
    UnknownPlaceholder {
        /// The agent.
        name: String,
        /// The placeholder without braces.
        placeholder: String,
        /// The placeholders that there are.
        known: String,
    },
    /// The recipe needs a placeholder that has no value, such as a model where none is set.
    #[error("fill in `{{{placeholder}}}` for the agent `{name}`, it has no value")]
    NoValue {
        /// The agent.
        name: String,
        /// The placeholder without braces.
        placeholder: String,
    },
    /// The agent has no such mode.
    #[error("start the agent `{name}` with the permissions `{mode}`, it has {known}")]
    UnknownPermissions {
        /// The agent.
        name: String,
        /// The mode.
        mode: String,
        /// The modes that it has.
        known: String,
    },
    /// A command that a shell runs uses a placeholder, whose value the shell would take for a part of the command.
    #[error("fill in `{{{placeholder}}}` for the agent `{name}`, whose command is run by a shell")]
    PlaceholderInShell {
        /// The variable that has its value, where one has.
        variable: Option<&'static str>,
        /// The agent.
        name: String,
        /// The placeholder without braces.
        placeholder: String,
    },
    /// A command that a shell runs is to speak a protocol, which the shell's own output would break.
    #[error("speak with the agent `{name}`, whose command is run by a shell")]
    ProtocolInShell {
        /// The agent.
        name: String,
    },
    /// An argument is longer than the operating system allows.
    #[error("pass {bytes} bytes to the agent `{name}` as one argument, {limit} are allowed")]
    TooLong {
        /// The agent.
        name: String,
        /// The length of the argument.
        bytes: usize,
        /// The longest that is allowed.
        limit: usize,
    },
    /// A prompt of the user's own can't be read.
    #[error("read the prompt `{path}`: {source}")]
    PromptFile {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The template of a prompt is wrong.
    #[error("fill in the prompt `{name}`: {why}")]
    Template {
        /// The prompt.
        name: String,
        /// What is wrong, and where.
        why: String,
    },
    /// There is no preset of that name.
    #[error("find the preset `{name}`, there are {known}")]
    UnknownPreset {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A prompt holds nothing.
    #[error("use the prompt `{path}`: it is empty")]
    EmptyPrompt {
        /// The file.
        path: PathBuf,
    },
    /// A name that can't be that of a preset.
    #[error("name a preset `{name}`: letters, digits, `-` and `_` only")]
    PresetName {
        /// The name.
        name: String,
    },
}

impl Error {
    /// Returns what makes an error of the system one about this file of prompts.
    pub(crate) fn prompt_file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        |source| Self::PromptFile {
            path: path.to_owned(),
            source,
        }
    }
}
