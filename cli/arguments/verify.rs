//! The arguments of `tm verify`.

use super::StrictnessArgument;
use clap::Args;

/// `tm verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArguments {
    /// A task of the last run, or the folder of a checkout; this checkout when not given.
    #[arg(value_name = "ID|PATH")]
    pub(crate) target: Option<String>,
    /// As RED: new tests exist and fail because the behaviour is missing.
    #[arg(long, conflicts_with = "green")]
    pub(crate) red: bool,
    /// As GREEN: the tests of its RED are unchanged and pass, nothing that passed before fails.
    #[arg(long)]
    pub(crate) green: bool,
    /// What the work started from. When not given: of a task, its own base; of a checkout, where its branch left the
    /// default branch, or the commit of its RED for --green, or HEAD when the branch has no commit of its own.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) base: Option<String>,
    /// The run of the task; the live or last one when not given.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test_command: Option<String>,
    /// How strictly RED and GREEN are judged.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) strictness: Option<StrictnessArgument>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}
