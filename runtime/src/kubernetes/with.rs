//! Builds with Kubernetes: what the settings say becomes what pods are asked for.

use super::PodsOf;
use crate::launchers::Launchers;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tm_config::{KubernetesResources, Text};
use tm_executors::Error;
use tm_executors::engine::kubernetes::{KubernetesLauncher, KubernetesRequest, Resources};
use tm_executors::engine::node::{JobDescription, RemoteEngine};
use tm_executors::engine::{Executor, PlaceFinding};

/// Has jobs known that are pods.
pub(crate) fn known(executor: Executor, pods: PodsOf<'_>) -> Executor {
    let (jobs, holding) = (pods.project.jobs_folder(), executor.shared_holding());
    let launcher = launcher(pods);
    executor.knowing(Arc::new(RemoteEngine::new(launcher, jobs, holding)))
}

/// Checks whether jobs of a project can be pods, as far as that can be said here; pods are to see these folders.
///
/// # Errors
/// They can't, or this build has no Kubernetes.
pub fn check(pods: PodsOf<'_>, folders: &[&Path]) -> Result<(), Error> {
    if let Some(name) = pods.settings.secrets.keys().next() {
        return Err(Error::PlaceSettings(format!(
            "the value of the secret `{name}` would have to be written down: name a Secret of the cluster in \
             `kubernetes.env_from` instead"
        )));
    }
    let launcher = launcher(pods);
    let folders = [&[pods.project.path()], folders].concat();
    launcher.check_settings()?;
    launcher.request().check_paths(&folders)
}

/// Looks at everything that jobs need of the cluster, where this build can.
pub async fn findings(pods: PodsOf<'_>) -> Vec<PlaceFinding> {
    launcher(pods).findings().await
}

/// Returns what would be applied to have a job started, as YAML; its folder has this name.
///
/// # Errors
/// The settings or the template are of no use, or this build has no Kubernetes.
pub fn manifest(pods: PodsOf<'_>, folder: &str, about: &JobDescription) -> Result<String, Error> {
    let folder = pods.project.jobs_folder().join(folder);
    launcher(pods).manifest(&folder, about)
}

fn launcher(pods: PodsOf<'_>) -> Arc<KubernetesLauncher> {
    static LAUNCHERS: Launchers<KubernetesLauncher> = Launchers::new();
    LAUNCHERS.of(pods.project, || {
        let most_waiting = pods.settings.kubernetes.max_waiting.get();
        let most_waiting = usize::try_from(most_waiting).unwrap_or(usize::MAX);
        KubernetesLauncher::new(request(pods), most_waiting)
    })
}

fn request(pods: PodsOf<'_>) -> KubernetesRequest {
    let PodsOf {
        project,
        root,
        settings,
    } = pods;
    let kubernetes = settings.kubernetes.clone();
    let name = project.path().file_name().unwrap_or_default();
    let volumes = kubernetes.volumes.into_iter();
    let sizes = kubernetes.by_complexity.iter();
    KubernetesRequest {
        project: name.to_string_lossy().into_owned(),
        jobs: project.jobs_folder(),
        context: kubernetes.context,
        namespace: kubernetes.namespace,
        image: kubernetes.image,
        tm_program: kubernetes.tm,
        volumes: volumes.map(|volume| (volume.claim, volume.path)).collect(),
        resources: resources(&kubernetes.resources),
        by_complexity: sizes.map(|(size, job)| (*size, resources(job))).collect(),
        env_from: kubernetes.env_from,
        time: kubernetes.time,
        template: kubernetes.template.map(|path| root.join(path)),
    }
}

fn resources(resources: &KubernetesResources) -> Resources {
    let amounts = |amounts: &BTreeMap<String, Text>| {
        let amount = |(name, amount): (&String, &Text)| (name.clone(), amount.as_str().to_owned());
        amounts.iter().map(amount).collect()
    };
    Resources {
        requests: amounts(&resources.requests),
        limits: amounts(&resources.limits),
    }
}
