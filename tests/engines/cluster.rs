//! A Slurm of the test's own, on the loopback address: its controller, three nodes, and what they trust each other by.

use super::scenes::OfTest;
use crate::scene::{Scene, write};
use crate::skipping::lacks;
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a cluster consists of.
const PROGRAMS: [&str; 6] = [
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "squeue",
    "scancel",
];
pub(super) const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// So long a cluster may take to begin or to notice something.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// A cluster; all of it ends when this is dropped.
pub(super) struct Cluster {
    folder: PathBuf,
    controller: Option<Child>,
    nodes: Vec<Option<Child>>,
    munge: Child,
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

fn end(child: &mut Child) {
    // One that is gone by now has ended.
    let _ended = child.kill();
    let _reaped = child.wait();
}

/// Ports of the loopback address that nobody has at the moment.
fn ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners =
        std::array::from_fn::<_, COUNT, _>(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("a port").port())
}

impl Cluster {
    /// Starts one in a scene's folder; `None`, which is said, where this machine can't.
    pub(super) fn start(scene: &Scene) -> Option<Self> {
        let is_there = |program: &str| which::which(program).is_ok();
        if !rustix::process::geteuid().is_root() || !PROGRAMS.into_iter().all(is_there) {
            lacks("Slurm, or no root to start one");
            return None;
        }
        let folder = scene.path("slurm");
        for name in ["state", "spool", "munge", "of-node"] {
            std::fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        // Where tm has its temporary files, nodes have others.
        std::fs::create_dir_all(folder.join("of-host")).expect("a folder");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.join("munge"), mode).expect("permissions");
        std::fs::set_permissions(
            scene.path(""),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .expect("permissions");
        let munge = trust(&folder);
        write(&folder.join("slurm.conf"), &configuration(&folder));
        write(&folder.join("cgroup.conf"), &plugin());
        let mut cluster = Self {
            folder,
            controller: None,
            nodes: NODES.map(|_| None).into(),
            munge,
        };
        cluster.start_controller();
        for number in 0..NODES.len() {
            cluster.start_node(number);
        }
        cluster.until(&["-h", "-o", "%t %D"], "sinfo", |said| {
            said.trim() == "idle 3"
        });
        Some(cluster)
    }

    pub(super) fn start_controller(&mut self) {
        let mut command = self.call("slurmctld");
        command
            .arg("-D")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.controller = Some(command.spawn().expect("slurmctld"));
    }

    pub(super) fn end_controller(&mut self) {
        end(self.controller.as_mut().expect("it runs"));
    }

    fn start_node(&mut self, number: usize) {
        let name = NODES[number];
        let (own, of_host) = (self.folder.join("of-node"), self.folder.join("of-host"));
        let script = "mount --bind \"$1\" \"$2\" && exec slurmd -D -N \"$3\"";
        let mut command = self.call("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]);
        command.args([&own, &of_host]).arg(name);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.nodes[number] = Some(command.spawn().expect("slurmd"));
    }

    /// Ends what starts jobs on a node, as a crash does; those that it has started go on.
    pub(super) fn kill_node(&mut self, name: &str) {
        let number = NODES.iter().position(|node| *node == name);
        end(self.nodes[number.expect("a node")]
            .as_mut()
            .expect("it runs"));
    }

    /// Stops what starts jobs on a node, for a while; nobody hears of it.
    pub(super) fn pause_node(&self, name: &str) {
        self.signal_node(name, Signal::STOP);
    }

    /// Ends what `pause_node` began.
    pub(super) fn continue_node(&self, name: &str) {
        self.signal_node(name, Signal::CONT);
    }

    fn signal_node(&self, name: &str, signal: Signal) {
        let number = NODES.iter().position(|node| *node == name);
        let node = self.nodes[number.expect("a node")].as_ref();
        let pid = Pid::from_child(node.expect("it runs"));
        kill_process(pid, signal).expect("it hears");
    }

    /// A call of a program of Slurm's, or of tm.
    pub(super) fn with(&self, mut command: Command) -> Command {
        command
            .env("SLURM_CONF", self.folder.join("slurm.conf"))
            .env("TMPDIR", self.folder.join("of-host"));
        command
    }

    pub(super) fn call(&self, program: &str) -> Command {
        let mut command = command(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    pub(super) fn ask(&self, program: &str, arguments: &[&str]) -> Output {
        self.call(program)
            .args(arguments)
            .output()
            .expect("an answer")
    }

    /// Asks again and again until the answer is the wanted one, which is returned.
    pub(super) fn until(
        &self,
        arguments: &[&str],
        program: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> String {
        let begins = Instant::now();
        loop {
            let said = self.ask(program, arguments);
            let text = String::from_utf8_lossy(&said.stdout).into_owned();
            if is_wanted(&text) {
                return text;
            }
            let complaint = String::from_utf8_lossy(&said.stderr);
            assert!(
                begins.elapsed() < PATIENCE,
                "{program} {arguments:?}: {text}{complaint}"
            );
        }
    }
}

impl OfTest for Cluster {
    fn assert_empty(&self) {
        self.until(&["-h", "-o", "%i %T %k"], "squeue", str::is_empty);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let nodes = self.nodes.iter_mut().flatten();
        for child in nodes.chain(&mut self.controller) {
            end(child);
        }
        end(&mut self.munge);
    }
}

/// Starts what the parts of a cluster trust each other by.
fn trust(folder: &Path) -> Child {
    let munge = folder.join("munge");
    let key: String = std::iter::repeat_with(|| fastrand::char('a'..='z'))
        .take(1024)
        .collect();
    write(&munge.join("key"), &key);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o400);
    std::fs::set_permissions(munge.join("key"), mode).expect("permissions");
    let mut munged = command("munged");
    munged.args(["--force", "--foreground"]);
    for (option, name) in [
        ("--key-file", "munge/key"),
        ("--socket", "munge.socket"),
        ("--pid-file", "munge/pid"),
        ("--log-file", "munge/log"),
        ("--seed-file", "munge/seed"),
    ] {
        munged.arg(format!("{option}={}", folder.join(name).display()));
    }
    munged.stdout(Stdio::null()).stderr(Stdio::null());
    munged.spawn().expect("munged")
}

fn configuration(folder: &Path) -> String {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let host = host.split('.').next().expect("a name");
    let [controller, first, second, third] = ports();
    let folder = folder.display();
    let at = |name: &str, port: u16| {
        format!(
            "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=2000\n"
        )
    };
    let ports = [first, second, third];
    let nodes: Vec<String> = NODES
        .iter()
        .zip(ports)
        .map(|(name, port)| at(name, port))
        .collect();
    let nodes = nodes.concat();
    format!(
        "ClusterName=tests\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmctldPort={controller}\n\
         SlurmUser=root\n\
         SlurmdUser=root\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={folder}/munge.socket\n\
         StateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/spool/%n\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd-%n.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\n\
         SlurmdLogFile={folder}/slurmd-%n.log\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         SlurmdParameters=config_overrides\n\
         SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000,bf_interval=1\n\
         CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n\
         ReturnToService=2\n\
         SlurmdTimeout=5\n\
         MessageTimeout=5\n\
         KillWait=3\n\
         JobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\n\
         {nodes}\
         PartitionName=main Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP\n"
    )
}

/// Later ones would look for cgroups that a test does not have.
fn plugin() -> String {
    let version = command("slurmctld").arg("-V").output().expect("a version");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let is_early = version
        .split_whitespace()
        .any(|word| word.starts_with("22."));
    if is_early {
        String::new()
    } else {
        "CgroupPlugin=disabled\n".to_owned()
    }
}
