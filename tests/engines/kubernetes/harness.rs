//! What the Kubernetes of tests is relied on for.

use super::api::Api;
use super::control_plane::{ControlPlane, until};
use super::pod::Loss;
use crate::scene::Scene;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    add_job_with(plane, name, container, &json!([]), 0);
}

fn add_job_with(
    plane: &ControlPlane,
    name: &str,
    container: &Value,
    volumes: &Value,
    failures: u32,
) {
    let spec = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": volumes,
    });
    let job = json!({
        "metadata": {"name": name},
        "spec": {"backoffLimit": failures, "template": {"spec": spec}},
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

/// Which runs although another one was there before.
fn runs_beside(other: &Value) -> impl Fn(&Value) -> bool {
    |pod| runs(pod) && pod["metadata"]["uid"] != other["metadata"]["uid"]
}

fn waiting(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["waiting"]
}

fn has_failed(job: &Value) -> bool {
    job["status"]["conditions"][0]["type"] == "Failed"
}

fn log(plane: &ControlPlane, job: &str, how: &str) -> String {
    let pod = pod(plane, job, |_| true);
    let name = pod["metadata"]["name"].as_str().expect("a name");
    let log = plane.api().text(&format!("{PODS}/{name}/log?{how}"));
    log.expect("a log")
}

/// How many processes of this machine are a pod's.
fn processes_of(pod: &Value) -> usize {
    let mark = format!(
        "HOSTNAME={}",
        pod["metadata"]["name"].as_str().expect("a name")
    );
    let processes = glob::glob("/proc/[0-9]*").expect("a pattern").flatten();
    let is_of_pod = |process: &PathBuf| {
        let [environment, name] =
            ["environ", "comm"].map(|name| std::fs::read(process.join(name)).unwrap_or_default());
        // One that waits for all others outside of their space.
        let waits = name == b"unshare\n";
        let mut variables = environment.split(|&byte| byte == 0);
        !waits && variables.any(|variable| variable == mark.as_bytes())
    };
    processes.filter(is_of_pod).count()
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

/// One cluster for all, since its start is most of what each would take.
#[test]
fn a_cluster_does_what_runs_rely_on() {
    let Some((scene, mut plane)) = begin(&["n1"]) else {
        return;
    };
    a_job_ends_as_its_program_does_and_what_it_prints_is_kept(&plane);
    a_container_has_the_variables_the_user_and_the_claims_of_its_pod(&scene, &plane);
    what_a_node_takes_away_or_never_starts_is_reported_as_kubernetes_does(&plane);
    a_stranger_is_told_that_something_is_forbidden(&plane);
    jobs_go_on_while_the_server_is_away_and_their_end_is_told_when_it_is_back(&scene, &mut plane);
    plane.add_node("n2");
    plane.add_node("n3");
    a_pod_of_a_node_that_is_cut_off_is_replaced_and_both_run_until_it_returns(&mut plane);
}

fn a_job_ends_as_its_program_does_and_what_it_prints_is_kept(plane: &ControlPlane) {
    add_job(plane, "good", &container("echo it; echo works"));
    plane.until(&format!("{JOBS}/good"), |job| {
        job["status"]["succeeded"] == 1
    });
    assert_eq!(log(plane, "good", "follow=true"), "it\nworks\n");
    assert_eq!(log(plane, "good", "tailLines=1"), "works\n");

    add_job(plane, "bad", &container("exit 7"));
    plane.until(&format!("{JOBS}/bad"), has_failed);
    let failed = pod(plane, "bad", |_| true);
    assert_eq!(terminated(&failed)["exitCode"], 7, "{failed}");

    // What was begun elsewhere ends with it, and who does not hear is killed.
    let deaf = "trap '' TERM; setsid sleep 100 & echo on; while true; do wait; done";
    add_job(plane, "deaf", &container(deaf));
    let running = pod(plane, "deaf", runs);
    until("child", || (processes_of(&running) == 2).then_some(()));
    let removed = plane
        .api()
        .delete(&format!("{JOBS}/deaf?propagationPolicy=Foreground"));
    removed.expect("it is deleted");
    plane.until(&pods_of("deaf"), |pods| pods["items"] == json!([]));
    assert_eq!(processes_of(&running), 0);
}

fn a_container_has_the_variables_the_user_and_the_claims_of_its_pod(
    scene: &Scene,
    plane: &ControlPlane,
) {
    let shared = scene.path("shared");
    std::fs::create_dir(&shared).expect("a folder");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&shared, all).expect("permissions");
    let wanted = json!({
        "name": "main",
        "image": "any",
        "command": ["sh", "-c", "echo \"$*\" $(id -u) $(id -G) $A_KEY $NODE > seen; ls $TEMPORARY > temporary", "sh"],
        "args": ["$(A_KEY)", "$(NOBODY)", "$$(A_KEY)"],
        "workingDir": shared,
        "envFrom": [{"prefix": "A_", "secretRef": {"name": "keys"}}],
        "env": [
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "TEMPORARY", "value": plane.with(scene.program(Path::new("true"))).get_envs().find_map(
                |(name, value)| (name == "TMPDIR").then_some(value?.to_str()?))},
        ],
        "securityContext": {"runAsUser": 12345, "runAsGroup": 67},
        "volumeMounts": [{"name": "work", "mountPath": shared}],
    });
    let volumes = json!([{"name": "work", "persistentVolumeClaim": {"claimName": "work"}}]);
    add_job_with(plane, "all", &wanted, &volumes, 0);
    // Each is waited for.
    pod(plane, "all", |pod| {
        pod["status"]["conditions"][0]["reason"] == "Unschedulable"
    });
    plane.add_claim("work", &shared);
    pod(plane, "all", |pod| {
        waiting(pod)["reason"] == "CreateContainerConfigError"
    });
    let secret = json!({"metadata": {"name": "keys"}, "stringData": {"KEY": "secret"}});
    let added = plane
        .api()
        .post("/api/v1/namespaces/default/secrets", &secret);
    added.expect("a secret");
    plane.until(&format!("{JOBS}/all"), |job| {
        job["status"]["succeeded"] == 1
    });
    let seen = std::fs::read_to_string(shared.join("seen"));
    assert_eq!(
        seen.expect("it is written"),
        "secret $(NOBODY) $(A_KEY) 12345 67 secret n1\n"
    );
    let temporary = std::fs::read_to_string(shared.join("temporary"));
    assert_eq!(
        temporary.expect("it is written"),
        "",
        "a folder of the node's own"
    );
}

fn what_a_node_takes_away_or_never_starts_is_reported_as_kubernetes_does(plane: &ControlPlane) {
    let mut missing = container("true");
    missing["image"] = json!("missing:1");
    add_job(plane, "missing", &missing);
    for reason in ["ErrImagePull", "ImagePullBackOff"] {
        pod(plane, "missing", |pod| waiting(pod)["reason"] == reason);
    }
    for (name, loss) in [("large", Loss::OutOfMemory), ("moved", Loss::Evicted)] {
        add_job(plane, name, &container("sleep 100"));
        plane.lose(&pod(plane, name, runs), loss);
        plane.until(&format!("{JOBS}/{name}"), has_failed);
    }
    let large = pod(plane, "large", |_| true);
    assert_eq!(terminated(&large)["reason"], "OOMKilled", "{large}");
    let moved = pod(plane, "moved", |_| true);
    assert_eq!(moved["status"]["reason"], "Evicted", "{moved}");
}

fn a_pod_of_a_node_that_is_cut_off_is_replaced_and_both_run_until_it_returns(
    plane: &mut ControlPlane,
) {
    // A pod that ends just as its node returns is counted as failed now and then.
    add_job_with(plane, "job", &container("exec sleep 100"), &json!([]), 6);
    let first = pod(plane, "job", runs);
    let node = first["spec"]["nodeName"].as_str().expect("a node");
    plane.take_node(node);
    let second = pod(plane, "job", runs_beside(&first));
    for pod in [&first, &second] {
        until("program", || (processes_of(pod) == 1).then_some(()));
    }
    plane.return_node(node);
    plane.until(&pods_of("job"), |pods| {
        pods["items"].as_array().map(Vec::len) == Some(1)
    });
    assert_eq!([&first, &second].map(processes_of), [0, 1]);

    let node = second["spec"]["nodeName"].as_str().expect("a node");
    plane.kill_node(node);
    assert_eq!(processes_of(&second), 0);
    let third = pod(plane, "job", runs_beside(&second));
    plane.add_node(node);
    plane.until(&pods_of("job"), |pods| {
        pods["items"].as_array().map(Vec::len) == Some(1)
    });
    until("program", || (processes_of(&third) == 1).then_some(()));
}

fn jobs_go_on_while_the_server_is_away_and_their_end_is_told_when_it_is_back(
    scene: &Scene,
    plane: &mut ControlPlane,
) {
    scene.pipe("started");
    let script = format!("echo on > {}", scene.path("started").display());
    add_job(plane, "brief", &container(&script));
    pod(plane, "brief", runs);
    plane.stop_api();
    assert_eq!(
        plane.api().get(JOBS).expect_err("nobody answers").status,
        None
    );
    // It ends now.
    drop(std::fs::read(scene.path("started")).expect("it runs"));
    plane.start_api();
    plane.until(&format!("{JOBS}/brief"), |job| {
        job["status"]["succeeded"] == 1
    });
}

fn a_stranger_is_told_that_something_is_forbidden(plane: &ControlPlane) {
    let refusal = Api::of(&plane.kubeconfig_of_stranger())
        .get(JOBS)
        .expect_err("it is refused");
    assert_eq!(refusal.status, Some(403), "{refusal:?}");
}
