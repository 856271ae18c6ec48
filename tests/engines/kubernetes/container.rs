//! A container: a process of this machine that is the first one in a space of processes of its own, so that all that it
//! started ends with it. Has the machine's files, and knows nothing of the API.

use super::program;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// What is to be run.
pub(super) struct Order {
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) folder: Option<PathBuf>,
    pub(super) user: Option<u64>,
    pub(super) group: Option<u64>,
    /// Groups besides.
    pub(super) groups: Vec<u64>,
    /// What it prints goes there.
    pub(super) log: PathBuf,
    /// A folder of the node, and the one of the machine in whose place a container finds it.
    pub(super) own: (PathBuf, PathBuf),
}

/// One that was started; it ends when this is dropped.
pub(super) struct Container {
    child: Child,
}

/// Puts the node's folder in its place, goes to the container's, and becomes the user's program.
const BEGIN: &str = "mount --bind \"$1\" \"$2\" && cd \"$3\" && shift 3 && exec setpriv \"$@\"";

impl Container {
    pub(super) fn start(order: &Order) -> std::io::Result<Self> {
        let log = File::options().create(true).append(true).open(&order.log)?;
        let mut command = program("unshare");
        command
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", BEGIN, "sh"])
            .args([&order.own.0, &order.own.1])
            .arg(order.folder.as_deref().unwrap_or(Path::new("/")))
            .args(["--pdeathsig", "KILL"])
            .args(identity(order))
            .arg("--")
            .args(&order.words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(order.environment.iter().cloned())
            .stdout(log.try_clone()?)
            .stderr(log)
            .stdin(Stdio::null());
        Ok(Self {
            child: command.spawn()?,
        })
    }

    /// The exit code, if it has ended.
    pub(super) fn try_end(&mut self) -> Option<i32> {
        let status = self.child.try_wait().expect("a child")?;
        let of_signal = status.signal().map(|signal| 128 + signal);
        Some(status.code().or(of_signal).expect("one of both"))
    }

    /// Asks its first process to end.
    pub(super) fn terminate(&mut self) {
        if let Some(first) = self.first() {
            // One that is gone by now has ended.
            let _asked = kill_process(first, Signal::TERM);
        }
    }

    /// Kills all of it. What waits for the first process goes after the others have, and so tells when they have.
    pub(super) fn kill(&mut self) {
        let is_killed = self.first().map(|first| kill_process(first, Signal::KILL));
        if !matches!(is_killed, Some(Ok(()))) {
            let _killed = self.child.kill();
        }
    }

    /// The process that is the first one in there.
    fn first(&self) -> Option<Pid> {
        let number = self.child.id();
        let children = format!("/proc/{number}/task/{number}/children");
        let children = std::fs::read_to_string(children).ok()?;
        Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        self.kill();
        let _reaped = self.child.wait();
    }
}

fn identity(order: &Order) -> Vec<String> {
    let groups: Vec<String> = order.groups.iter().map(u64::to_string).collect();
    let mut words = vec![if groups.is_empty() {
        "--clear-groups".to_owned()
    } else {
        format!("--groups={}", groups.join(","))
    }];
    words.push(format!("--regid={}", order.group.unwrap_or(0)));
    words.push(format!("--reuid={}", order.user.unwrap_or(0)));
    words
}
