//! The arguments of `tm pr`.

use clap::Args;

/// `tm pr`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Args, Debug)]
pub(crate) struct PullArguments {
    /// The run; the last one when not given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// One pull request a task, each on top of what it was built on, instead of one for the run.
    #[arg(long)]
    pub(crate) per_task: bool,
    /// The branch that is to have the work; the default branch when not given.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) base: Option<String>,
    /// The remote; the one that your branch is pulled from, or `origin`, when not given.
    #[arg(long, value_name = "REMOTE")]
    pub(crate) remote: Option<String>,
    /// Open them as drafts.
    #[arg(long)]
    pub(crate) draft: bool,
    /// Also where the review has rejected some of it.
    #[arg(long)]
    pub(crate) with_rejected: bool,
    /// Push nothing and open nothing; print the commands that would.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}
