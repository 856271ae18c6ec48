//! What the server hears of a pod, in the words of a kubelet.

use super::api::{Api, Refusal};
use super::environment::text;
use super::now;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A reason of Kubernetes' own why a container does not begin, and what is said of it.
pub(super) type Reason = (&'static str, String);

/// Where a pod's container is.
pub(super) enum State {
    Waiting(Reason),
    Running,
    Ended(End),
}

/// Why a container runs no more.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// By itself, or since it was told to.
    Exited(i32),
    /// It used more memory than it may.
    OutOfMemory,
    /// The node had too little of something itself.
    Evicted,
    /// It took longer than its pod may.
    Late(i32),
    /// Its machine was stopped.
    Unknown,
}

impl End {
    /// The exit code, and the reasons of the container and of the pod.
    fn words(self) -> (i32, &'static str, Option<&'static str>) {
        match self {
            Self::Exited(0) => (0, "Completed", None),
            Self::Exited(code) => (code, "Error", None),
            Self::OutOfMemory => (137, "OOMKilled", None),
            Self::Evicted => (137, "Error", Some("Evicted")),
            Self::Late(code) => (code, "Error", Some("DeadlineExceeded")),
            Self::Unknown => (137, "ContainerStatusUnknown", None),
        }
    }
}

/// Writes the status of one pod.
pub(super) struct Report {
    pod: Value,
    log: PathBuf,
    /// When its node took it.
    begins: String,
}

impl Report {
    pub(super) fn new(pod: Value, log: PathBuf) -> Self {
        Self {
            pod,
            log,
            begins: now(),
        }
    }

    pub(super) fn send(&self, api: &Api, state: &State) -> Result<Value, Refusal> {
        let uid = &self.pod["metadata"]["uid"];
        let body = json!({"metadata": {"uid": uid}, "status": self.status(state)});
        api.patch(&format!("{}/status", self.path()), &body)
    }

    /// Takes the pod out of the server's list.
    pub(super) fn remove(&self, api: &Api) -> Result<Value, Refusal> {
        api.delete(&format!("{}?gracePeriodSeconds=0", self.path()))
    }

    fn path(&self) -> String {
        let metadata = &self.pod["metadata"];
        let [namespace, name] = ["namespace", "name"].map(|key| text(&metadata[key]));
        format!("/api/v1/namespaces/{namespace}/pods/{name}")
    }

    fn status(&self, state: &State) -> Value {
        let container = &self.pod["spec"]["containers"][0];
        let runs = matches!(state, State::Running);
        let has_begun = !matches!(state, State::Waiting(_));
        let is = |kind: &str, is_so: bool| {
            let status = if is_so { "True" } else { "False" };
            json!({"type": kind, "status": status, "lastTransitionTime": now()})
        };
        json!({
            "phase": phase(state),
            "reason": of_pod(state),
            "message": of_pod(state),
            "hostIP": "127.0.0.1",
            "startTime": self.begins,
            "conditions": [
                is("Initialized", true), is("PodScheduled", true),
                is("Ready", runs), is("ContainersReady", runs),
            ],
            "containerStatuses": [{
                "name": container["name"], "image": container["image"], "imageID": container["image"],
                "ready": runs, "started": runs, "restartCount": 0,
                "containerID": if has_begun { self.container() } else { String::new() },
                "state": self.of_container(state),
            }],
        })
    }

    fn container(&self) -> String {
        format!("test://{}", text(&self.pod["metadata"]["uid"]))
    }

    fn of_container(&self, state: &State) -> Value {
        match state {
            State::Waiting((reason, message)) => {
                json!({"waiting": {"reason": reason, "message": message}})
            }
            State::Running => json!({"running": {"startedAt": self.begins}}),
            State::Ended(end) => {
                let (code, reason, _) = end.words();
                json!({"terminated": {
                    "exitCode": code, "reason": reason, "message": self.last_words(code),
                    "containerID": self.container(), "startedAt": self.begins, "finishedAt": now(),
                }})
            }
        }
    }

    /// The end of what a container printed that failed, where its pod asks for it.
    fn last_words(&self, code: i32) -> Option<String> {
        let container = &self.pod["spec"]["containers"][0];
        if code == 0 || container["terminationMessagePolicy"] != "FallbackToLogsOnError" {
            return None;
        }
        let log = std::fs::read(&self.log).ok()?;
        let last = &log[log.len().saturating_sub(2048)..];
        Some(String::from_utf8_lossy(last).into_owned())
    }
}

fn phase(state: &State) -> &'static str {
    match state {
        State::Waiting(_) => "Pending",
        State::Running => "Running",
        State::Ended(End::Exited(0)) => "Succeeded",
        State::Ended(_) => "Failed",
    }
}

fn of_pod(state: &State) -> Option<&'static str> {
    match state {
        State::Waiting(_) | State::Running => None,
        State::Ended(end) => end.words().2,
    }
}
