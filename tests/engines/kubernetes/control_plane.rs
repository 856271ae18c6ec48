//! Starts and ends the control plane and nodes under it, and asks it things until the answer is the wanted one.

use super::api::Api;
use super::kubelet::Kubelet;
use super::pod::Loss;
use super::program;
use crate::scene::{Scene, write};
use crate::skipping::lacks;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Where `.ci/run` puts what is needed.
const TOOLS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/target/tools/kubernetes-1.20.2"
);
const PROGRAMS: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];
/// So long it may take to begin or to notice something.
const PATIENCE: Duration = Duration::from_mins(1);
/// So often it is asked.
const AGAIN: Duration = Duration::from_millis(20);
/// Whoever says the first may do everything, whoever says the second nothing.
const TOKENS: &str = "everything,admin,1,\"system:masters\"\nnothing,stranger,2,\n";

/// A program that ends when this is dropped.
struct Running(Child);

impl Running {
    fn start(mut command: Command, log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log);
        let log = log.expect("a log");
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        Self(command.spawn().expect("a program"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that is gone by now has ended.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// A Kubernetes; all of it ends when this is dropped.
pub(super) struct ControlPlane {
    // Dropped in this order.
    nodes: BTreeMap<String, Kubelet>,
    controllers: Option<Running>,
    scheduler: Option<Running>,
    server: Option<Running>,
    _store: Running,
    folder: PathBuf,
    ports: [u16; 3],
    api: Api,
}

impl ControlPlane {
    /// Starts one without nodes in a scene's folder; `None`, which is said, where this machine can't.
    pub(super) fn start(scene: &Scene) -> Option<Self> {
        let is_there = |program: &str| Path::new(TOOLS).join(program).is_file();
        if !rustix::process::geteuid().is_root() || !PROGRAMS.into_iter().all(is_there) {
            lacks("Kubernetes, or no root to start nodes");
            return None;
        }
        let folder = scene.path("kubernetes");
        for name in ["logs", "of-host"] {
            std::fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(scene.path(""), mode).expect("permissions");
        write(&folder.join("tokens"), TOKENS);
        let ports = ports();
        let store = start_store(&folder, ports);
        let server = Some(start_server(&folder, ports));
        let authority = folder.join("certificates/apiserver.crt");
        let authority = until("a certificate", || {
            std::fs::read(&authority)
                .ok()
                .filter(|text| text.ends_with(b"END CERTIFICATE-----\n"))
        });
        for (name, token) in [("admin", "everything"), ("stranger", "nothing")] {
            let config = kubeconfig(ports[0], &authority, name, token);
            write(&folder.join(format!("{name}.kubeconfig")), &config);
        }
        let mut plane = Self {
            nodes: BTreeMap::new(),
            controllers: None,
            scheduler: None,
            server,
            _store: store,
            api: Api::of(&folder.join("admin.kubeconfig")),
            folder,
            ports,
        };
        plane.until_ready();
        plane.controllers = Some(plane.start_controllers());
        plane.scheduler = Some(plane.start_scheduler());
        plane.until(
            "/api/v1/namespaces/default/serviceaccounts/default",
            |found| found["secrets"].is_array(),
        );
        Some(plane)
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    /// How the one who may do everything reaches it.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// How one reaches it who may do nothing.
    pub(super) fn kubeconfig_of_stranger(&self) -> PathBuf {
        self.folder.join("stranger.kubeconfig")
    }

    /// A call, on this machine, of what has to find a cluster.
    pub(super) fn with(&self, mut command: Command) -> Command {
        command
            .env("KUBECONFIG", self.kubeconfig())
            .env("TMPDIR", self.folder.join("of-host"));
        command
    }

    /// Stops the server; nobody is answered until `start_api`.
    ///
    /// The controllers stop with it, as they do with the machine of both: those that go on take the time without a
    /// server for a silence of nodes, and give up the pods of a node whose word comes a moment after the server.
    pub(super) fn stop_api(&mut self) {
        self.controllers = None;
        self.server = None;
    }

    /// Starts it again, with all that it knew.
    pub(super) fn start_api(&mut self) {
        self.server = Some(start_server(&self.folder, self.ports));
        self.until_ready();
        self.controllers = Some(self.start_controllers());
    }

    /// Starts a node, or the machine of one that was killed; its containers find a folder of the node where this
    /// machine's programs have their temporary files.
    pub(super) fn add_node(&mut self, name: &str) {
        let own = [format!("of-{name}"), "of-host".to_owned()].map(|name| self.folder.join(name));
        let [own, host] = own;
        let folder = self.folder.join("nodes").join(name);
        let certificates = self.folder.join("certificates");
        let kubelet = Kubelet::start(name, &self.api, folder, (own, host), &certificates);
        self.nodes.insert(name.to_owned(), kubelet);
        self.until(&format!("/api/v1/nodes/{name}"), |node| {
            let taints = node["spec"]["taints"].as_array();
            taints.is_none_or(|taints| taints.iter().all(|taint| taint["effect"] != "NoSchedule"))
        });
    }

    /// Cuts a node off: nobody hears of it, nor it of anybody, and what it has started goes on.
    pub(super) fn take_node(&self, name: &str) {
        self.nodes[name].cut(true);
    }

    /// Ends what `take_node` began.
    pub(super) fn return_node(&self, name: &str) {
        self.nodes[name].cut(false);
    }

    /// Stops a node's machine with all that runs on it; `add_node` starts it again.
    pub(super) fn kill_node(&mut self, name: &str) {
        drop(self.nodes.remove(name).expect("a node"));
    }

    /// The node takes a pod's container away.
    pub(super) fn lose(&self, pod: &Value, loss: Loss) {
        let uid = pod["metadata"]["uid"].as_str().expect("a pod");
        let mut nodes = self.nodes.values();
        assert!(nodes.any(|node| node.lose(uid, loss)), "{pod}");
    }

    /// Makes a claim that is bound to a folder of this machine, which all nodes share.
    pub(super) fn add_claim(&self, name: &str, folder: &Path) {
        let spec = json!({
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": name,
            "resources": {"requests": {"storage": "1Gi"}},
        });
        let volume = json!({"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": folder},
        }});
        let claim = json!({"metadata": {"name": name}, "spec": spec});
        let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
        for (path, object) in [("/api/v1/persistentvolumes", volume), (claims, claim)] {
            self.api.post(path, &object).expect("it is made");
        }
        self.until(&format!("{claims}/{name}"), |claim| {
            claim["status"]["phase"] == "Bound"
        });
    }

    /// Asks again and again until the answer is the wanted one, which is returned.
    pub(super) fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let begins = Instant::now();
        loop {
            let last = match self.api.get(path) {
                Ok(found) if is_wanted(&found) => return found,
                Ok(found) => found.to_string(),
                Err(refusal) => format!("{refusal:?}"),
            };
            assert!(begins.elapsed() < PATIENCE, "{path}: {last}");
            std::thread::sleep(AGAIN);
        }
    }

    fn until_ready(&self) {
        until("an API server", || self.api.text("/readyz").ok());
    }

    /// A call of a helper of the server, of which there is one alone.
    fn helper(&self, name: &str) -> Command {
        let mut command = tool(name);
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(["--leader-elect=false", "--bind-address=127.0.0.1"])
            .args(["--port=0", "--secure-port=0"]);
        command
    }

    fn start_controllers(&self) -> Running {
        let certificates = self.folder.join("certificates");
        let mut command = self.helper("kube-controller-manager");
        command
            .arg("--service-account-private-key-file")
            .arg(certificates.join("apiserver.key"))
            .arg("--root-ca-file")
            .arg(certificates.join("apiserver.crt"))
            // A node is missed within seconds, and pods of it are given up at once.
            .args([
                "--node-monitor-period=500ms",
                "--node-monitor-grace-period=4s",
            ])
            // A volume that was not seen with its claim would be looked for after a quarter of a minute.
            .arg("--pvclaimbinder-sync-period=1s")
            .args([
                "--node-eviction-rate=10",
                "--feature-gates=TTLAfterFinished=true",
            ]);
        Running::start(command, &self.folder.join("logs/controllers"))
    }

    fn start_scheduler(&self) -> Running {
        let command = self.helper("kube-scheduler");
        Running::start(command, &self.folder.join("logs/scheduler"))
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubernetes");
        let name = std::thread::current().name().unwrap_or("test").to_owned();
        let kept = kept.join(name.replace("::", "."));
        std::fs::create_dir_all(&kept).expect("a folder");
        let logs = ["logs/*", "nodes/*/*.log"].map(|logs| self.folder.join(logs));
        let logs = logs
            .iter()
            .flat_map(|logs| glob::glob(&logs.to_string_lossy()));
        for log in logs.flatten().flatten() {
            std::fs::copy(&log, kept.join(log.file_name().expect("a name"))).expect("a copy");
        }
        writeln!(
            std::io::stderr(),
            "what Kubernetes said: {}",
            kept.display()
        )
        .expect("somebody listens");
    }
}

/// How a user reaches the server, as JSON, which is YAML as well.
fn kubeconfig(port: u16, authority: &[u8], name: &str, token: &str) -> String {
    let authority = STANDARD.encode(authority);
    let server = format!("https://127.0.0.1:{port}");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
    });
    config.to_string()
}

fn tool(name: &str) -> Command {
    program(&format!("{TOOLS}/{name}"))
}

/// Ports of the loopback address that nobody has at the moment.
fn ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners =
        std::array::from_fn::<_, COUNT, _>(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("a port").port())
}

/// Looks again and again until something is there.
pub(super) fn until<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let begins = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begins.elapsed() < PATIENCE, "there is no {what}");
        std::thread::sleep(AGAIN);
    }
}

fn start_store(folder: &Path, [_, clients, peers]: [u16; 3]) -> Running {
    let [clients, peers] = [clients, peers].map(|port| format!("http://127.0.0.1:{port}"));
    let mut command = tool("etcd");
    command.arg("--data-dir").arg(folder.join("etcd"));
    for (option, value) in [
        ("--listen-client-urls", &clients),
        ("--advertise-client-urls", &clients),
        ("--listen-peer-urls", &peers),
        ("--initial-advertise-peer-urls", &peers),
        ("--initial-cluster", &format!("default={peers}")),
    ] {
        command.args([option, value]);
    }
    Running::start(command, &folder.join("logs/etcd"))
}

/// Makes its own certificate when it has none yet, whose key signs the tokens of accounts, too.
fn start_server(folder: &Path, [port, store, _]: [u16; 3]) -> Running {
    let certificates = folder.join("certificates");
    let key = certificates.join("apiserver.key");
    let mut command = tool("kube-apiserver");
    command
        // A fifth of what its start costs is the collection of garbage.
        .env("GOGC", "400")
        .arg(format!("--etcd-servers=http://127.0.0.1:{store}"))
        .arg(format!("--secure-port={port}"))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .args([
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
        ])
        .args(["--authorization-mode=RBAC", "--service-account-issuer=test"])
        .args(["--default-not-ready-toleration-seconds=1"])
        .args(["--default-unreachable-toleration-seconds=1"])
        .args(["--kubelet-preferred-address-types=InternalIP"])
        .args(["--feature-gates=TTLAfterFinished=true"]);
    for (option, path) in [
        ("--cert-dir", &certificates),
        ("--token-auth-file", &folder.join("tokens")),
        ("--service-account-key-file", &key),
        ("--service-account-signing-key-file", &key),
    ] {
        command.arg(option).arg(path);
    }
    Running::start(command, &folder.join("logs/server"))
}
