//! A pod on a node: begins when what it needs is there, is reported while it runs and when it has ended, and ends when it
//! is to be deleted. Does what a kubelet does for pods of one container that is never restarted.

use super::api::{Api, Refusal};
use super::container::{Container, Order};
use super::environment::{environment, expand, items, text};
use super::kubelet::Node;
use super::report::{End, Reason, Report, State};
use parking_lot::Mutex;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So often a pod is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// So often what was not there is asked for again.
const AGAIN: Duration = Duration::from_millis(200);

/// After so long an image that is not there is asked for more seldom.
const BACK_OFF: Duration = Duration::from_secs(1);

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
#[derive(Clone, Copy)]
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
    thread: Option<JoinHandle<()>>,
}

impl Pod {
    /// `begins_late` where the pod was here before this node's machine began, so that its container can't run any more.
    pub(super) fn start(node: Arc<Node>, pod: Value, begins_late: bool) -> Self {
        let wish = Arc::new(Mutex::new(Wish::default()));
        let is_over = Arc::new(Mutex::new(false));
        let log = log_of(node.folder(), &text(&pod["metadata"]["uid"]));
        let keeper = Keeper {
            report: Report::new(pod.clone(), log.clone()),
            pod,
            log,
            node,
            wish: wish.clone(),
            is_over: is_over.clone(),
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
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
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
    report: Report,
    log: PathBuf,
    wish: Arc<Mutex<Wish>>,
    is_over: Arc<Mutex<bool>>,
}

impl Keeper {
    fn keep(self, begins_late: bool) {
        let phase = &self.pod["status"]["phase"];
        if phase != "Succeeded" && phase != "Failed" {
            let end = if begins_late {
                Some(End::Unknown)
            } else {
                self.begin().and_then(|container| self.run(container))
            };
            *self.is_over.lock() = true;
            if let Some(end) = end {
                self.say(&State::Ended(end));
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
        let mut said = None;
        let begins = Instant::now();
        while !self.has_to_end() {
            let reason = match self.try_begin(begins.elapsed()) {
                Ok(container) => return Some(container),
                Err(reason) => reason,
            };
            if said.as_ref() != Some(&reason) {
                said = Some(reason.clone());
                self.say(&State::Waiting(reason));
            }
            let looks = Instant::now();
            while looks.elapsed() < AGAIN && !self.has_to_end() {
                std::thread::sleep(LOOK);
            }
        }
        None
    }

    /// Starts its container, which was tried for so long, or says why not.
    fn try_begin(&self, tried: Duration) -> Result<Container, Reason> {
        let spec = &self.pod["spec"];
        let container = &spec["containers"][0];
        understood(spec)?;
        found(&text(&container["image"]), tried)?;
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
            groups: items(&spec["securityContext"]["supplementalGroups"])
                .filter_map(Value::as_u64)
                .collect(),
            log: self.log.clone(),
            own: self.node.own(),
        };
        Container::start(&order).map_err(|error| ("CreateContainerError", error.to_string()))
    }

    /// Waits for the container's end, and brings it about where it has to; `None` where nobody is to hear of it.
    fn run(&self, mut container: Container) -> Option<End> {
        self.say(&State::Running);
        let begins = Instant::now();
        let limit = self.pod["spec"]["activeDeadlineSeconds"].as_u64();
        let limit = limit.map(Duration::from_secs);
        let mut asked: Option<Instant> = None;
        let mut is_late = false;
        loop {
            let wish = self.wish();
            if let Some(code) = container.try_end() {
                return Some(match wish.loss {
                    Some(Loss::OutOfMemory) => End::OutOfMemory,
                    Some(Loss::Evicted) => End::Evicted,
                    None if is_late => End::Late(code),
                    None => End::Exited(code),
                });
            }
            if wish.is_dead {
                return None;
            }
            if wish.grace.is_some() && asked.is_none() {
                container.terminate();
                asked = Some(Instant::now());
            }
            let is_deaf = asked
                .zip(wish.grace)
                .is_some_and(|(asked, grace)| asked.elapsed() >= grace);
            is_late = limit.is_some_and(|limit| begins.elapsed() >= limit);
            if wish.is_gone || wish.loss.is_some() || is_late || is_deaf {
                container.kill();
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes the pod out of the list when somebody has deleted it.
    fn leave(&self) {
        while !self.has_to_end() {
            std::thread::sleep(LOOK);
        }
        if !self.wish().is_gone {
            self.insist(|api| self.report.remove(api));
        }
    }

    fn say(&self, state: &State) {
        self.insist(|api| self.report.send(api, state));
    }

    /// Asks until somebody has heard it, or there is no such pod any more, or another one of that name.
    fn insist(&self, ask: impl Fn(&Api) -> Result<Value, Refusal>) {
        while !self.wish().is_dead {
            match ask(self.node.api()) {
                Ok(_) => return,
                Err(refusal) if refusal.is_for_good() => return,
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
    }
}

/// Such a pod is one that nodes of a test can run.
fn understood(spec: &Value) -> Result<(), Reason> {
    let one = spec["containers"].as_array().map(Vec::len) == Some(1);
    if one && spec["initContainers"].is_null() && spec["restartPolicy"] == "Never" {
        return Ok(());
    }
    let message = "this node runs pods of one container that is not restarted".to_owned();
    Err(("CreateContainerError", message))
}

/// Every image is there but those that say that they are not.
fn found(image: &str, tried: Duration) -> Result<(), Reason> {
    if !image.starts_with("missing:") {
        return Ok(());
    }
    Err(if tried < BACK_OFF {
        ("ErrImagePull", format!("\"{image}\" not found"))
    } else {
        (
            "ImagePullBackOff",
            format!("Back-off pulling image \"{image}\""),
        )
    })
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
