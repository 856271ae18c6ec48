//! `tm node`: what runs on another machine when a job runs there. Engines start it, people need not know it.

use super::Perform;
use crate::failure::Result;
use clap::Args;
use std::path::{Path, PathBuf};
use tm_executors::engine::node::{Copy, CopyEnd, JobFolder, VERSION, run_copy};
use tokio::signal::unix::{SignalKind, signal};

/// What a copy says that has no job to do: another one has it.
const SECOND_COPY: u8 = 75;

/// `tm node`.
#[derive(Args)]
pub(crate) struct NodeArguments {
    /// The folder of the job, with its order.
    #[arg(long, value_name = "DIR")]
    job: PathBuf,
    /// The job, as its engine calls it.
    #[arg(long, value_name = "ID")]
    id: String,
    /// The node, as its engine calls it.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// How often the engine has started the job before.
    #[arg(long, value_name = "N", default_value_t = 0)]
    restarts: u32,
}

impl Perform for NodeArguments {
    /// Runs the job, unless another copy has it; how the job ends is in its folder, and no exit code.
    async fn perform(self, _start: &Path) -> Result {
        let copy = Copy {
            job: self.id,
            node: self.name,
            restarts: self.restarts,
            pid: std::process::id(),
            version: VERSION.to_owned(),
        };
        let mut terminate = signal(SignalKind::terminate())?;
        let evicted = async move {
            terminate.recv().await;
        };
        Ok(
            match run_copy(&JobFolder::at(&self.job), copy, evicted).await? {
                CopyEnd::Done => 0,
                CopyEnd::Second => SECOND_COPY,
            },
        )
    }
}
