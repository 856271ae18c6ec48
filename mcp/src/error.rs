//! What can keep the server from serving; trouble within a call is an answer to it.

use std::net::SocketAddr;

/// Why the server does not serve; texts follow "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client went away before it said who it is, or broke the protocol.
    #[error("serve MCP: {0}")]
    Protocol(String),
    /// The address reaches beyond this machine.
    #[error("listen on `{0}`: only loopback addresses are served")]
    NotLoopback(SocketAddr),
    /// The address can't be listened on.
    #[error("listen on `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no randomness for a token.
    #[error("make a token")]
    Token {
        /// What the system says.
        source: std::io::Error,
    },
}
