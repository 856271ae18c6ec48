//! A pod on a node: begins when what it needs is there, is reported while it runs and when it has ended, and ends when it
//! is to be deleted. Does what a kubelet does for pods of one container that is never restarted.

use super::api::{Api, Refusal};
use super::container::{Container, Order};
use super::environment::{environment, expand, items, text};
use super::kubelet::Node;
use super::now;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So often a pod is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// So often what was not there is asked for again.
const AGAIN: Duration = Duration::from_millis(200);

/// What a pod is to do, as far as somebody said something.
#[derive(Clone, Copy, Default)]
pub(super) struct Wish {
    /// So long it may take to end; it has been deleted.
    pub(super) grace: Option<Duration>,
    /// There is no such pod any more.
    pub(super) is_gone: bool,
    /// The machine under it has stopped: nothing is said any more.
    pub(super) is_dead: bool,
    pub(super) loss: Option<Loss>,
}

/// What a node takes a container away for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// It used more memory than it may.
    OutOfMemory,
    /// The node has too little of something itself.
    Evicted,
}

/// One pod, looked after by a thread.
pub(super) struct Pod {
    wish: Arc<Mutex<Wish>>,
    is_over: Arc<Mutex<bool>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Pod {
    /// `begins_late` where the pod was here before this node's machine began, so that its container can't run any more.
    pub(super) fn start(node: Arc<Node>, pod: Value, begins_late: bool) -> Self {
        let wish = Arc::new(Mutex::new(Wish::default()));
        let is_over = Arc::new(Mutex::new(false));
        let keeper = Keeper {
            container: format!("test://{}", text(&pod["metadata"]["uid"])),
            pod,
            node,
            wish: wish.clone(),
            is_over: is_over.clone(),
            begins: now(),
        };
        let thread = std::thread::spawn(move || keeper.keep(begins_late));
        Self {
            wish,
            is_over,
            thread: Some(thread),
        }
    }

    pub(super) fn wish(&self, change: impl FnOnce(&mut Wish)) {
        change(&mut self.wish.lock());
    }

    /// It prints nothing more.
    pub(super) fn is_over(&self) -> bool {
        *self.is_over.lock()
    }

    /// Nobody looks after it any more.
    pub(super) fn is_done(&self) -> bool {
        self.thread
            .as_ref()
            .is_none_or(|thread| thread.is_finished())
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.wish(|wish| wish.is_dead = true);
        if let Some(thread) = self.thread.take() {
            // A panic of it has been printed.
            let _ended = thread.join();
        }
    }
}

/// Where what a pod prints is kept.
pub(super) fn log_of(folder: &Path, uid: &str) -> PathBuf {
    folder.join(format!("{uid}.log"))
}

struct Keeper {
    node: Arc<Node>,
    pod: Value,
    wish: Arc<Mutex<Wish>>,
    is_over: Arc<Mutex<bool>>,
    container: String,
    begins: String,
}

impl Keeper {
    fn keep(self, begins_late: bool) {
        let is_over = ["Succeeded", "Failed"].map(|phase| self.pod["status"]["phase"] == phase);
        if !is_over.contains(&true) {
            if begins_late {
                self.say_ended(137, "ContainerStatusUnknown");
            } else if let Some(container) = self.begin() {
                self.run(container);
            }
        }
        *self.is_over.lock() = true;
        self.leave();
    }

    fn wish(&self) -> Wish {
        *self.wish.lock()
    }

    fn has_to_end(&self) -> bool {
        let wish = self.wish();
        wish.grace.is_some() || wish.is_gone || wish.is_dead
    }

    /// Starts its container as soon as that can be done.
    fn begin(&self) -> Option<Container> {
        let mut said = String::new();
        while !self.has_to_end() {
            let (reason, message) = match self.try_begin() {
                Ok(container) => return Some(container),
                Err(reason) => reason,
            };
            if said != message {
                said.clone_from(&message);
                let waiting = json!({"waiting": {"reason": reason, "message": message}});
                self.say("Pending", &waiting, &json!({}));
            }
            let looks = Instant::now();
            while looks.elapsed() < AGAIN && !self.has_to_end() {
                std::thread::sleep(LOOK);
            }
        }
        None
    }

    /// A reason of Kubernetes' own why not, and what is said of it.
    fn try_begin(&self) -> Result<Container, (&'static str, String)> {
        let spec = &self.pod["spec"];
        let [container] = spec["containers"].as_array().expect("a list").as_slice() else {
            return Err((
                "CreateContainerError",
                "this node runs one container of a pod".to_owned(),
            ));
        };
        if spec["initContainers"].is_array() || spec["restartPolicy"] != "Never" {
            let message = "this node prepares nothing and restarts nothing".to_owned();
            return Err(("CreateContainerError", message));
        }
        let image = text(&container["image"]);
        if image.starts_with("missing:") {
            let reason = "ErrImagePull";
            return Err((
                reason,
                format!("failed to pull image \"{image}\": not found"),
            ));
        }
        let api = self.node.api();
        volumes(api, &self.pod, container).map_err(|why| ("ContainerCreating", why))?;
        let variables = environment(api, &self.pod, container)
            .map_err(|why| ("CreateContainerConfigError", why))?;
        let words = ["command", "args"].map(|name| items(&container[name]).map(text));
        let words = words.into_iter().flatten();
        let order = Order {
            words: words.map(|word| expand(&word, &variables)).collect(),
            environment: variables,
            folder: container["workingDir"].as_str().map(PathBuf::from),
            user: either(spec, container, "runAsUser"),
            group: either(spec, container, "runAsGroup"),
            log: log_of(self.node.folder(), &text(&self.pod["metadata"]["uid"])),
            own: self.node.own(),
        };
        Container::start(&order).map_err(|error| ("CreateContainerError", error.to_string()))
    }

    fn run(&self, mut container: Container) {
        let begins = Instant::now();
        let limit = self.pod["spec"]["activeDeadlineSeconds"].as_u64();
        let limit = limit.map(Duration::from_secs);
        let running = json!({"running": {"startedAt": self.begins}});
        self.say("Running", &running, &json!({}));
        let mut asked: Option<Instant> = None;
        let mut is_late = false;
        let code = loop {
            if let Some(code) = container.try_end() {
                break code;
            }
            let wish = self.wish();
            is_late = limit.is_some_and(|limit| begins.elapsed() >= limit);
            if wish.is_dead {
                return;
            }
            if wish.is_gone || wish.loss.is_some() || is_late {
                container.kill();
            }
            if let Some(grace) = wish.grace {
                if asked.is_none() {
                    container.terminate();
                }
                if asked.get_or_insert_with(Instant::now).elapsed() >= grace {
                    container.kill();
                }
            }
            std::thread::sleep(LOOK);
        };
        drop(container);
        *self.is_over.lock() = true;
        match self.wish().loss {
            Some(Loss::OutOfMemory) => self.say_ended(137, "OOMKilled"),
            Some(Loss::Evicted) => {
                let message = "The node was low on resource: memory.";
                let more = json!({"reason": "Evicted", "message": message});
                self.say("Failed", &self.terminated(137, "Error"), &more);
            }
            None if is_late => {
                let message = "Pod was active on the node longer than the specified deadline";
                let more = json!({"reason": "DeadlineExceeded", "message": message});
                self.say("Failed", &self.terminated(code, "Error"), &more);
            }
            None if code == 0 => self.say_ended(0, "Completed"),
            None => self.say_ended(code, "Error"),
        }
    }

    fn terminated(&self, code: i32, reason: &str) -> Value {
        let container = &self.pod["spec"]["containers"][0];
        let is_told = code != 0 && container["terminationMessagePolicy"] == "FallbackToLogsOnError";
        let log = log_of(self.node.folder(), &text(&self.pod["metadata"]["uid"]));
        let log = std::fs::read(log).unwrap_or_default();
        let last = &log[log.len().saturating_sub(2048)..];
        let message = String::from_utf8_lossy(if is_told { last } else { b"" });
        json!({"terminated": {
            "exitCode": code, "reason": reason, "message": message, "containerID": self.container,
            "startedAt": self.begins, "finishedAt": now(),
        }})
    }

    fn say_ended(&self, code: i32, reason: &str) {
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        self.say(phase, &self.terminated(code, reason), &json!({}));
    }

    /// Reports a state of the container, until the server has heard it or nobody wants to.
    fn say(&self, phase: &str, state: &Value, more: &Value) {
        let container = &self.pod["spec"]["containers"][0];
        let has_begun = state["waiting"].is_null();
        let is_ready = if phase == "Running" { "True" } else { "False" };
        let is = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": now()});
        let mut status = json!({
            "phase": phase,
            "hostIP": "127.0.0.1",
            "startTime": self.begins,
            "conditions": [
                is("Initialized", "True"), is("PodScheduled", "True"),
                is("Ready", is_ready), is("ContainersReady", is_ready),
            ],
            "containerStatuses": [{
                "name": container["name"], "image": container["image"], "imageID": container["image"],
                "ready": phase == "Running", "started": phase == "Running", "restartCount": 0,
                "containerID": if has_begun { &self.container } else { "" }, "state": state,
            }],
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            status[name] = value.clone();
        }
        let uid = &self.pod["metadata"]["uid"];
        let body = json!({"metadata": {"uid": uid}, "status": status});
        let path = format!("{}/status", self.path());
        self.insist(|api| api.patch(&path, &body));
    }

    /// Takes the pod out of the list when somebody has deleted it.
    fn leave(&self) {
        loop {
            let wish = self.wish();
            if wish.is_dead || wish.is_gone {
                return;
            }
            if wish.grace.is_some() {
                let path = format!("{}?gracePeriodSeconds=0", self.path());
                self.insist(|api| api.delete(&path));
                return;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn path(&self) -> String {
        let metadata = &self.pod["metadata"];
        let [namespace, name] = ["namespace", "name"].map(|key| text(&metadata[key]));
        format!("/api/v1/namespaces/{namespace}/pods/{name}")
    }

    fn insist(&self, ask: impl Fn(&Api) -> Result<Value, Refusal>) {
        while !self.wish().is_dead {
            match ask(self.node.api()) {
                Ok(_) => return,
                // There is no such pod any more, or another one of that name.
                Err(refusal) if matches!(refusal.status, Some(404 | 409 | 422)) => return,
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
    }
}

/// What the container says, or the pod for it.
fn either(spec: &Value, container: &Value, name: &str) -> Option<u64> {
    let own = container["securityContext"][name].as_u64();
    own.or(spec["securityContext"][name].as_u64())
}

/// Where a container looks for files there are some: each claim exists, and so does its folder on this machine.
fn volumes(api: &Api, pod: &Value, container: &Value) -> Result<(), String> {
    let namespace = text(&pod["metadata"]["namespace"]);
    for mount in items(&container["volumeMounts"]) {
        let name = &mount["name"];
        let volume = items(&pod["spec"]["volumes"]).find(|volume| volume["name"] == *name);
        let volume = volume.expect("the server has checked it");
        // Every pod gets the token of its account, which no container of a test reads.
        if !volume["secret"].is_null() || !volume["projected"].is_null() {
            continue;
        }
        if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
            let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}");
            api.get(&path).map_err(|refusal| refusal.said)?;
        }
        let path = text(&mount["mountPath"]);
        if !Path::new(&path).is_dir() {
            return Err(format!(
                "MountVolume.SetUp failed for volume {name}: {path} does not exist"
            ));
        }
    }
    Ok(())
}
