//! What would be applied, and what of the settings is refused, before there is any cluster.

use crate::engines::scenes::jobs;
use crate::scene::{HONEST, Scene};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Command, Output};

/// A call of tm with settings that are of use, but for these.
fn with(scene: &Scene, mut command: Command, change: (&str, &str)) -> Output {
    let volumes = json!([{"claim": "work", "path": scene.path("")}]);
    command
        .env("KUBECONFIG", scene.path("no-such-file"))
        .env("TM_KUBERNETES_IMAGE", "any")
        .env("TM_KUBERNETES_VOLUMES", volumes.to_string())
        .env(change.0, change.1);
    command.output().expect("tm")
}

const PLAN: [&str; 6] = ["waves", "plan", "--on", "kubernetes", "--format", "yaml"];

#[test]
fn what_is_shown_has_valid_labels_and_a_name_of_its_own_whatever_tasks_are_called() {
    let long = "x".repeat(90);
    let tasks = [
        ("a/b", "Add one"),
        ("a:b", "Add two"),
        ("a b", "Add three"),
        (long.as_str(), "Add four"),
        ("ä", "Add five"),
    ];
    let tasks = tasks.map(|(id, title)| (id, title, &[] as &[&str]));
    let scene = Scene::new(&tasks, HONEST);
    let plan = scene.tm(&[&PLAN[..], &["--tdd", "auto"]].concat());
    let output = with(&scene, plan, ("NO_COLOR", "1"));
    let shown = String::from_utf8_lossy(&output.stdout);
    let documents: Vec<Value> = (shown.split("---\n"))
        .map(|document| serde_yaml::from_str(document).expect("YAML"))
        .collect();
    assert_eq!(documents.len(), tasks.len(), "{shown}");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let mut names = BTreeSet::new();
    for document in &documents {
        let metadata = &document["metadata"];
        names.insert(metadata["name"].to_string());
        for (name, value) in metadata["labels"].as_object().expect("labels") {
            let value = value.as_str().expect("a text");
            let is_value = value.chars().all(is_plain) && value.len() <= 63;
            assert!(is_value, "{name}: {value}");
        }
        let folder = metadata["annotations"]["tm/folder"].as_str();
        let (_, folder) = folder.expect("a path").rsplit_once('/').expect("folders");
        assert_eq!(metadata["labels"]["tm/job"], folder);
    }
    assert_eq!(names.len(), tasks.len(), "{shown}");
}

#[test]
fn what_no_cluster_takes_is_refused_by_the_plan_by_doctor_and_before_anything_starts() {
    let scene = Scene::new(&[("1", "Add one", &[])], HONEST);
    let change = (
        "TM_KUBERNETES_VOLUMES",
        r#"[{"claim": "work", "path": "/proc"}]"#,
    );
    let words = "`kubernetes.volumes.0.path` is `/proc`, and has to be an absolute path";
    let calls = [
        scene.tm(&PLAN),
        scene.tm(&["doctor", "--on", "kubernetes"]),
        scene.run_command(&["--on", "kubernetes"]),
    ];
    for call in calls {
        let shown = format!("{call:?}");
        let output = with(&scene, call, change);
        assert_ne!(output.status.code(), Some(0), "{shown}");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.matches(words).count(), 1, "{shown}: {said}");
    }
    assert_eq!(jobs(&scene).len(), 0);
}
