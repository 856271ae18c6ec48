//! The manifest of a Job, built of the settings, the user's template and the folder of one job. What is submitted and what
//! is shown before a run come from here. Pure but for reading the template.
//!
//! A container finds nothing of tm's in its manifest but the job's folder, and a secret by its name alone.

use super::names::{job_name, label_value};
use super::template::{self, CONTAINER, VARIABLES, VOLUME};
use super::{KubernetesRequest, Resources, settings};
use crate::Error;
use crate::engine::node::{JobDescription, JobFolder};
use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};

/// The label that all Jobs and pods of a project have, and by which they are found.
pub(super) const PROJECT: &str = "tm/project";
/// The label with the name of a job's folder.
pub(super) const JOB: &str = "tm/job";
/// The annotation with the path of a job's folder.
pub(super) const FOLDER: &str = "tm/folder";
/// Marks of commands that are labels, too.
const LABELS: [(&str, &str); 3] = [
    ("TM_RUN_ID", "tm/run"),
    ("TM_TASK_ID", "tm/task"),
    ("TM_ATTEMPT", "tm/attempt"),
];
/// So long a Job that is over stays where nobody deletes it, in seconds, on clusters that know this.
const KEPT_SECONDS: u32 = 24 * 60 * 60;
/// So long a pod has to end when it is asked to, in seconds: tm needs a few.
const GRACE_SECONDS: u32 = 15;
/// So long a node that nobody hears of may come back, in seconds, before its pods are given up.
const AWAY_SECONDS: u32 = 60;
/// The most seconds that a deadline may have.
const MOST_SECONDS: u64 = i32::MAX as u64;

/// What manifests of jobs are made of.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    request: KubernetesRequest,
    /// The value of the label of all that is the project's.
    project: String,
    template: Value,
}

impl Manifest {
    /// Checks the settings, and reads the template.
    ///
    /// # Errors
    /// One of them is of no use.
    pub(super) fn read(request: &KubernetesRequest, project: &str) -> Result<Self, Error> {
        settings::check(request)?;
        let template = match &request.template {
            None => template::nothing(),
            Some(path) => {
                let shown = path.display();
                let of_template = |words| Error::PlaceSettings(format!("`{shown}`: {words}"));
                let text = std::fs::read_to_string(path)
                    .map_err(|error| of_template(error.to_string()))?;
                template::read(&text).map_err(of_template)?
            }
        };
        Ok(Self {
            request: request.clone(),
            project: project.to_owned(),
            template,
        })
    }

    /// Returns the Job by which a job is started.
    ///
    /// # Errors
    /// There is no image.
    pub(super) fn job(&self, job: &JobFolder, about: &JobDescription) -> Result<Job, Error> {
        let mut value = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {
            "ttlSecondsAfterFinished": KEPT_SECONDS, "template": {
            "spec": defaults(&self.request),
        }}});
        merge(&mut value, &self.template);
        merge(&mut value, &self.own(job, about));
        let pod = &mut value["spec"]["template"]["spec"];
        let volumes = (self.request.volumes.iter().enumerate()).map(|(number, (claim, _))| {
            json!({"name": volume(number), "persistentVolumeClaim": {"claimName": claim}})
        });
        extend(&mut pod["volumes"], volumes);
        self.set_container(&mut pod["containers"], job, about);
        let job: Job = serde_json::from_value(value)
            .map_err(|error| Error::PlaceSettings(error.to_string()))?;
        let spec = job
            .spec
            .as_ref()
            .and_then(|spec| spec.template.spec.as_ref());
        let mut containers = spec.iter().flat_map(|spec| &spec.containers);
        let has_image = containers
            .find(|container| container.name == CONTAINER)
            .and_then(|container| container.image.as_ref())
            .is_some_and(|image| !image.is_empty());
        if has_image {
            Ok(job)
        } else {
            let words =
                "`kubernetes.image` is not set: the image has tm of this version and the agents";
            Err(Error::PlaceSettings(words.to_owned()))
        }
    }

    /// What tm says, whatever else is said.
    fn own(&self, job: &JobFolder, about: &JobDescription) -> Value {
        let mut labels = json!({
            "app.kubernetes.io/managed-by": "tm",
            PROJECT: self.project,
            JOB: label_value(job.name()),
        });
        for (mark, label) in LABELS {
            if let Some((_, value)) = about.env_markers.iter().find(|(name, _)| name == mark) {
                labels[label] = json!(label_value(value));
            }
        }
        let annotations = json!({
            FOLDER: job.path().display().to_string(),
            "tm/title": tm_untrusted::line(&about.title, 200),
        });
        json!({
            "metadata": {
                "name": job_name(&self.project, job),
                "labels": labels,
                "annotations": annotations,
            },
            "spec": {
                "backoffLimit": 0,
                "completions": 1,
                "parallelism": 1,
                "template": {
                    "metadata": {"labels": labels, "annotations": annotations},
                    "spec": {"restartPolicy": "Never"},
                },
            },
        })
    }

    /// Adds what tm says of its container to what the template says of it.
    fn set_container(&self, containers: &mut Value, job: &JobFolder, about: &JobDescription) {
        let mut all = containers.as_array().cloned().unwrap_or_default();
        let place = (all.iter()).position(|container| container["name"] == CONTAINER);
        let mut container = json!({"terminationMessagePolicy": "FallbackToLogsOnError"});
        if let Some(place) = place {
            merge(&mut container, &all.remove(place));
        }
        self.extend_container(&mut container);
        merge(&mut container, &self.own_container(job, about));
        all.insert(place.unwrap_or_default(), container);
        *containers = Value::Array(all);
    }

    fn extend_container(&self, container: &mut Value) {
        let request = &self.request;
        let mounts = (request.volumes.iter().enumerate())
            .map(|(number, (_, path))| json!({"name": volume(number), "mountPath": path}));
        extend(&mut container["volumeMounts"], mounts);
        let variables = (VARIABLES.into_iter()).map(
            |(name, field)| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}),
        );
        extend(&mut container["env"], variables);
        let secrets = (request.env_from.iter()).map(|name| json!({"secretRef": {"name": name}}));
        extend(&mut container["envFrom"], secrets);
    }

    fn own_container(&self, job: &JobFolder, about: &JobDescription) -> Value {
        let request = &self.request;
        let mut own = json!({"name": CONTAINER, "command": command(&request.tm_program, job)});
        if let Some(image) = &request.image {
            own["image"] = json!(image);
        }
        let of_size = about
            .complexity
            .and_then(|size| request.by_complexity.get(&size));
        for resources in [Some(&request.resources), of_size].into_iter().flatten() {
            let Resources { requests, limits } = resources;
            for (kind, amounts) in [("requests", requests), ("limits", limits)] {
                if !amounts.is_empty() {
                    merge(&mut own["resources"][kind], &json!(amounts));
                }
            }
        }
        own
    }
}

/// What a pod has where nobody says otherwise.
fn defaults(request: &KubernetesRequest) -> Value {
    let away = |taint: &str| {
        json!({
            "key": format!("node.kubernetes.io/{taint}"),
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": AWAY_SECONDS,
        })
    };
    let groups = rustix::process::getgroups().unwrap_or_default();
    let groups: Vec<u32> = groups
        .into_iter()
        .map(rustix::process::Gid::as_raw)
        .collect();
    let mut pod = json!({
        // What runs there is not to hold what tm may do in the cluster.
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "tolerations": [away("not-ready"), away("unreachable")],
        // Files on the volumes belong to whoever runs tm.
        "securityContext": {
            "runAsUser": rustix::process::geteuid().as_raw(),
            "runAsGroup": rustix::process::getegid().as_raw(),
            "supplementalGroups": groups,
        },
    });
    // Of a pod it counts from when it is on a node; that of a Job would go on while it waits.
    if let Some(time) = request.time {
        pod["activeDeadlineSeconds"] = json!(time.as_secs().clamp(1, MOST_SECONDS));
    }
    pod
}

fn volume(number: usize) -> String {
    format!("{VOLUME}{number}")
}

fn command(tm_program: &str, job: &JobFolder) -> [String; 8] {
    // A variable's value is taken for it unless its dollar is doubled.
    let plain = |text: &str| text.replace("$(", "$$(");
    [
        plain(tm_program),
        "node".to_owned(),
        "--job".to_owned(),
        plain(&job.path().display().to_string()),
        "--id".to_owned(),
        "$(POD_NAME)".to_owned(),
        "--name".to_owned(),
        "$(NODE_NAME)".to_owned(),
    ]
}

/// Puts what one value says on top of another one: maps entry by entry, all else as a whole.
fn merge(into: &mut Value, said: &Value) {
    match (into, said) {
        (Value::Object(into), Value::Object(said)) => {
            for (name, said) in said {
                merge(into.entry(name).or_insert(Value::Null), said);
            }
        }
        (into, said) => *into = said.clone(),
    }
}

fn extend(list: &mut Value, more: impl Iterator<Item = Value>) {
    let mut all = list.as_array().cloned().unwrap_or_default();
    all.extend(more);
    *list = Value::Array(all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::kubernetes::label::own_project_label;
    use proptest::prelude::*;
    use regex::Regex;
    use std::path::Path;
    use std::time::Duration;
    use tm_scheduler::Complexity;

    fn limits(name: &str, amount: &str) -> Resources {
        Resources {
            limits: [(name.to_owned(), amount.to_owned())].into(),
            ..Resources::default()
        }
    }

    fn request() -> KubernetesRequest {
        KubernetesRequest {
            image: Some("registry.example/tm:1".to_owned()),
            tm_program: "tm".to_owned(),
            volumes: vec![("work".to_owned(), "/srv/work".into())],
            resources: limits("memory", "8Gi"),
            by_complexity: [(Complexity::XL, limits("cpu", "8"))].into(),
            env_from: vec!["agent-keys".to_owned()],
            time: Some(Duration::from_hours(2)),
            ..KubernetesRequest::default()
        }
    }

    fn about() -> JobDescription {
        let mark = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        JobDescription {
            title: "run/3.1/2".to_owned(),
            env_markers: vec![mark("TM_RUN_ID", "run"), mark("TM_TASK_ID", "3.1 (green)")],
            ..JobDescription::default()
        }
    }

    fn built(request: &KubernetesRequest, template: &str) -> Value {
        let template = match template {
            "" => template::nothing(),
            text => template::read(text).expect("a template"),
        };
        let manifest = Manifest {
            request: request.clone(),
            project: "shop-1a2b".to_owned(),
            template,
        };
        let folder = JobFolder::at(Path::new("/srv/work/$(x)/job-aB3xYz"));
        let job = manifest.job(&folder, &about()).expect("a job");
        serde_json::to_value(job).expect("JSON")
    }

    #[test]
    fn a_job_runs_one_pod_once_which_sees_the_shared_files_and_no_credentials_of_the_cluster() {
        let job = built(&request(), "");
        assert_eq!(job["metadata"]["name"], "tm-shop-1a2b-61423378597a");
        let labels = json!({
            "app.kubernetes.io/managed-by": "tm", "tm/project": "shop-1a2b", "tm/job": "job-aB3xYz",
            "tm/run": "run", "tm/task": "3.1__green",
        });
        assert_eq!(job["metadata"]["labels"], labels);
        assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
        assert_eq!(job["spec"]["backoffLimit"], 0);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["restartPolicy"], "Never");
        assert_eq!(pod["activeDeadlineSeconds"], 7200);
        assert_eq!(pod["automountServiceAccountToken"], false);
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(pod["securityContext"]["runAsUser"], uid);
        let claim =
            json!([{"name": "tm-volume-0", "persistentVolumeClaim": {"claimName": "work"}}]);
        assert_eq!(pod["volumes"], claim);
        let container = &pod["containers"][0];
        let command: Vec<&str> = (container["command"].as_array().expect("a list").iter())
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(
            command.join(" "),
            "tm node --job /srv/work/$$(x)/job-aB3xYz --id $(POD_NAME) --name $(NODE_NAME)"
        );
        let mount = json!([{"name": "tm-volume-0", "mountPath": "/srv/work"}]);
        assert_eq!(container["volumeMounts"], mount);
        assert_eq!(
            container["envFrom"],
            json!([{"secretRef": {"name": "agent-keys"}}])
        );
        assert_eq!(container["resources"], json!({"limits": {"memory": "8Gi"}}));
    }

    #[test]
    fn a_template_says_more_and_tm_says_what_is_its_own() {
        let template = "
apiVersion: batch/v1
kind: Job
metadata: {labels: {team: a}}
spec:
  ttlSecondsAfterFinished: 60
  template:
    spec:
      nodeSelector: {disk: fast}
      tolerations: []
      securityContext: {fsGroup: 7}
      volumes: [{name: cache, emptyDir: {}}]
      containers:
        - {name: proxy, image: proxy}
        - name: tm
          image: other
          env: [{name: KEY, valueFrom: {secretKeyRef: {name: keys, key: one}}}]
          volumeMounts: [{name: cache, mountPath: /cache}]
          resources: {limits: {cpu: \"2\"}}
";
        let job = built(&request(), template);
        assert_eq!(job["metadata"]["labels"]["team"], "a");
        assert_eq!(job["metadata"]["labels"]["tm/job"], "job-aB3xYz");
        assert_eq!(job["spec"]["ttlSecondsAfterFinished"], 60);
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(pod["nodeSelector"], json!({"disk": "fast"}));
        assert_eq!(pod["tolerations"], json!([]));
        assert_eq!(pod["securityContext"]["fsGroup"], 7);
        assert!(pod["securityContext"]["runAsUser"].is_number());
        assert_eq!(pod["volumes"].as_array().map(Vec::len), Some(2));
        let container = &pod["containers"][1];
        assert_eq!(container["image"], "registry.example/tm:1");
        assert_eq!(container["env"].as_array().map(Vec::len), Some(3));
        assert_eq!(container["volumeMounts"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            container["resources"],
            json!({"limits": {"cpu": "2", "memory": "8Gi"}})
        );
    }

    #[test]
    fn what_a_job_of_a_large_task_asks_for_comes_on_top() {
        let manifest = Manifest::read(&request(), "shop").expect("no template");
        let about = JobDescription {
            complexity: Some(Complexity::XL),
            ..about()
        };
        let folder = JobFolder::at(Path::new("/srv/work/job-x"));
        let job =
            serde_json::to_value(manifest.job(&folder, &about).expect("a job")).expect("JSON");
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(
            container["resources"],
            json!({"limits": {"cpu": "8", "memory": "8Gi"}})
        );
    }

    #[test]
    fn without_an_image_nothing_is_built() {
        let request = KubernetesRequest {
            image: None,
            ..request()
        };
        let manifest = Manifest::read(&request, "shop").expect("no template");
        let folder = JobFolder::at(Path::new("/srv/work/job-x"));
        let error = manifest.job(&folder, &about()).expect_err("no image");
        assert!(
            error.to_string().contains("`kubernetes.image` is not set"),
            "{error}"
        );
    }

    /// Letters of every kind, and as many as names may have and more.
    const ODD: &str = "(?s)[a-zA-Z0-9]{0,40}.{0,40}[-_./: A-Za-zé0-9]{0,60}";

    fn assert_label_values(labels: &Value) {
        let valid = Regex::new("^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$").expect("a regex");
        for (name, value) in labels.as_object().expect("a map") {
            let value = value.as_str().expect("a text");
            assert!(
                valid.is_match(value) && value.len() <= 63,
                "{name}: {value:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn names_and_labels_are_valid_whatever_things_are_called(
            project in ODD,
            folder in ODD,
            marks in [ODD, ODD, ODD],
        ) {
            let jobs = tempfile::tempdir().expect("a folder");
            let request = KubernetesRequest { project, jobs: jobs.path().to_owned(), ..request() };
            let label = own_project_label(&request);
            let names = LABELS.map(|(name, _)| name.to_owned());
            let about = JobDescription {
                env_markers: names.into_iter().zip(marks).collect(),
                ..about()
            };
            let folder = JobFolder::at(&Path::new("/srv").join(format!("job-{}", folder.replace('/', ""))));
            let manifest = Manifest::read(&request, &label).expect("no template");
            let job = manifest.job(&folder, &about).expect("a job");
            let job = serde_json::to_value(job).expect("JSON");
            let name = job["metadata"]["name"].as_str().expect("a name");
            // What Kubernetes adds for the pod has room, too.
            let valid = Regex::new("^[a-z0-9]([-a-z0-9]{0,56}[a-z0-9])?$").expect("a regex");
            prop_assert!(valid.is_match(name), "{}", name);
            assert_label_values(&job["metadata"]["labels"]);
            assert_label_values(&job["spec"]["template"]["metadata"]["labels"]);
        }
    }
}
