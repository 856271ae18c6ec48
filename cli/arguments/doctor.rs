//! The arguments of `tm doctor`.

use clap::Args;

/// `tm doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArguments {
    /// Make a fresh checkout of HEAD ready and run the tests there, as a run does before its first agent.
    #[arg(long)]
    pub(crate) tests: bool,
    /// One JSON document on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}
