//! The ways out, each as a call that succeeds where it leads out.

use super::SECRET;
use super::further::FURTHER;
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What is known of outside.
pub(super) struct Known {
    scene: PathBuf,
    tcp: u16,
    udp: u16,
    pub(super) pid: i32,
    /// The number of a piece of memory that others share, where there is any.
    pub(super) shared_memory: String,
    /// A socket of a service, where no rule speaks of.
    pub(super) service: PathBuf,
    /// A terminal that somebody else has.
    pub(super) terminal: PathBuf,
}

impl Known {
    fn read() -> Self {
        let value = |name: &str| std::env::var(name).unwrap_or_default();
        Self {
            scene: value("WAYS_SCENE").into(),
            tcp: value("WAYS_TCP").parse().unwrap_or_default(),
            udp: value("WAYS_UDP").parse().unwrap_or_default(),
            pid: value("WAYS_PID").parse().unwrap_or(1),
            shared_memory: value("WAYS_SHARED_MEMORY"),
            service: value("WAYS_SERVICE").into(),
            terminal: value("WAYS_TERMINAL").into(),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.scene.join(name)
    }
}

pub(super) type Way = (&'static str, fn(&Known) -> io::Result<()>);

/// All of them; those that only use something up are bounded, which counts as refused.
const WAYS: [Way; 47] = [
    ("write into the home folder", |k| {
        append(&k.path("home/.bashrc"))
    }),
    ("a new file in the home folder", |k| {
        create(&k.path("home/.profile"))
    }),
    ("read a key in the home folder", |k| {
        secret(&k.path("home/.ssh/id"))
    }),
    ("list the home folder", |k| listed(&k.path("home"))),
    ("write into the checkout", |k| {
        append(&k.path("checkout/run-tests.sh"))
    }),
    ("a new file in the checkout", |k| {
        create(&k.path("checkout/new"))
    }),
    ("read what the checkout has and git has not", |k| {
        secret(&k.path("checkout/.env"))
    }),
    ("write the backlog", |k| {
        append(&k.path("checkout/.taskmaster/tasks/tasks.json"))
    }),
    ("write into another worktree", |k| {
        create(&k.path("other/new"))
    }),
    ("change git's settings", |k| {
        append(&k.path("checkout/.git/config"))
    }),
    ("change them through git", |k| {
        let checkout = k.path("checkout").display().to_string();
        run("git", &["-C", &checkout, "config", "core.pager", "evil"])
    }),
    ("a hook", |k| {
        create(&k.path("checkout/.git/hooks/pre-commit"))
    }),
    ("move the branch of somebody else", |k| {
        append(&k.path("checkout/.git/refs/heads/of-others"))
    }),
    ("push to it", |k| {
        let checkout = k.path("checkout").display().to_string();
        run(
            "git",
            &["push", "--force", &checkout, "HEAD:refs/heads/of-others"],
        )
    }),
    ("packed references", |k| {
        create(&k.path("checkout/.git/packed-refs"))
    }),
    ("objects of the repository", |k| {
        create(&k.path("checkout/.git/objects/new"))
    }),
    ("HEAD of the checkout", |k| {
        append(&k.path("checkout/.git/HEAD"))
    }),
    ("read the journal of the run", |k| {
        read_some(&journal(&k.path("tm"))?)
    }),
    ("a new file where tm keeps its own", |k| {
        create(&k.path("tm/new"))
    }),
    ("write who the agent is", |_| {
        append(&of_attempt("agent.json")?)
    }),
    ("write its own prompt", |_| {
        append(&of_attempt("prompt.md")?)
    }),
    ("write its own log", |_| append(&of_attempt("stdout.log")?)),
    ("environment of another process", |k| {
        read_some(&PathBuf::from(format!("/proc/{}/environ", k.pid)))
    }),
    ("memory of another process", |k| {
        File::open(format!("/proc/{}/mem", k.pid)).map(drop)
    }),
    ("root of another process", |k| {
        secret(&PathBuf::from(format!(
            "/proc/{}/root{}",
            k.pid,
            k.path("home/.ssh/id").display()
        )))
    }),
    ("signal another process", |k| {
        let pid = Pid::from_raw(k.pid).ok_or(io::ErrorKind::NotFound)?;
        is_other(k).and_then(|()| Ok(test_kill_process(pid)?))
    }),
    ("through a link", |k| through_link(k)),
    ("through a hard link", |k| {
        let link = PathBuf::from("a-hard-link");
        fs::hard_link(k.path("home/.bashrc"), &link)?;
        let written = append(&link);
        fs::remove_file(&link)?;
        written
    }),
    ("through /proc/self/root", |k| {
        secret(&PathBuf::from(format!(
            "/proc/self/root{}",
            k.path("home/.ssh/id").display()
        )))
    }),
    ("mount", |_| run("mount", &["-t", "tmpfs", "none", "/mnt"])),
    ("a user namespace", |_| run("unshare", &["--user", "true"])),
    ("a mount namespace", |_| {
        run("unshare", &["--mount", "true"])
    }),
    ("change root", |_| run("chroot", &["/", "true"])),
    ("a device", |_| run("mknod", &["a-device", "b", "8", "0"])),
    ("a disk", |_| first_disk().and_then(|disk| read_some(&disk))),
    ("settings of the kernel", |_| {
        append(Path::new("/proc/sys/kernel/core_pattern"))
    }),
    ("files of the system", |_| {
        create(Path::new("/usr/local/bin/tm-test"))
    }),
    ("settings of the system", |_| {
        create(Path::new("/etc/cron.d/tm-test"))
    }),
    ("capabilities", |_| capable()),
    ("new rights by a program", |_| may_gain()),
    ("a socket of an ssh agent", |k| {
        UnixStream::connect(k.path("home/agent.sock")).map(drop)
    }),
    ("an abstract socket, as of X11 and D-Bus", |_| {
        abstract_socket()
    }),
    ("the socket of docker", |_| {
        UnixStream::connect("/var/run/docker.sock").map(drop)
    }),
    ("a service on the loopback address", |k| {
        connect(&format!("127.0.0.1:{}", k.tcp))
    }),
    ("the metadata address", |_| connect("169.254.169.254:80")),
    ("a datagram, as names are asked for", |k| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(("127.0.0.1", k.udp))?;
        socket.send(b"out")?;
        // Where nobody is there, the first one comes back.
        socket.send(b"out").map(drop)
    }),
    ("fill the disk with a file", |_| fill()),
];

/// How many are tried.
pub(super) const COUNT: usize = WAYS.len() + FURTHER.len() + 2;

/// Says of each way whether it led out. Runs within, started by an agent or by tests.
#[test]
#[ignore = "is started by the tests of the sandbox, within one"]
fn within() {
    let known = Known::read();
    let tried = WAYS
        .iter()
        .chain(&FURTHER)
        .map(|(name, way)| (*name, way(&known)));
    let used_up = [
        ("processes", processes as fn() -> io::Result<()>),
        ("memory", memory),
    ];
    let used_up = used_up.into_iter().map(|(name, way)| (name, way()));
    println!("\n1..{COUNT}");
    for (number, (name, out)) in tried.chain(used_up).enumerate() {
        let (number, is_open) = (number + 1, if out.is_ok() { "not ok" } else { "ok" });
        let why = out.map_or_else(|error| error.to_string(), |()| "OUT".to_owned());
        println!("{is_open} {number} - {name}\n# {why}");
    }
}

pub(super) fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(b"out\n")
}

fn create(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(b"out\n")
}

fn read_some(path: &Path) -> io::Result<()> {
    File::open(path)?.read(&mut [0; 16]).map(drop)
}

pub(super) fn secret(path: &Path) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    if text == SECRET {
        Ok(())
    } else {
        Err(io::Error::other("something else"))
    }
}

/// A folder that looks empty says nothing.
fn listed(path: &Path) -> io::Result<()> {
    let entries = fs::read_dir(path)?.count();
    if entries > 0 {
        Ok(())
    } else {
        Err(io::Error::other("it looks empty"))
    }
}

/// The journal of the run that is under way.
fn journal(tm: &Path) -> io::Result<PathBuf> {
    let runs = glob::glob(&format!("{}/projects/*/runs/*/journal.jsonl", tm.display()));
    let found = runs.map_err(io::Error::other)?.flatten().next();
    found.ok_or(io::ErrorKind::NotFound.into())
}

fn of_attempt(name: &str) -> io::Result<PathBuf> {
    let prompt = std::env::var_os("TM_PROMPT_FILE").ok_or(io::ErrorKind::NotFound)?;
    Ok(Path::new(&prompt).with_file_name(name))
}

/// A number of outside may be that of a process within.
fn is_other(known: &Known) -> io::Result<()> {
    let name = fs::read_to_string(format!("/proc/{}/cmdline", known.pid))?;
    if name.contains("tm_tests") && known.pid != i32::try_from(std::process::id()).unwrap_or(0) {
        Ok(())
    } else {
        Err(io::Error::other("another one has its number"))
    }
}

fn through_link(known: &Known) -> io::Result<()> {
    let link = PathBuf::from("a-link");
    std::os::unix::fs::symlink(known.path("home"), &link)?;
    let written = append(&link.join(".bashrc"));
    fs::remove_file(link)?;
    written
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
pub(super) fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(
        words.lines().last().unwrap_or("failed").to_owned(),
    ))
}

fn first_disk() -> io::Result<PathBuf> {
    let mut names = fs::read_dir("/sys/block")?.flatten();
    let name = names.next().ok_or(io::ErrorKind::NotFound)?.file_name();
    Ok(Path::new("/dev").join(name))
}

fn status(field: &str) -> io::Result<String> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    Ok(line.unwrap_or_default().trim().to_owned())
}

fn capable() -> io::Result<()> {
    let found = [status("CapEff:")?, status("CapPrm:")?, status("CapAmb:")?];
    if found
        .iter()
        .all(|set| set.trim_start_matches('0').is_empty())
    {
        Err(io::Error::other("it has none"))
    } else {
        Ok(())
    }
}

fn may_gain() -> io::Result<()> {
    if status("NoNewPrivs:")? == "1" {
        Err(io::Error::other("no_new_privs"))
    } else {
        Ok(())
    }
}

fn abstract_socket() -> io::Result<()> {
    let name = std::env::var("WAYS_SCENE").unwrap_or_default();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    UnixStream::connect_addr(&address).map(drop)
}

fn connect(address: &str) -> io::Result<()> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    TcpStream::connect_timeout(&address, Duration::from_secs(2)).map(drop)
}

fn fill() -> io::Result<()> {
    let written = run("sh", &["-c", "head -c 16777216 /dev/zero > a-large-file"]);
    fs::remove_file("a-large-file")?;
    written
}

/// How many processes there can be at the same time.
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn processes() -> io::Result<()> {
    let mut started = Vec::new();
    let ended = (0..1_000).find_map(|_| match Command::new("sleep").arg("60").spawn() {
        Ok(child) => {
            started.push(child);
            None
        }
        Err(error) => Some(error),
    });
    for child in &mut started {
        let _gone = child.kill();
        let _gone = child.wait();
    }
    ended.map_or(Ok(()), Err)
}

/// Whether more memory than is allowed can be written to.
fn memory() -> io::Result<()> {
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(1 << 30).map_err(io::Error::other)
}
