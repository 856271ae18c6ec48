//! Settings of jobs that are pods of Kubernetes.

use crate::duration;
use crate::scalar::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use tm_scheduler::Complexity;

/// What jobs ask Kubernetes for.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kubernetes {
    /// The context of the kubeconfig; without one the current one, or the cluster that tm itself runs in.
    pub context: Option<String>,
    /// The namespace; without one that of the context.
    pub namespace: Option<String>,
    /// The image, with tm of the same version and the agents.
    pub image: Option<String>,
    /// The program in the image.
    pub tm: String,
    /// Claims that pods have at the paths at which tm itself sees the same files.
    pub volumes: Vec<KubernetesVolume>,
    /// What the container of a job asks for, and may use at the most.
    pub resources: KubernetesResources,
    /// What agents of tasks of a size ask for instead.
    pub by_complexity: BTreeMap<Complexity, KubernetesResources>,
    /// Secrets whose entries are variables of jobs, by name.
    pub env_from: Vec<String>,
    /// The longest time of one job on its node; without one there is none.
    #[serde(with = "duration::OptionalPositive")]
    pub time: Option<Duration>,
    /// A file with the manifest of a Job on which those of jobs are built.
    pub template: Option<PathBuf>,
    /// So many jobs wait for a pod that runs at the most; others wait until one of them has begun.
    pub max_waiting: NonZeroU32,
}

/// A claim that pods have at the path at which tm itself sees the same files.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KubernetesVolume {
    /// The claim, which many nodes have to be able to write to (`ReadWriteMany`).
    pub claim: String,
    /// Where it is, here as in pods.
    pub path: PathBuf,
}

/// What a container asks for, and may use at the most.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KubernetesResources {
    /// What it asks for, such as `cpu: 2`.
    pub requests: BTreeMap<String, Text>,
    /// What it may use at the most, such as `memory: 8Gi`.
    pub limits: BTreeMap<String, Text>,
}
