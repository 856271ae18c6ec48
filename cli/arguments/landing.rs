//! The arguments of `tm waves land`.

use clap::Args;

/// `tm waves land`.
#[derive(Args, Debug)]
pub(crate) struct LandArguments {
    /// The run; the last one when not given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Make a merge commit even where your branch could just move forward.
    #[arg(long)]
    pub(crate) no_ff: bool,
    /// Also where the review has rejected some of it.
    #[arg(long)]
    pub(crate) with_rejected: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
