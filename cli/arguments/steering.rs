//! The arguments of the commands that steer a live run: pause, stop, retry, skip, add.

use clap::Args;

/// `tm waves stop`.
#[derive(Args, Debug)]
pub(crate) struct StopArguments {
    /// Stop this task alone; its work is kept, and what depends on it is blocked.
    #[arg(value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Don't give agents the grace period.
    #[arg(long)]
    pub(crate) now: bool,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A task of the live run.
#[derive(Args, Debug)]
pub(crate) struct SteeredTask {
    /// The task.
    #[arg(value_name = "ID")]
    pub(crate) task: String,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm waves skip`.
#[derive(Args, Debug)]
pub(crate) struct SkipArguments {
    /// The task.
    #[arg(value_name = "ID")]
    pub(crate) task: String,
    /// Carry out what depends on it without it, instead of blocking that.
    #[arg(long)]
    pub(crate) satisfied: bool,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}
