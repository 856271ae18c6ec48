//! The arguments of `tm audit`.

use super::StrictnessArgument;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// `tm audit`.
#[derive(Args, Debug)]
pub(crate) struct AuditArguments {
    /// A range of commits (`origin/main..HEAD`), a run, or an integration branch. When not given: what HEAD has and the
    /// default branch has not, where runs landed work in it; else the integration branch of the last run.
    #[arg(value_name = "RUN|RANGE")]
    pub(crate) range: Option<String>,
    /// Run the tests of so many tasks only; which ones follows from the newest commit. Where each commit stands is
    /// looked at for all.
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<NonZeroUsize>,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test_command: Option<String>,
    /// How strictly RED and GREEN are judged.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) strictness: Option<StrictnessArgument>,
    /// Tasks that are judged at the same time.
    #[arg(long, short = 'j', value_name = "N")]
    pub(crate) max_parallel: Option<NonZeroUsize>,
    /// Write a report for CI systems besides.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}
