//! Looks at everything around that jobs need of a cluster, with what to do where it is not so.

use super::cluster::{Cluster, Connection, Trouble};
use super::manifest::Manifest;
use super::settings;
use crate::engine::node::{JobDescription, JobFolder};
use crate::engine::{PlaceFinding, Soundness};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::Api;
use kube::api::PostParams;
use std::path::Path;

/// The oldest version of Kubernetes with which this was tried.
const OLDEST_MINOR: u32 = 20;
/// What tm has to be allowed to do: verb, group, resource.
const NEEDED: [(&str, &str, &str); 8] = [
    ("create", "batch", "jobs"),
    ("get", "batch", "jobs"),
    ("list", "batch", "jobs"),
    ("watch", "batch", "jobs"),
    ("delete", "batch", "jobs"),
    ("list", "", "pods"),
    ("watch", "", "pods"),
    ("list", "", "events"),
];
/// What says more of what went wrong, where tm may do it: verb, resource, subresource.
const USEFUL: (&str, &str, &str) = ("get", "pods", "log");

fn good(what: &'static str, found: impl Into<String>) -> PlaceFinding {
    PlaceFinding {
        what,
        found: found.into(),
        soundness: Soundness::Good,
    }
}

fn note(what: &'static str, found: impl Into<String>, hint: &str) -> PlaceFinding {
    PlaceFinding {
        soundness: Soundness::Note(hint.to_owned()),
        ..good(what, found)
    }
}

fn bad(what: &'static str, found: impl Into<String>, hint: &str) -> PlaceFinding {
    PlaceFinding {
        soundness: Soundness::Bad(hint.to_owned()),
        ..good(what, found)
    }
}

/// Looks at everything, in the order in which jobs need it.
pub(super) async fn findings(cluster: &Cluster) -> Vec<PlaceFinding> {
    if let Err(error) = settings::check(cluster.request()) {
        let hint = "docs/engines.md has the settings of `kubernetes`, and what they may be";
        return vec![bad("settings", error.to_string(), hint)];
    }
    let connection = match cluster.connection().await {
        Ok(connection) => connection,
        Err(trouble) => {
            let hint = "`kubectl config get-contexts` shows what there is; `kubernetes.context` names one of them";
            return vec![bad("cluster", trouble.words(), hint)];
        }
    };
    let version = version(cluster, &connection).await;
    if matches!(version.soundness, Soundness::Bad(_)) {
        return vec![version];
    }
    let mut findings = vec![version, namespace(cluster, &connection).await];
    findings.push(permissions(cluster, &connection).await);
    for (claim, path) in &cluster.request().volumes {
        findings.push(volume(cluster, claim, path).await);
    }
    findings.push(manifest(cluster).await);
    findings
}

async fn version(cluster: &Cluster, connection: &Connection) -> PlaceFinding {
    let asked = connection.client.apiserver_version();
    match cluster.answered(asked).await {
        Err(trouble) => bad(
            "cluster",
            format!("{}: {}", connection.server, trouble.words()),
            "`kubectl version` has to answer from here, with the same KUBECONFIG",
        ),
        Ok(version) => {
            let minor: String = version
                .minor
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            let found = format!("{} {}", connection.server, version.git_version);
            let is_old =
                version.major == "1" && minor.parse().is_ok_and(|minor: u32| minor < OLDEST_MINOR);
            if is_old {
                note("cluster", found, "1.20 and later are known to work")
            } else {
                good("cluster", found)
            }
        }
    }
}

async fn namespace(cluster: &Cluster, connection: &Connection) -> PlaceFinding {
    let name = &connection.namespace;
    let api: Api<Namespace> = Api::all(connection.client.clone());
    match cluster.answered(api.get_opt(name)).await {
        Ok(Some(_)) => good("namespace", name),
        Ok(None) => bad(
            "namespace",
            format!("there is no `{name}`"),
            "`kubernetes.namespace` names the one of the jobs",
        ),
        // Who may work in one need not be allowed to look at it.
        Err(_) => good("namespace", format!("{name} (which can't be looked at)")),
    }
}

/// Whether tm may do what it has to.
async fn permissions(cluster: &Cluster, connection: &Connection) -> PlaceFinding {
    let mut missing = Vec::new();
    for (verb, group, resource) in NEEDED {
        let asked = review(connection, (verb, group, resource), None);
        match may(cluster, connection, asked).await {
            Ok(true) => {}
            Ok(false) => missing.push(format!("{verb} {resource}")),
            Err(trouble) => {
                let hint = "whoever manages the cluster can say what tm may do there";
                return note("permissions", trouble.words(), hint);
            }
        }
    }
    let (verb, resource, subresource) = USEFUL;
    let asked = review(connection, (verb, "", resource), Some(subresource));
    let may_log = may(cluster, connection, asked).await == Ok(true);
    match (missing.as_slice(), may_log) {
        ([], true) => good("permissions", "all that tm needs"),
        ([], false) => note(
            "permissions",
            "all that tm needs, but `get pods/log`",
            "with it, tm shows what a pod printed whose job did not begin",
        ),
        (missing, _) => bad(
            "permissions",
            format!("tm may not {}", missing.join(", ")),
            "docs/engines.md has a Role with all of them",
        ),
    }
}

fn review(
    connection: &Connection,
    (verb, group, resource): (&str, &str, &str),
    subresource: Option<&str>,
) -> SelfSubjectAccessReview {
    SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(connection.namespace.clone()),
                verb: Some(verb.to_owned()),
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource: subresource.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    }
}

async fn may(
    cluster: &Cluster,
    connection: &Connection,
    asked: SelfSubjectAccessReview,
) -> Result<bool, Trouble> {
    let api: Api<SelfSubjectAccessReview> = Api::all(connection.client.clone());
    let parameters = PostParams::default();
    let answer = cluster.answered(api.create(&parameters, &asked)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Whether a claim is there, and many nodes can write to it.
async fn volume(cluster: &Cluster, claim: &str, path: &Path) -> PlaceFinding {
    let shown = format!("`{claim}` at {}", path.display());
    if !path.is_dir() {
        let hint = "tm has to run where the same files are at this path: in a pod with the claim, or where it is mounted";
        return bad(
            "volume",
            format!("{shown}: there is no such folder here"),
            hint,
        );
    }
    let api = match cluster.api::<PersistentVolumeClaim>().await {
        Ok(api) => api,
        Err(trouble) => return bad("volume", trouble.words(), "look at the cluster first"),
    };
    let found = match cluster.answered(api.get_opt(claim)).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            let hint = "`kubernetes.volumes` names claims of the namespace of the jobs";
            return bad("volume", format!("{shown}: there is no such claim"), hint);
        }
        Err(trouble) => {
            let hint =
                "with `get persistentvolumeclaims` tm looks whether many nodes can write to it";
            return note("volume", format!("{shown}: {}", trouble.words()), hint);
        }
    };
    let status = found.status.unwrap_or_default();
    let modes = status
        .access_modes
        .or(found.spec.and_then(|spec| spec.access_modes));
    let modes = modes.unwrap_or_default();
    let phase = status.phase.unwrap_or_default();
    if !modes.iter().any(|mode| mode == "ReadWriteMany") {
        let hint = "pods of several nodes write to it at once: it has to be a claim with ReadWriteMany (NFS, CephFS, ...)";
        return bad("volume", format!("{shown}: {}", modes.join(", ")), hint);
    }
    match phase.as_str() {
        "Bound" => good("volume", format!("{shown}: ReadWriteMany")),
        "Lost" => bad("volume", format!("{shown}: Lost"), "its volume is gone"),
        phase => note(
            "volume",
            format!("{shown}: {phase}"),
            "`kubectl describe pvc` says what it waits for",
        ),
    }
}

/// Whether the cluster would take a job.
async fn manifest(cluster: &Cluster) -> PlaceFinding {
    let example = JobFolder::at(Path::new("/job-example"));
    let job = Manifest::read(cluster.request(), &cluster.project)
        .and_then(|manifest| manifest.job(&example, &JobDescription::default()));
    let job = match job {
        Ok(job) => job,
        Err(error) => {
            let hint =
                "`tm waves plan --on kubernetes --format yaml` shows what is built of the settings";
            return bad("manifest", error.to_string(), hint);
        }
    };
    match cluster.create(&job, true).await {
        Ok(_) | Err(Trouble::Exists) => good("manifest", "the cluster would take it"),
        Err(trouble) => bad(
            "manifest",
            trouble.words(),
            "`tm waves plan --on kubernetes --format yaml` shows it, `kubectl apply --dry-run=server -f -` tries it",
        ),
    }
}
