//! What agents and tests reach, do and use up where they are held: every way out that is known is tried from within.

mod behind_names;
mod further;
mod groups;
mod hidden;
mod laid;
mod levels;
mod named;
mod network;
mod of_git;
mod processes;
mod refused;
mod secrets;
mod setup;
mod ways;

use crate::scene::{Scene, write};
use crate::skipping::lacks_what_a_machine_may_have;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Returns whether a level works on this machine.
pub(crate) fn has(level: &str) -> bool {
    let scene = Scene::new(&[], "");
    let output = scene
        .tm(&["doctor", "--json"])
        .env("TM_SANDBOX_LEVEL", level)
        .output()
        .expect("tm");
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let findings = found.as_array().expect("findings").clone();
    let works = findings
        .iter()
        .any(|finding| finding["what"] == "sandbox" && finding["weight"] == "good");
    if !works {
        lacks_what_a_machine_may_have(&format!("sandbox at the level {level}: {findings:?}"));
    }
    works
}

/// Everything outside that a program within may be after.
struct Outside {
    scene: Scene,
    tcp: TcpListener,
    udp: UdpSocket,
    _named: UnixListener,
    _abstract: UnixListener,
    _editor: UnixListener,
    _service: UnixListener,
    _datagrams: UnixDatagram,
    /// Where the service's socket is.
    place: TempDir,
    terminal: Terminal,
    shared_memory: SharedMemory,
}

/// A terminal of somebody else's.
struct Terminal {
    holder: Option<Child>,
    name: String,
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
impl Terminal {
    fn new() -> Self {
        let holder = Command::new("script")
            .args(["-qefc", "tty; exec sleep 1000", "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        // Where there is no such program, there is none.
        let mut holder = holder.ok();
        let said = holder.as_mut().and_then(|holder| holder.stdout.take());
        let mut name = String::new();
        if let Some(said) = said {
            BufReader::new(said).read_line(&mut name).expect("a name");
        }
        let name = name.trim().to_owned();
        Self { holder, name }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(holder) = &mut self.holder {
            let _gone = holder.kill().and_then(|()| holder.wait());
        }
    }
}

/// A piece of memory that any program of this user finds by its number.
struct SharedMemory(String);

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
impl SharedMemory {
    fn new() -> Self {
        let said = Command::new("ipcmk").args(["--shmem", "64"]).output();
        // Where there is no such program, there is none.
        let said = said.map_or_else(|_| Vec::new(), |said| said.stdout);
        let said = String::from_utf8_lossy(&said);
        Self(
            said.rsplit(' ')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned(),
        )
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
impl Drop for SharedMemory {
    fn drop(&mut self) {
        let _not_there = Command::new("ipcrm").args(["--shmem-id", &self.0]).output();
    }
}

/// The file with what must not be read, and what may not be changed.
const SECRET: &str = "the secret of the user";

impl Outside {
    fn new(settings: &str, tests: &str) -> Self {
        let scene = Scene::new(&[("1", "Look around", &[])], "");
        let root = scene.root();
        write(&scene.path("home/.bashrc"), "# of the user\n");
        write(&scene.path("home/.ssh/id"), SECRET);
        write(&scene.path("caches/cargo/fetched"), "");
        write(&root.join(".taskmaster/tm.yaml"), settings);
        write(&root.join(".gitignore"), ".env\n");
        write(&root.join("run-tests.sh"), tests);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "settings"]);
        scene.git(&["branch", "of-others"]);
        write(&root.join(".env"), SECRET);
        write(
            &root.join(".git/modules/lib/HEAD"),
            "ref: refs/heads/main\n",
        );
        write(&root.join(".git/modules/lib/config"), SECRET);
        let other = scene.path("other").display().to_string();
        scene.git(&["worktree", "add", "--quiet", "--detach", &other]);
        let name = scene.path("");
        let address =
            SocketAddr::from_abstract_name(name.as_os_str().as_encoded_bytes()).expect("a name");
        let editor = UnixListener::bind(scene.path("home/editor.sock")).expect("a socket");
        // Where nobody hides anything, if these tests may write there.
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        let place = place.or_else(|_| tempfile::tempdir_in(scene.path("home")));
        let place = place.expect("a folder");
        let service = UnixListener::bind(place.path().join("service")).expect("a socket");
        Self {
            _editor: editor,
            _service: service,
            _datagrams: UnixDatagram::bind(place.path().join("datagrams")).expect("a socket"),
            place,
            terminal: Terminal::new(),
            tcp: port_of_a_service(),
            udp: UdpSocket::bind("127.0.0.1:0").expect("a port"),
            _named: UnixListener::bind(scene.path("home/agent.sock")).expect("a socket"),
            _abstract: UnixListener::bind_addr(&address).expect("a socket"),
            shared_memory: SharedMemory::new(),
            scene,
        }
    }

    /// The lines by which the probe within learns what is outside, and the one that starts it.
    fn probe(&self) -> String {
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("bound").port();
        let this = std::env::current_exe().expect("this program");
        format!(
            "export WAYS_SCENE='{}' WAYS_TCP={} WAYS_UDP={} WAYS_PID={} WAYS_SHARED_MEMORY={} WAYS_IPC='{}' \
             WAYS_EDITOR='{}' WAYS_SERVICE='{}' WAYS_TERMINAL='{}'\n\
             '{}' sandbox::ways::within --exact --ignored --nocapture --test-threads=1",
            self.scene.path("").display(),
            port(self.tcp.local_addr()),
            port(self.udp.local_addr()),
            std::process::id(),
            self.shared_memory.0,
            std::fs::read_link("/proc/self/ns/ipc")
                .unwrap_or_default()
                .display(),
            self.scene.path("home/editor.sock").display(),
            self.place.path().join("service").display(),
            self.terminal.name,
            this.display(),
        )
    }

    /// Runs the backlog to its end at a level, with a layer over a folder of caches, as somebody does at a terminal.
    fn runs_at(&self, level: &str) {
        let mut run = self.scene.run_command(&["--retries", "0"]);
        run.env("TM_SANDBOX_LEVEL", level)
            .env("CARGO_HOME", self.scene.path("caches/cargo"));
        let output = self.at_a_terminal(&run).output().expect("tm");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words}");
    }

    /// The call of tm as somebody makes it at a terminal, with a secret open that nobody was meant to inherit, and a
    /// variable that names where an editor listens.
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    fn at_a_terminal(&self, tm: &Command) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-c", AT_A_TERMINAL])
            .arg(self.scene.path("home/.ssh/id"))
            .arg(tm.get_program())
            .args(tm.get_args())
            .current_dir(self.scene.root())
            .env_clear();
        for (name, value) in tm.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.env("EDITOR_SOCKET", self.scene.path("home/editor.sock"));
        command
    }
}

/// What it prints still goes where it would.
const AT_A_TERMINAL: &str = "\
exec 9< \"$0\" 7>&1 8>&2
command -v script > /dev/null || exec \"$@\"
export SHELL=/bin/bash
exec script -qefc \"$(printf '%q ' \"$@\") < /dev/null >&7 2>&8\" /dev/null < /dev/null > /dev/null
";

/// A port as services have them: those that the system gives out may be of the program's own servers.
fn port_of_a_service() -> TcpListener {
    let mut ports = 20_000..30_000;
    let free = ports.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    free.expect("a port")
}

/// What is written into the settings: nobody within may see the checkout, and the probe is the program of these tests.
fn settings(more: &str) -> String {
    let this = std::env::current_exe().expect("this program");
    let folder = this.parent().map(Path::display).expect("a folder");
    format!(
        "sandbox:\n  read: ['{folder}']\n  memory: 512MiB\n  processes: 400\n  file_size: 8MiB\n{more}"
    )
}

/// As [`settings`], with which the probe is not ended as a whole for what it starts: where nothing parts its processes from
/// others, a job is that has more than it may have, and none of them is refused.
fn settings_at(level: &str, more: &str) -> String {
    let most = if level == "landlock" { 4000 } else { 400 };
    settings(more).replace("processes: 400", &format!("processes: {most}"))
}
