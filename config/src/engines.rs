//! Settings of what starts jobs: this machine, or others that an engine finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use tm_scheduler::Complexity;

/// Where set-ups, agents and tests run.
#[derive(
    Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RunsOn {
    /// On this machine.
    #[default]
    Local,
    /// On nodes that Slurm finds.
    Slurm,
    /// In pods of Jobs of Kubernetes.
    Kubernetes,
}

impl RunsOn {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Local, Self::Slurm, Self::Kubernetes];

    /// Returns its name, which is that of its engine.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Returns the one with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
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
    /// What agents of tasks of a size ask for instead.
    pub by_complexity: BTreeMap<Complexity, SlurmJob>,
    /// So many jobs wait in the queue at the most; others wait until one of them has begun.
    pub max_waiting: NonZeroU32,
    /// The program on the nodes; without it the one that runs here, at the same path.
    pub tm: Option<String>,
}

/// What a job asks for besides, or instead of, what all do.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmJob {
    /// The partition.
    pub partition: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// The longest time, as `sbatch --time` takes it.
    pub time: Option<String>,
    /// Processors.
    pub cpus: Option<NonZeroU32>,
    /// Memory, as `sbatch --mem` takes it.
    pub mem: Option<String>,
    /// Generic resources, such as `gpu:1`.
    pub gres: Option<String>,
}
