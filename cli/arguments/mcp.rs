//! The arguments of `tm mcp`.

use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;

/// `tm mcp`.
#[derive(Args, Debug)]
pub(crate) struct McpArguments {
    /// Serve streamable HTTP on a loopback address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    pub(crate) http: Option<SocketAddr>,
    /// The token that every HTTP request has to bear; a new one is printed when not given.
    #[arg(long, env = "TM_MCP_TOKEN", hide_env_values = true, value_name = "TOKEN", requires = "http")]
    pub(crate) token: Option<String>,
    /// The tools to offer: all, core (tasks), standard (tasks and waves), or names with commas.
    #[arg(long, env = "TASK_MASTER_TOOLS", value_name = "TOOLS", default_value = "all")]
    pub(crate) tools: String,
    /// Something else than serving.
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

/// What there is beside serving.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Print how a client is told of this server.
    Install {
        /// The client.
        #[arg(value_enum)]
        client: McpClient,
    },
}

/// Clients whose configuration is known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Cursor.
    Cursor,
}
