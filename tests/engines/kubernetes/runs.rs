//! Runs of waves whose set-ups, agents and tests are pods of Kubernetes.

use super::control_plane::ControlPlane;
use super::pod::Loss;
use crate::engines::scenes::{
    Fate, OfTest, TASKS, Waiting, assert_all_landed, assert_landed_once, assert_placed,
    assert_reaches_one_alone, assert_waits, first_of_two, jobs, reaching, slow, under_way, watched,
};
use crate::sandbox::has;
use crate::scene::{HONEST, Scene, tm_binary, write};
use serde_json::{Value, json};
use std::process::{Command, Output};

pub(super) const NODES: [&str; 3] = ["n1", "n2", "n3"];
const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// Starts a cluster whose nodes see a scene's folder.
pub(super) fn started(scene: &Scene, nodes: &[&str]) -> Option<ControlPlane> {
    let mut plane = ControlPlane::start(scene)?;
    plane.add_claim("work", &scene.path(""));
    for node in nodes {
        plane.add_node(node);
    }
    // Pods that a test loses are given up as soon as the cluster would do so.
    let container = json!({
        "name": "tm",
        "env": [{"name": "AGENT_FOLDER", "value": scene.path("")}],
    });
    let pod = json!({"tolerations": [], "containers": [container]});
    write_template(scene, &json!({"template": {"spec": pod}}));
    Some(plane)
}

fn write_template(scene: &Scene, spec: &Value) {
    let template = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec});
    write(&scene.path("template.yaml"), &template.to_string());
}

/// A call of tm with all that pods are made of.
pub(super) fn with(scene: &Scene, plane: &ControlPlane, command: Command) -> Command {
    let mut command = plane.with(command);
    let volumes = json!([{"claim": "work", "path": scene.path("")}]);
    command
        .env("TM_KUBERNETES_IMAGE", "any")
        .env("TM_KUBERNETES_TM", tm_binary())
        .env("TM_KUBERNETES_TEMPLATE", scene.path("template.yaml"))
        .env("TM_KUBERNETES_VOLUMES", volumes.to_string());
    command
}

fn on_kubernetes(scene: &Scene, plane: &ControlPlane, arguments: &[&str]) -> Command {
    let run = scene.run_command(&["--on", "kubernetes", "-j", "6"]);
    let mut command = with(scene, plane, run);
    command.args(arguments);
    command
}

fn said(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    format!("{stdout}{}", String::from_utf8_lossy(&output.stderr))
}

impl OfTest for ControlPlane {
    /// No Job is left, and no pod.
    fn assert_empty(&self) {
        let is_empty = |found: &Value| found["items"].as_array().is_some_and(Vec::is_empty);
        self.until(JOBS, is_empty);
        self.until(PODS, is_empty);
    }
}

fn begun(nodes: &[&str], arguments: &[&str]) -> Option<Waiting<ControlPlane>> {
    let scene = Waiting::<ControlPlane>::scene();
    let plane = started(&scene, nodes)?;
    let run = |scene: &Scene, plane: &ControlPlane| on_kubernetes(scene, plane, arguments);
    Some(Waiting::begin(scene, plane, run))
}

impl Waiting<ControlPlane> {
    /// The pod of the agent, which runs.
    fn pod(&self) -> Value {
        let found = |pods: &Value| {
            let pods = pods["items"].as_array().cloned().unwrap_or_default();
            let runs = |pod: &Value| {
                pod["status"]["phase"] == "Running"
                    && pod["metadata"]["deletionTimestamp"].is_null()
            };
            pods.into_iter().find(runs)
        };
        let of_agent = format!("{PODS}?labelSelector=tm/task=1");
        found(&self.engine.until(&of_agent, |pods| found(pods).is_some())).expect("a pod")
    }
}

#[test]
fn a_run_in_pods_of_three_nodes_of_which_one_dies_with_tm_lands_each_task_once() {
    let scene = Scene::new(&TASKS, &slow());
    let Some(mut plane) = started(&scene, &NODES) else {
        return;
    };
    let (mut run, _lines) = under_way(on_kubernetes(&scene, &plane, &[]));
    // The first task has landed, and others are under way.
    let node = |pods: &Value| {
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let running = pods.iter().find(|pod| pod["status"]["phase"] == "Running");
        running.and_then(|pod| pod["spec"]["nodeName"].as_str().map(str::to_owned))
    };
    let node = node(&plane.until(PODS, |pods| node(pods).is_some())).expect("a node");
    plane.kill_node(&node);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let resumed = with(&scene, &plane, scene.tm(&["waves", "resume"])).output();
    let resumed = resumed.expect("tm");
    assert_eq!(resumed.status.code(), Some(0), "{}", self::said(&resumed));
    let report = scene.report();
    assert_all_landed(&report);
    assert_landed_once(&scene, &report);
    assert_placed(&report, |place| {
        place.starts_with('n') && place.contains(" (kubernetes pod tm-")
    });
    let tree = scene.landed_tree();
    plane.add_node(&node);
    plane.assert_empty();
    // Nobody can say of what ran there that it does not go on.
    for job in jobs(&scene) {
        let state = std::fs::read_to_string(job.join("state.json")).expect("a state");
        assert!(state.contains(&format!("\"node\":\"{node}\"")), "{state}");
    }
    drop(plane);

    let here = Scene::new(&TASKS, HONEST);
    here.runs(&[], 0);
    assert_eq!(tree, here.landed_tree(), "the same as on this machine");
}

#[test]
fn of_two_copies_of_a_job_one_ends_itself_and_the_report_names_it() {
    let Some(waiting) = begun(&NODES, &["--retries", "0"]) else {
        return;
    };
    waiting.started();
    let node = waiting.pod()["spec"]["nodeName"].clone();
    let node = node.as_str().expect("a node");
    // What runs there goes on, and the cluster starts it somewhere else, too.
    waiting.engine.take_node(node);
    waiting.started();
    waiting.engine.return_node(node);
    let first = first_of_two(&waiting.end());
    assert!(first.contains("was lost with its node"), "{first}");
    assert!(
        first.contains("a second copy of it was started on `n"),
        "{first}"
    );
}

#[test]
fn what_a_cluster_takes_away_is_done_again_not_charged_and_told_with_the_word_for_it() {
    let Some(waiting) = begun(&["n1"], &["--retries", "0"]) else {
        return;
    };
    waiting.started();
    let job = waiting.pod()["metadata"]["labels"]["job-name"].clone();
    let job = format!("{JOBS}/{}", job.as_str().expect("a Job"));
    let deleted = waiting
        .engine
        .api()
        .delete(&format!("{job}?propagationPolicy=Background"));
    deleted.expect("it is deleted");
    for loss in [Loss::OutOfMemory, Loss::Evicted] {
        waiting.started();
        waiting.engine.lose(&waiting.pod(), loss);
    }
    waiting.started();
    let task = waiting.end();
    let attempts = task["attempts"].as_array().expect("attempts");
    let words = [
        "was deleted by somebody",
        "used more memory than it has (OOMKilled)",
        "was evicted (Evicted",
    ];
    assert_eq!(attempts.len(), words.len() + 1, "{task}");
    for (lost, words) in attempts.iter().zip(words) {
        assert!(lost.to_string().contains(words), "{words}: {lost}");
    }
}

#[test]
fn while_the_api_is_down_a_run_waits_and_nothing_is_charged() {
    let scene = Scene::new(&TASKS, &slow());
    let Some(mut plane) = started(&scene, &NODES) else {
        return;
    };
    let run = on_kubernetes(&scene, &plane, &[]);
    assert_waits(&scene, run, "Kubernetes", |fate| match fate {
        Fate::GoesAway => {
            plane.stop_api();
            assert!(plane.api().text("/version").is_err());
        }
        Fate::ComesBack => plane.start_api(),
    });
    plane.assert_empty();
}

#[test]
fn an_agent_in_a_pod_reaches_whom_the_list_names_and_nobody_else() {
    let scene = reaching();
    let Some(plane) = started(&scene, &["n1"]).filter(|_| has("landlock")) else {
        return;
    };
    let run = on_kubernetes(&scene, &plane, &[]);
    assert_reaches_one_alone("landlock", (&scene, run), |place| place.starts_with("n1 "));
    plane.assert_empty();
}

#[test]
fn what_a_cluster_refuses_in_the_middle_of_a_run_is_nobodys_failure() {
    let Some(mut waiting) = begun(&["n1"], &["--retries", "0"]) else {
        return;
    };
    waiting.started();
    // From here on no Job is taken.
    let template =
        std::fs::read_to_string(waiting.scene.path("template.yaml")).expect("a template");
    write_template(&waiting.scene, &json!({"activeDeadlineSeconds": -1}));
    waiting.let_go();
    let ended = waiting.run.wait().expect("it ends");
    assert_eq!(ended.code(), Some(1));
    let why = std::fs::read_to_string(waiting.scene.path("said")).expect("what it says");
    assert!(
        why.contains("have a job started: Kubernetes refuses the job: "),
        "{why}"
    );

    write(&waiting.scene.path("template.yaml"), &template);
    let resume = waiting.scene.tm(&["waves", "resume"]);
    let resumed = with(&waiting.scene, &waiting.engine, resume).output();
    let resumed = resumed.expect("tm");
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    let report = waiting.scene.report();
    assert_all_landed(&report);
    let attempts = crate::scene::task(&report, "1")["attempts"]
        .as_array()
        .map(Vec::len);
    assert_eq!(attempts, Some(1), "{report}");
    waiting.engine.assert_empty();
}

/// Waits until a run says so of its first job, which waits.
fn waits(scene: &Scene, plane: &ControlPlane, (image, wanted): (&str, &str)) {
    let mut run = on_kubernetes(scene, plane, &[]);
    run.env("TM_KUBERNETES_IMAGE", image);
    let (mut run, mut lines) = watched(run);
    let is_wanted = |line: &String| line.contains("waits for a place: ") && line.contains(wanted);
    let line = lines.find(is_wanted);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    line.expect("it says that it waits");
}

#[test]
fn what_is_in_the_way_of_pods_is_named_and_nothing_begins() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let Some(mut plane) = started(&scene, &[]) else {
        return;
    };
    waits(&scene, &plane, ("any", "Unschedulable: "));
    plane.add_node("n1");
    waits(&scene, &plane, ("missing:1", "ErrImagePull"));

    let quota = json!({"metadata": {"name": "few"}, "spec": {"hard": {"pods": "0"}}});
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    plane.api().post(quotas, &quota).expect("a quota");
    plane.until(&format!("{quotas}/few"), |quota| {
        quota["status"]["hard"].is_object()
    });
    waits(&scene, &plane, ("any", "exceeded quota: few"));
    let deleted = plane.api().delete(&format!("{quotas}/few"));
    deleted.expect("it is deleted");

    let refused = |spec: Value| {
        write_template(&scene, &spec);
        let output = on_kubernetes(&scene, &plane, &[]).output().expect("tm");
        assert_eq!(output.status.code(), Some(1));
        said(&output)
    };
    let unknown = refused(json!({"template": {"spec": {"nodeSelectors": {}}}}));
    let words = "a Job has no `spec.template.spec.nodeSelectors`";
    assert!(unknown.contains(words), "{unknown}");
    let invalid = refused(json!({"activeDeadlineSeconds": -1}));
    assert!(
        invalid.contains("Kubernetes refuses the job: "),
        "{invalid}"
    );
    assert!(invalid.contains("spec.activeDeadlineSeconds"), "{invalid}");

    write_template(&scene, &json!({}));
    let mut without = on_kubernetes(&scene, &plane, &[]);
    let without = without.env("TM_KUBERNETES_TM", "/nowhere/tm").output();
    let without = said(&without.expect("tm"));
    assert!(without.contains("/nowhere/tm"), "{without}");
    let mut elsewhere = on_kubernetes(&scene, &plane, &[]);
    elsewhere.env("TM_KUBERNETES_VOLUMES", "[{claim: work, path: /elsewhere}]");
    let elsewhere = said(&elsewhere.output().expect("tm"));
    let words = "which is on none of `kubernetes.volumes`";
    assert!(elsewhere.contains(words), "{elsewhere}");
}

#[test]
fn the_doctor_looks_at_all_that_jobs_need_and_plans_show_what_would_be_applied() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let Some(plane) = started(&scene, &["n1"]) else {
        return;
    };
    let call = |arguments: &[&str]| with(&scene, &plane, scene.tm(arguments));
    let doctor = ["doctor", "--on", "kubernetes", "--json"];
    let findings = |output: &Output| {
        let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        findings
    };
    let all = findings(&call(&doctor).output().expect("tm"));
    let of = |all: &[Value], what: &str| {
        let found = all.iter().find(|finding| finding["what"] == what);
        found.cloned().unwrap_or_default()
    };
    for what in [
        "cluster",
        "namespace",
        "permissions",
        "volume",
        "manifest",
        "kubernetes",
    ] {
        assert_eq!(of(&all, what)["weight"], "good", "{what}: {all:?}");
    }
    let place = of(&all, "kubernetes")["found"].to_string();
    assert!(
        place.contains("a first job ran on n1 (kubernetes pod tm-"),
        "{place}"
    );
    plane.assert_empty();

    let mut stranger = call(&doctor);
    stranger.env("KUBECONFIG", plane.kubeconfig_of_stranger());
    let all = findings(&stranger.output().expect("tm"));
    let may = of(&all, "permissions");
    assert_eq!(may["weight"], "bad", "{all:?}");
    assert!(may["found"].to_string().contains("create jobs"), "{may}");
    assert!(may["hint"].is_string(), "{may}");
    assert!(of(&all, "kubernetes").is_null(), "{all:?}");

    let plan = ["waves", "plan", "--on", "kubernetes", "--format", "yaml"];
    let plan = call(&plan).output().expect("tm");
    let shown = said(&plan);
    let documents = shown.split("---\n").map(|document| {
        serde_yaml::from_str::<Value>(document).unwrap_or_else(|error| panic!("{error}: {shown}"))
    });
    let documents: Vec<Value> = documents.collect();
    assert_eq!(documents.len(), 1, "{shown}");
    let labels = &documents[0]["metadata"]["labels"];
    assert_eq!(labels["tm/task"], "1", "{shown}");
    plane
        .api()
        .post(&format!("{JOBS}?dryRun=All"), &documents[0])
        .expect("the cluster would take it");
}
