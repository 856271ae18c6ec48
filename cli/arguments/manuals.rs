//! The arguments of `tm completions` and `tm man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `tm completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// `tm man`.
#[derive(Args, Debug)]
pub(crate) struct ManArguments {
    /// Write a page for each command into this folder, instead of the page of `tm` on stdout.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
