//! The arguments of `tm mcp`.

use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// `tm mcp`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArguments {
    /// Serve streamable HTTP on a loopback address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    pub(crate) http: Option<SocketAddr>,
    /// A file with the token that every HTTP request has to bear. Without it the variable `TM_MCP_TOKEN` counts, and
    /// without both a new token is printed.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Refused: everybody on this machine reads command lines.
    #[arg(long, hide = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// The tools to offer: all, core (tasks), standard (tasks and waves), or names with commas.
    ///
    /// Without it, the variable `TASK_MASTER_TOOLS` counts, and else it is all.
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// Something else than serving.
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

/// `tm detached-run`.
#[derive(Args, Debug)]
pub(crate) struct DetachedArguments {
    /// Where it stands what is to be run.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// What there is beside serving.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Tell a client of the server, by the client's own command where it has one.
    Install(InstallArguments),
}

/// `tm mcp install`.
#[derive(Args, Debug)]
pub(crate) struct InstallArguments {
    /// The client.
    #[arg(value_enum)]
    pub(crate) client: McpClient,
    /// Whose settings: the project's, which others may share, or your own, for all projects.
    #[arg(long, short = 's', value_enum, default_value_t = InstallScope::User)]
    pub(crate) scope: InstallScope,
    /// What the server is called in there.
    #[arg(long, value_name = "NAME", default_value = "tm", value_parser = server_name)]
    pub(crate) name: String,
    /// The tools to offer, as in `tm mcp --tools`.
    #[arg(long, value_name = "TOOLS", conflicts_with = "remove")]
    pub(crate) tools: Option<String>,
    /// Print what would be run or added, and change nothing.
    #[arg(long, conflicts_with = "remove")]
    pub(crate) print: bool,
    /// Take the server out again.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// Clients put the name into the names of tools.
fn server_name(text: &str) -> Result<String, String> {
    let is_sound = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !text.is_empty() && text.chars().all(is_sound) {
        Ok(text.to_owned())
    } else {
        Err("a name is made of letters, digits, `-` and `_`".to_owned())
    }
}

/// Whose settings are changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum InstallScope {
    /// Those of the project, which others may share.
    Project,
    /// Your own, for all projects.
    User,
}

/// Clients whose settings are known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
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
