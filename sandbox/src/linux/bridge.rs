//! The way from a network of the program's own to the proxy's socket: a process that listens there in the proxy's place.
//! It ends with the program, and has nothing of it.

use crate::{ENTRY, SOCKET};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// The word that stands for a program's entry where this is begun.
pub(super) const SERVE: &str = "--serve";

const READY: &[u8] = b"ready";
/// So many connections at once; the next one waits.
const CONNECTIONS: usize = 64;
/// A thread does nothing but to pass on a few KiB.
const STACK: usize = 128 << 10;
/// So long the answer to a request of ours may be.
const ANSWER: usize = 4096;

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Begins it, and returns when it listens. A shell leaves it behind, since this process becomes the program, which waits
/// for children of its own and for no others.
#[expect(
    clippy::disallowed_methods,
    reason = "a process that is this program's own and no program that anybody asked for"
)]
pub(super) fn start(entry: &OsStr) -> io::Result<()> {
    let said = Command::new("/bin/sh")
        .args(["-c", "\"$@\" &", "sh"])
        .arg(std::env::current_exe()?)
        .args([ENTRY, SERVE])
        .arg(entry)
        .arg(getpid().to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        // The end comes when both have given it up.
        .output()?;
    if said.stdout != READY {
        return Err(io::Error::other("nothing listens in the proxy's place"));
    }
    Ok(())
}

/// What it listens to, and for whom.
pub(super) struct Bridge {
    program: OwnedFd,
    listeners: Vec<(TcpListener, Option<u16>)>,
}

impl Bridge {
    /// Listens at the proxy's port, and in the place of servers of the machine.
    pub(super) fn listen(program: &OsStr, port: u16, servers: &[u16]) -> io::Result<Self> {
        let program = program.to_str().and_then(|number| number.parse().ok());
        let program = program
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let at = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        // One at a port that only the superuser may have is reached by the proxy alone.
        let in_place = |server: &u16| Some((at(*server).ok()?, Some(*server)));
        let mut listeners: Vec<_> = servers.iter().filter_map(in_place).collect();
        listeners.push((at(port)?, None));
        Ok(Self {
            program: pidfd_open(program, PidfdFlags::empty())?,
            listeners,
        })
    }

    /// Passes on whatever comes, until the program has ended.
    pub(super) fn serve(self, folder: &Path) -> io::Result<()> {
        // Where no signal for the program's group reaches it.
        rustix::process::setsid()?;
        // A path of a socket is short.
        std::env::set_current_dir(folder)?;
        let nowhere = File::options().write(true).open("/dev/null")?;
        dup2_stderr(&nowhere)?;
        for (listener, server) in self.listeners {
            small(move || accept(&listener, server))?;
        }
        io::stdout().write_all(READY)?;
        io::stdout().flush()?;
        dup2_stdout(&nowhere)?;
        let mut ended = [PollFd::new(&self.program, PollFlags::IN)];
        retry_on_intr(|| poll(&mut ended, None))?;
        Ok(())
    }
}

fn small(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = Builder::new().stack_size(STACK);
    thread.spawn(work).map(|_goes_on| ())
}

fn accept(listener: &TcpListener, server: Option<u16>) {
    loop {
        while UNDER_WAY.load(Ordering::Acquire) >= CONNECTIONS {
            sleep(Duration::from_millis(5));
        }
        let Ok((client, _)) = listener.accept() else {
            // No room for one more; there will be.
            sleep(Duration::from_millis(50));
            continue;
        };
        UNDER_WAY.fetch_add(1, Ordering::AcqRel);
        let passed = small(move || {
            let _closed = pass(&client, server);
            UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
        });
        if passed.is_err() {
            UNDER_WAY.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Passes one connection on; where the proxy is gone, it is closed.
fn pass(client: &TcpStream, server: Option<u16>) -> io::Result<()> {
    let proxy = UnixStream::connect(SOCKET)?;
    if let Some(port) = server {
        write!(&proxy, "CONNECT localhost:{port} HTTP/1.1\r\n\r\n")?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") && answer.len() < ANSWER {
            let mut byte = [0];
            (&proxy).read_exact(&mut byte)?;
            answer.extend(byte);
        }
        if !answer.starts_with(b"HTTP/1.1 200") {
            return Ok(());
        }
    }
    let (from_client, to_proxy) = (client.try_clone()?, proxy.try_clone()?);
    small(move || {
        let _ended = io::copy(&mut &from_client, &mut &to_proxy);
        let _closed = to_proxy.shutdown(Shutdown::Write);
    })?;
    let _ended = io::copy(&mut &proxy, &mut &*client);
    client.shutdown(Shutdown::Both)
}
