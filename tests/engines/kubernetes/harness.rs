//! What the Kubernetes of tests is relied on for.

use super::control_plane::ControlPlane;
use super::pod::Loss;
use crate::scene::Scene;
use serde_json::{Value, json};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn begin(nodes: &[&str]) -> Option<(Scene, ControlPlane)> {
    let scene = Scene::new(&[], "");
    let mut plane = ControlPlane::start(&scene)?;
    for node in nodes {
        plane.add_node(node);
    }
    Some((scene, plane))
}

fn container(script: &str) -> Value {
    json!({"name": "main", "image": "any", "command": ["sh", "-c", script]})
}

fn add_job(plane: &ControlPlane, name: &str, container: &Value) {
    let spec = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    });
    let job = json!({
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {"spec": spec}},
    });
    plane.api().post(JOBS, &job).expect("a job");
}

fn pods_of(job: &str) -> String {
    format!("{PODS}?labelSelector=job-name={job}")
}

/// The first pod of a job that is as wanted.
fn pod(plane: &ControlPlane, job: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let found = |pods: &Value| {
        pods["items"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|pod| is_wanted(pod))
            .cloned()
    };
    found(&plane.until(&pods_of(job), |pods| found(pods).is_some())).expect("a pod")
}

fn runs(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
}

fn terminated(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["terminated"]
}

/// Waits for somebody who looks for a Kubernetes by hand, until the end of the input.
#[test]
#[ignore = "it is for looking at one: `cargo test by_hand -- --ignored --nocapture`"]
fn by_hand() {
    let Some((_scene, plane)) = begin(&["n1", "n2", "n3"]) else {
        return;
    };
    println!("KUBECONFIG={}", plane.kubeconfig().display());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("an end");
}

#[test]
fn a_job_ends_as_its_program_does_and_what_it_prints_is_kept() {
    let Some((_scene, plane)) = begin(&["n1"]) else {
        return;
    };
    add_job(&plane, "good", &container("echo \"it works\""));
    plane.until(&format!("{JOBS}/good"), |job| {
        job["status"]["succeeded"] == 1
    });
    let done = pod(&plane, "good", |_| true);
    let name = done["metadata"]["name"].as_str().expect("a name");
    let log = plane.api().text(&format!("{PODS}/{name}/log"));
    assert_eq!(log.expect("a log"), "it works\n");

    add_job(&plane, "bad", &container("exit 7"));
    plane.until(&format!("{JOBS}/bad"), |job| {
        job["status"]["conditions"][0]["type"] == "Failed"
    });
    let failed = pod(&plane, "bad", |_| true);
    assert_eq!(terminated(&failed)["exitCode"], 7, "{failed}");
}
