//! Settings of what starts jobs: this machine, or others that an engine finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Where set-ups, agents and tests run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunsOn {
    /// On this machine.
    #[default]
    Local,
    /// On nodes that Slurm finds.
    Slurm,
}

/// What jobs ask Slurm for; what is not set is what the site gives.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slurm {
    /// The partition.
    pub partition: Option<String>,
    /// The account that is charged.
    pub account: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// The longest time of one job, as `sbatch --time` takes it.
    pub time: Option<String>,
    /// Processors of one job.
    pub cpus: Option<NonZeroU32>,
    /// Memory of one job, as `sbatch --mem` takes it.
    pub mem: Option<String>,
    /// Generic resources of one job, such as `gpu:1`.
    pub gres: Option<String>,
    /// Further arguments of `sbatch`.
    pub extra: Vec<String>,
    /// So many jobs wait in the queue at the most; others wait until one of them has begun.
    pub max_waiting: NonZeroU32,
    /// The program on the nodes; without it the one that runs here, at the same path.
    pub tm: Option<String>,
}
