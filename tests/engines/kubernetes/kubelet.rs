//! A node: says that it is there, and starts and ends the pods that are bound to it. Stands in for a kubelet, which needs
//! more of a machine than a test has; what it starts are real processes.

use super::api::{Api, Refusal};
use super::environment::{items, text};
use super::logs::LogServer;
use super::now;
use super::pod::{Loss, Pod};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So often a node says that it is there.
const BEAT: Duration = Duration::from_millis(500);
/// So often it looks whether it has to end, or asks again who did not answer.
const LOOK: Duration = Duration::from_millis(20);

/// What the threads of a node share.
pub(super) struct Node {
    name: String,
    api: Api,
    folder: PathBuf,
    own: (PathBuf, PathBuf),
    is_ended: AtomicBool,
    pods: Mutex<BTreeMap<String, Pod>>,
    /// Pods that were bound to it before its machine began.
    lost: Mutex<BTreeSet<String>>,
}

/// A node at work; its containers end with it.
pub(super) struct Kubelet {
    node: Arc<Node>,
    threads: Vec<JoinHandle<()>>,
}

impl Kubelet {
    /// Starts the machine `name`; `own` is a folder of it and the one of this machine in whose place its containers find
    /// it, `certificates` is where the ones are that it answers by.
    pub(super) fn start(
        name: &str,
        api: &Api,
        folder: PathBuf,
        own: (PathBuf, PathBuf),
        certificates: &Path,
    ) -> Self {
        let node = Arc::new(Node {
            name: name.to_owned(),
            api: api.of_one(),
            folder,
            own,
            is_ended: AtomicBool::new(false),
            pods: Mutex::default(),
            lost: Mutex::default(),
        });
        std::fs::create_dir_all(&node.folder).expect("a folder");
        std::fs::create_dir_all(&node.own.0).expect("a folder");
        let server = LogServer::bind(certificates);
        node.register(server.port()).expect("the server answers");
        let bound = node.bound().expect("the server answers");
        let bound = items(&bound["items"]).map(|pod| text(&pod["metadata"]["uid"]));
        *node.lost.lock() = bound.collect();
        let beats = node.clone();
        let watches = node.clone();
        let serves = node.clone();
        Self {
            node,
            threads: vec![
                std::thread::spawn(move || beats.until_ended(BEAT, Node::beat)),
                std::thread::spawn(move || watches.until_ended(LOOK, Node::watch)),
                std::thread::spawn(move || server.serve(&serves)),
            ],
        }
    }

    /// Whether nobody hears it any more, nor it anybody; its containers go on.
    pub(super) fn cut(&self, is_cut: bool) {
        self.node.api.cut(is_cut);
    }

    /// Takes a pod's container away, for a reason of the node's own.
    pub(super) fn lose(&self, uid: &str, loss: Loss) -> bool {
        let pods = self.node.pods.lock();
        let Some(pod) = pods.get(uid) else {
            return false;
        };
        pod.wish(|wish| wish.loss = Some(loss));
        true
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.node.is_ended.store(true, Ordering::SeqCst);
        // Nothing of what ends now is told.
        self.node.api.cut(true);
        for thread in self.threads.drain(..) {
            // A panic of it has been printed.
            let _ended = thread.join();
        }
        let pods = std::mem::take(&mut *self.node.pods.lock());
        for pod in pods.values() {
            pod.wish(|wish| wish.is_dead = true);
        }
    }
}

impl Node {
    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn own(&self) -> (PathBuf, PathBuf) {
        self.own.clone()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::SeqCst)
    }

    /// The pod prints nothing more.
    pub(super) fn is_over(&self, uid: &str) -> bool {
        self.pods.lock().get(uid).is_none_or(Pod::is_over)
    }

    pub(super) fn bound(&self) -> Result<Value, Refusal> {
        let name = &self.name;
        self.api
            .get(&format!("/api/v1/pods?fieldSelector=spec.nodeName={name}"))
    }

    fn until_ended(self: Arc<Self>, pause: Duration, step: fn(&Arc<Self>)) {
        while !self.is_ended() {
            step(&self);
            let begins = Instant::now();
            while begins.elapsed() < pause && !self.is_ended() {
                std::thread::sleep(LOOK);
            }
        }
    }

    fn register(&self, port: u16) -> Result<Value, Refusal> {
        let metadata = json!({"name": self.name, "labels": {"kubernetes.io/hostname": self.name}});
        let added = self
            .api
            .post("/api/v1/nodes", &json!({"metadata": metadata}));
        if let Err(refusal) = added
            && refusal.status != Some(409)
        {
            return Err(refusal);
        }
        let room =
            json!({"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"});
        let status = json!({"status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "nodeInfo": {
                "machineID": self.name, "systemUUID": self.name, "bootID": now(), "kernelVersion": "test",
                "osImage": "test", "containerRuntimeVersion": "test://1", "kubeletVersion": "v1.20.2",
                "kubeProxyVersion": "v1.20.2", "operatingSystem": "linux", "architecture": "amd64",
            },
        }});
        self.api.patch(&self.status(), &status)?;
        self.say_ready()
    }

    fn status(&self) -> String {
        format!("/api/v1/nodes/{}/status", self.name)
    }

    fn say_ready(&self) -> Result<Value, Refusal> {
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is there",
            "lastHeartbeatTime": now(), "lastTransitionTime": now(),
        });
        let status = json!({"status": {"conditions": [ready]}});
        self.api.patch(&self.status(), &status)
    }

    /// Says that it is there, and looks at everything that is bound to it, since a watch does not tell what was deleted
    /// while there was none.
    fn beat(self: &Arc<Self>) {
        // Who does not answer is asked again.
        let _said = self.say_ready();
        let Ok(bound) = self.bound() else {
            return;
        };
        let mut uids = BTreeSet::new();
        for pod in items(&bound["items"]) {
            uids.insert(text(&pod["metadata"]["uid"]));
            self.see(pod);
        }
        let mut pods = self.pods.lock();
        for (uid, pod) in &*pods {
            if !uids.contains(uid) {
                pod.wish(|wish| wish.is_gone = true);
            }
        }
        pods.retain(|_, pod| !pod.is_done());
    }

    /// Hears of what is bound to it, for a second.
    fn watch(self: &Arc<Self>) {
        let name = &self.name;
        let path =
            format!("/api/v1/pods?watch=true&timeoutSeconds=1&fieldSelector=spec.nodeName={name}");
        for event in self.api.watch(&path).into_iter().flatten() {
            if event["type"] == "ADDED" || event["type"] == "MODIFIED" {
                self.see(&event["object"]);
            }
            if self.is_ended() {
                return;
            }
        }
    }

    fn see(self: &Arc<Self>, found: &Value) {
        let metadata = &found["metadata"];
        let uid = text(&metadata["uid"]);
        let mut pods = self.pods.lock();
        if self.is_ended() {
            return;
        }
        let begins_late = self.lost.lock().contains(&uid);
        let pod = pods
            .entry(uid)
            .or_insert_with(|| Pod::start(self.clone(), found.clone(), begins_late));
        if !metadata["deletionTimestamp"].is_null() {
            let grace = metadata["deletionGracePeriodSeconds"].as_u64();
            let grace = Duration::from_secs(grace.unwrap_or_default());
            pod.wish(|wish| wish.grace = Some(grace));
        }
    }
}
