//! The arguments of the commands that read the backlog and set statuses, with Task Master's names.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Which backlog.
#[derive(Args, Debug, Default)]
pub(crate) struct BacklogChoice {
    /// The backlog: a file, or a folder of a Claude Code task list; looked for when not given.
    #[arg(long, visible_alias = "file", value_name = "PATH")]
    pub(crate) backlog: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long, short = 't')]
    pub(crate) tag: Option<String>,
    /// The project's folder; this one when not given.
    #[arg(long, short = 'p', value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

/// For whom output is.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReadingOptions {
    /// How to print it.
    #[arg(long, short = 'f', value_enum, default_value = "text")]
    pub(crate) format: OutputArgument,
    /// The same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(long)]
    silent: bool,
}

impl ReadingOptions {
    /// Returns how to print; `None` is not at all.
    pub(crate) const fn chosen(self) -> Option<OutputArgument> {
        match (self.silent, self.json) {
            (true, _) => None,
            (false, true) => Some(OutputArgument::Json),
            (false, false) => Some(self.format),
        }
    }
}

/// Forms of output.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum OutputArgument {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One task a line, without a table.
    Compact,
}

/// `tm list`.
#[derive(Args, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(crate) struct ListArguments {
    /// Only tasks of these statuses; `all` lists everything, with subtasks.
    #[arg(value_name = "STATUS", value_delimiter = ',')]
    pub(crate) statuses: Vec<String>,
    /// Only tasks of these statuses.
    #[arg(long, short = 's', value_name = "STATUS", value_delimiter = ',')]
    pub(crate) status: Vec<String>,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// List subtasks too.
    #[arg(long)]
    pub(crate) with_subtasks: bool,
    /// Only tasks that can be worked on now.
    #[arg(long)]
    pub(crate) ready: bool,
    /// Only tasks that others depend on.
    #[arg(long)]
    pub(crate) blocking: bool,
    /// The tasks of all tags.
    #[arg(long, conflicts_with_all = ["tag", "watch"])]
    pub(crate) all_tags: bool,
    /// One task a line, without a table.
    #[arg(long, short = 'c')]
    pub(crate) compact: bool,
    /// Leave the line with the totals out.
    #[arg(long)]
    pub(crate) no_header: bool,
    /// List again whenever the backlog changes, until interrupted.
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    /// The output.
    #[command(flatten)]
    pub(crate) output: ReadingOptions,
}

/// `tm next`.
#[derive(Args, Debug)]
pub(crate) struct NextArguments {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Set it in progress in the same step, so that nobody else gets it; only tasks that nobody has begun are given.
    #[arg(long)]
    pub(crate) claim: bool,
    /// The output.
    #[command(flatten)]
    pub(crate) output: ReadingOptions,
}

/// `tm show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArguments {
    /// The tasks, separated by commas; a subtask is `<task>.<n>`.
    #[arg(value_name = "ID", value_delimiter = ',')]
    pub(crate) ids: Vec<String>,
    /// The tasks, separated by commas.
    #[arg(long, short = 'i', value_name = "ID", value_delimiter = ',')]
    pub(crate) id: Vec<String>,
    /// Only subtasks of these statuses, in text.
    #[arg(long, short = 's', value_name = "STATUS", value_delimiter = ',')]
    pub(crate) status: Vec<String>,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// The output.
    #[command(flatten)]
    pub(crate) output: ReadingOptions,
}

/// `tm set-status`.
#[derive(Args, Debug)]
pub(crate) struct SetStatusArguments {
    /// The tasks, separated by commas.
    #[arg(value_name = "ID")]
    pub(crate) positional: Option<String>,
    /// The status: pending, in-progress, done, review, deferred, cancelled, blocked.
    #[arg(value_name = "STATUS")]
    pub(crate) positional_status: Option<String>,
    /// The tasks, separated by commas.
    #[arg(long, short = 'i', value_name = "ID", value_delimiter = ',')]
    pub(crate) id: Vec<String>,
    /// The status.
    #[arg(long, short = 's', value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Leave `updatedAt` as it is.
    #[arg(long)]
    pub(crate) no_timestamps: bool,
    /// The output.
    #[command(flatten)]
    pub(crate) output: ReadingOptions,
}

/// `tm validate-dependencies`.
#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: super::EditChoice,
    /// Print nothing but errors.
    #[arg(long)]
    pub(crate) silent: bool,
}
