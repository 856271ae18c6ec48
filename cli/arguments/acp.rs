//! The arguments of `tm acp-agent`, which recipes call and people need not know.

use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// `tm acp-agent`.
#[derive(Args, Debug)]
pub(crate) struct AcpAgentArguments {
    /// What the program may do.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) allow: AllowArgument,
    /// A further folder that it may write into.
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What a program may do.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum AllowArgument {
    /// Whatever it asks for.
    Everything,
    /// To read, to run commands, and to change files in its worktree.
    #[default]
    Worktree,
    /// To read, and to change files in its worktree.
    Edits,
}
