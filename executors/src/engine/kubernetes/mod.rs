//! Kubernetes finds places for jobs: a Job of one pod for each, watched all together, and deleted when nobody wants it any
//! more. Knows nothing of what a job is; how one ends is told by its folder, which lies on a volume that pod and tm both
//! see, and Kubernetes is believed on jobs alone of which nothing is told.
//!
//! The name of a Job follows from the job's folder, so that it is there once however often it is asked for. Where nobody
//! answers, jobs wait: what is to be started stays to be started, and nothing is taken for lost.

mod check;
mod cluster;
mod known;
mod label;
mod looking;
mod manifest;
mod names;
mod seen;
mod settings;
mod standing;
mod template;
mod tending;
mod watching;

use super::node::{Copy, JobDescription, JobFolder, Launcher, Standing, VariablesOf};
use super::{Pending, PlaceFinding};
use crate::Error;
use cluster::Cluster;
use label::project_label;
use manifest::Manifest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tending::Tended;
use tm_scheduler::Complexity;

/// The name in handles.
const NAME: &str = "kubernetes";

/// What jobs of one project ask Kubernetes for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KubernetesRequest {
    /// The project, by any name: what labels can't have of it is left out.
    pub project: String,
    /// The folder of all jobs of the project.
    pub jobs: PathBuf,
    /// The context of the kubeconfig; without one the current one, or the cluster of tm's own pod.
    pub context: Option<String>,
    /// The namespace; without one that of the context.
    pub namespace: Option<String>,
    /// The image.
    pub image: Option<String>,
    /// This program, as it is called in the image.
    pub tm_program: String,
    /// Claims, with the paths at which pods and this machine see what is on them.
    pub volumes: Vec<(String, PathBuf)>,
    /// What a container asks for, and may use at the most.
    pub resources: Resources,
    /// What those of tasks of a size do besides, or instead.
    pub by_complexity: BTreeMap<Complexity, Resources>,
    /// Secrets whose entries are variables of jobs.
    pub env_from: Vec<String>,
    /// The longest time of a pod on its node.
    pub time: Option<Duration>,
    /// The manifest on which those of jobs are built.
    pub template: Option<PathBuf>,
}

/// Amounts by the names of resources.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Resources {
    /// What a container asks for.
    pub requests: BTreeMap<String, String>,
    /// What it may use at the most.
    pub limits: BTreeMap<String, String>,
}

impl KubernetesRequest {
    /// Checks that these folders are on volumes, so that pods have them at the same paths.
    ///
    /// # Errors
    /// One is not.
    pub fn check_paths(&self, paths: &[&Path]) -> Result<(), Error> {
        let is_shared =
            |path: &Path| (self.volumes.iter()).any(|(_, mount)| path.starts_with(mount));
        let missing = paths.iter().find(|path| {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            !is_shared(path) || !is_shared(&real)
        });
        missing.map_or(Ok(()), |path| {
            Err(Error::PlaceSettings(format!(
                "pods do not see `{}`, which is on none of `kubernetes.volumes`",
                path.display()
            )))
        })
    }
}

/// Has Kubernetes start jobs. Within a tokio runtime it tends them for as long as it is there.
#[derive(Debug)]
pub struct KubernetesLauncher(Arc<Tended>);

impl KubernetesLauncher {
    /// Has jobs of a project started, all with the same request, and so many at the most waiting for a pod at once.
    pub fn new(request: KubernetesRequest, most_waiting: usize) -> Self {
        Self(Arc::new(Tended::new(request, most_waiting)))
    }

    /// Returns what is asked for.
    pub fn request(&self) -> &KubernetesRequest {
        self.0.request()
    }

    /// Returns what would be applied to have a job started whose folder has this name, as YAML.
    ///
    /// # Errors
    /// The settings or the template are of no use.
    pub fn manifest(&self, folder: &Path, about: &JobDescription) -> Result<String, Error> {
        let manifest = Manifest::read(self.request(), &project_label(self.request()))?;
        let job = manifest.job(&JobFolder::at(folder), about)?;
        serde_yaml::to_string(&job).map_err(|error| Error::PlaceSettings(error.to_string()))
    }

    /// Checks the settings and the template as far as that can be done here.
    ///
    /// # Errors
    /// They are of no use.
    pub fn check_settings(&self) -> Result<(), Error> {
        let example = Path::new("/job-example");
        self.manifest(example, &JobDescription::default()).map(drop)
    }

    /// Looks at everything around that jobs need of the cluster, in the order in which they do.
    pub async fn findings(&self) -> Vec<PlaceFinding> {
        let request = self.request().clone();
        let label = project_label(&request);
        check::findings(&Cluster::new(request, label)).await
    }
}

impl Launcher for KubernetesLauncher {
    fn name(&self) -> &'static str {
        NAME
    }

    fn noun(&self) -> &'static str {
        "pod"
    }

    fn variables(&self) -> VariablesOf {
        VariablesOf::Node
    }

    fn submit(&self, job: &JobFolder, about: &JobDescription) {
        self.0.add(job, Some(about));
    }

    fn take_over(&self, job: &JobFolder) {
        self.0.add(job, None);
    }

    fn standing(&self, job: &JobFolder) -> Standing {
        self.0.standing(job)
    }

    fn trouble(&self) -> Option<String> {
        self.0.trouble()
    }

    /// A container ends with all that is in it, and its own node has said that it has.
    fn has_ended(&self, copy: &Copy) -> bool {
        self.0.has_ended(&copy.job)
    }

    fn cancel(&self, job: &JobFolder) {
        self.0.remove(job);
    }

    /// A Job that is over stays until somebody deletes it.
    fn forget(&self, job: &JobFolder) {
        self.0.remove(job);
    }

    fn settled(&self) -> Pending<'_, ()> {
        Box::pin(self.0.settled())
    }
}
