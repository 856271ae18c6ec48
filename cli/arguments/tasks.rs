//! The arguments of `tm tasks`.

use super::backlog::BacklogChoice;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What is done with a backlog as a whole.
#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// Tell everything that can't be planned and everything that is odd, and where it stands; exit code 3 when
    /// something can't be planned.
    Check(TasksCheck),
    /// Repair what has one right answer, and say each repair.
    Fix(TasksFix),
    /// Count tasks by status, priority, tag and complexity, and tell how they depend on each other.
    Stats(TasksStats),
    /// Write the backlog in another form: to a `.json` file, a `.yaml` file, or the folder of a Claude Code list.
    Convert(TasksConvert),
}

/// `tm tasks check`.
#[derive(Args, Debug)]
pub(crate) struct TasksCheck {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Every tag.
    #[arg(long, conflicts_with = "tag")]
    pub(crate) all_tags: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm tasks fix`.
#[derive(Args, Debug)]
pub(crate) struct TasksFix {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Say what would be repaired, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm tasks stats`.
#[derive(Args, Debug)]
pub(crate) struct TasksStats {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm tasks convert`.
#[derive(Args, Debug)]
pub(crate) struct TasksConvert {
    /// The file or folder to write, which must not be there yet.
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    /// The backlog. A Claude Code list takes one tag; files take all tags unless one is named.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Only tasks of this `metadata.task_group`.
    #[arg(long, value_name = "NAME")]
    pub(crate) task_group: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}
