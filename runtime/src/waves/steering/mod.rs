//! Lets others steer the live run, over a socket that only its owner can open.
//!
//! `protocol` says what is said, `server` hears it for the run, `client` says it for a command. What can be done is
//! decided by the scheduler, and nothing that comes over the socket can end the run but an order to stop.

mod client;
mod protocol;
mod server;

pub use client::{CallError, call};
pub(crate) use protocol::stop_mode;
pub use protocol::{Ask, Reply, RunStanding, VERSION};
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
