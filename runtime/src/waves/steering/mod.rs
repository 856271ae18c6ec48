//! Lets others steer the live run, over a socket that only its owner can open.
//!
//! `protocol` says what is said, `server` hears it for the run, `call` says it for a command and waits for the answer. What
//! can be done is decided by the scheduler, and nothing that comes over the socket can end the run but an order to stop.

use crate::callers::AgentCaller;
use std::io;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tm_scheduler::StopMode;
use tm_store::run::{ControlSocket, ProjectDirectory};
use tokio::sync::oneshot;

mod protocol;
mod server;

pub(crate) use protocol::stop_mode;
pub use protocol::{Ask, Reply, RunStanding, VERSION};
pub use server::SteeringSocket;

/// Something that somebody wants of the run that goes on in this process.
#[derive(Debug)]
pub enum Steer {
    /// A signal: stop.
    Stop(StopMode),
    /// A call over the socket, which is answered once it is done and durable.
    Ask(Ask, oneshot::Sender<Reply>),
    /// Something of this name was refused to an agent of the run; whoever waits goes on once that is noted.
    Refused(AgentCaller, String, oneshot::Sender<()>),
}

/// How long an answer may take; the run answers at once, but for a disk that is slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer in bytes.
const LONGEST: u64 = 1 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody listens: no run is live, or it can't be reached.
    #[error("reach the live run")]
    Nobody,
    /// The connection broke off.
    #[error("hear from the live run")]
    Broken(#[from] io::Error),
    /// The answer is none of this protocol.
    #[error("understand the answer of the live run")]
    Malformed(#[from] serde_json::Error),
}

/// Calls the live run of a project.
///
/// # Errors
/// Nobody listens, or there is no answer that can be understood.
pub fn call(project: &ProjectDirectory, ask: &Ask) -> Result<Reply, CallError> {
    let socket = ControlSocket::of(project).ok_or(CallError::Nobody)?;
    let mut stream = UnixStream::connect(socket).map_err(|_| CallError::Nobody)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(ask.line().as_bytes())?;
    let mut line = String::new();
    if BufReader::new(stream.take(LONGEST)).read_line(&mut line)? == 0 {
        return Err(CallError::Broken(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(serde_json::from_str(&line)?)
}
