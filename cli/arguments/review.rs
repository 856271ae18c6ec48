//! The arguments of `tm review`.

use clap::{Args, Subcommand};

/// `tm review`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct ReviewArguments {
    /// What to decide without being asked; branch after branch is shown and asked about when not given.
    #[command(subcommand)]
    pub(crate) command: Option<ReviewCommand>,
    /// The run; the live or last one when not given.
    #[arg(long, value_name = "RUN", global = true)]
    pub(crate) run: Option<String>,
    /// Ask about branches that have been reviewed too.
    #[arg(long)]
    pub(crate) again: bool,
    /// For programs: list the branches, or tell what was decided; nothing is asked.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// A decision.
#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// Approve the work of tasks; a GREEN's approval is its RED's too.
    Approve(ApproveArguments),
    /// Reject the work of tasks: each is to be done again, and the next attempt is told why.
    Reject(RejectArguments),
}

/// `tm review approve`.
#[derive(Args, Debug)]
pub(crate) struct ApproveArguments {
    /// The tasks.
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(crate) tasks: Vec<String>,
    /// All that nobody has reviewed.
    #[arg(long)]
    pub(crate) all: bool,
}

/// `tm review reject`.
#[derive(Args, Debug)]
pub(crate) struct RejectArguments {
    /// The tasks.
    #[arg(value_name = "ID", required = true)]
    pub(crate) tasks: Vec<String>,
    /// Why: what is wrong, and what should be there instead.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Keep the tests of the pair: only what makes them pass is done again. So it is where the tests are approved.
    #[arg(long)]
    pub(crate) keep_tests: bool,
}
