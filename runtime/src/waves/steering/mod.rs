//! Lets others steer the live run, over a socket that only its owner can open.
//!
//! `server` hears it for the run, `call` says it for a command and waits for the answer. What can be done is decided by the
//! scheduler, and nothing that comes over the socket can end the run but an order to stop.

pub(crate) mod protocol;
mod server;

pub(crate) use protocol::stop_mode;
pub use protocol::{Ask, CallError, Reply, RunStanding, VERSION, call};
pub use server::SteeringSocket;

use crate::callers::AgentCaller;
use tm_scheduler::StopMode;
use tokio::sync::oneshot;

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
