//! The arguments of `tm tdd`.

use super::backlog::BacklogChoice;
use clap::{Args, Subcommand};

/// What is done with pairs.
#[derive(Debug, Subcommand)]
pub(crate) enum TddCommand {
    /// Show which open tasks get a test task of their own; `--write` adds them to the backlog.
    Pair(PairArguments),
}

/// `tm tdd pair`.
#[derive(Args, Debug)]
pub(crate) struct PairArguments {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: BacklogChoice,
    /// Only tasks of this `metadata.task_group`.
    #[arg(long, value_name = "NAME")]
    pub(crate) task_group: Option<String>,
    /// Let test tasks depend on nothing, so that all of them come first.
    #[arg(long)]
    pub(crate) red_early: bool,
    /// Write the pairs into the backlog; a second time changes nothing.
    #[arg(long)]
    pub(crate) write: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}
