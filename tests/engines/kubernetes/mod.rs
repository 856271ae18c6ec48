//! A Kubernetes of the test's own: the real control plane on the loopback address, and nodes that are threads of the test.

mod api;
mod container;
mod control_plane;
mod environment;
mod harness;
mod kubelet;
mod logs;
mod nights;
mod pod;
mod report;
mod runs;
mod settings;

use std::process::{Command, Stdio};

/// A call of a program that is killed when the thread that starts it ends, even if nobody has the time to do so.
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn program(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", name]);
    command.stdin(Stdio::null());
    command
}

/// Seconds are all that Kubernetes keeps.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
