//! `tm mcp`: serves MCP. Nothing but protocol goes to standard output.

mod install;

use super::Perform;
use super::ci::tell_ci;
use crate::environment::{text_of, variable};
use crate::failure::{CommandFailure, Result};
use crate::{logging, notices};
use clap::{Args, Subcommand};
use install::InstallArguments;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tm_app::{Caller, Error, RunOf, detached};
#[cfg(feature = "mcp-http")]
use tm_mcp::{HttpServer, new_token};
use tm_mcp::{Place, Refusal, Server, ToolChoice, serve_stdio};
use tm_scheduler::{AtBreaker, quoted};

/// A token is no longer.
const LONGEST_TOKEN: u64 = 4 * 1024;

/// `tm mcp`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArguments {
    /// Serve streamable HTTP on a loopback address instead of standard input and output.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    http: Option<SocketAddr>,
    /// A file with the token that every HTTP request has to bear. Without it the variable `TM_MCP_TOKEN` counts, and
    /// without both a new token is printed.
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Refused: everybody on this machine reads command lines.
    #[arg(long, hide = true)]
    token: Option<String>,
    /// The tools to offer: all, core (tasks), standard (tasks and waves), or names with commas.
    ///
    /// Without it, the variable `TASK_MASTER_TOOLS` counts, and else it is all.
    #[arg(long)]
    tools: Option<String>,
    /// Something else than serving.
    #[command(subcommand)]
    command: Option<McpCommand>,
}

/// `tm detached-run`.
#[derive(Args)]
pub(crate) struct DetachedArguments {
    /// Where it stands what is to be run.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// What there is beside serving.
#[derive(Subcommand)]
enum McpCommand {
    /// Tell a client of the server, by the client's own command where it has one.
    Install(InstallArguments),
}

impl Perform for McpArguments {
    async fn perform(self, start: &Path) -> Result {
        let program = std::env::current_exe()?;
        if let Some(McpCommand::Install(arguments)) = self.command {
            return arguments.perform(start).await;
        }
        let token = self.token()?;
        let folder =
            variable("TASK_MASTER_PROJECT_ROOT").map_or_else(|| start.to_owned(), Into::into);
        let place = Place { folder, program };
        let server = Server::new(place, &self.tools()?);
        match self.http {
            None => serve_stdio(server).await?,
            Some(address) => serve_http(server, address, token).await?,
        }
        Ok(0)
    }
}

impl Perform for DetachedArguments {
    /// Carries out a run that a client of the server asked for; what comes of it is left for the server, in words of
    /// tools.
    async fn perform(self, _: &Path) -> Result {
        let caller = Caller {
            tell: notices::print,
            at_breaker: AtBreaker::Stop,
        };
        let begins = |of: &RunOf| {
            if let Err(error) = logging::write_into(&of.directory.log()) {
                tracing::warn!(%error, "the run has no log");
            }
        };
        match carried_out(&self.folder, caller, begins).await {
            Ok(()) => Ok(0),
            Err(error) => {
                let refusal = Refusal::from(error);
                detached::leave(&self.folder, &refusal);
                Err(CommandFailure::new(refusal))
            }
        }
    }
}

async fn carried_out(
    folder: &Path,
    caller: Caller,
    begins: impl FnOnce(&RunOf),
) -> Result<(), Error> {
    let Some(ended) = Box::pin(detached::run(folder, caller, begins)).await? else {
        return Ok(());
    };
    let summary = ended.report();
    if let Ok(summary) = &summary {
        tell_ci(None, summary, &ended.of.directory).await;
        ended.tell(summary).await;
    }
    ended.conclude()?;
    summary.map(drop)
}

impl McpArguments {
    /// The tools that are asked for: a flag has to make sense, a variable that is meant for other servers too need not.
    fn tools(&self) -> Result<ToolChoice> {
        let variable = std::env::var("TASK_MASTER_TOOLS").unwrap_or_default();
        let choice = ToolChoice::parse(self.tools.as_deref().unwrap_or(&variable));
        let unknown = quoted(choice.unknown());
        match &self.tools {
            _ if unknown.is_empty() => {}
            Some(_) => {
                return Err(failure!("there are no tools {unknown}").usage(
                    "there are `core`, `standard` and `all`, and the names in docs/mcp.md",
                ));
            }
            None => say!("warning: TASK_MASTER_TOOLS names what is not there: {unknown}"),
        }
        Ok(choice)
    }

    /// The token that the user has chosen, from where nobody else can read it.
    fn token(&self) -> Result<Option<String>> {
        if self.token.is_some() {
            return Err(failure!(
                "a token on the command line can be read by everybody on this machine"
            )
            .usage("set `TM_MCP_TOKEN`, or use `--token-file FILE`"));
        }
        match &self.token_file {
            Some(file) => token_in(file).map(Some),
            None => Ok(text_of("TM_MCP_TOKEN").map(|token| token.trim().to_owned())),
        }
    }
}

fn token_in(file: &Path) -> Result<String> {
    let unread = |why: &dyn std::fmt::Display| {
        let place = file.display();
        failure!("read the token in `{place}`: {why}")
    };
    let bytes = tm_untrusted::read_own(file, LONGEST_TOKEN).map_err(|error| unread(&error))?;
    let token = String::from_utf8(bytes).map_err(|_| unread(&"it is not UTF-8"))?;
    match token.trim() {
        "" => Err(unread(&"it is empty")),
        token => Ok(token.to_owned()),
    }
}

#[cfg(feature = "mcp-http")]
async fn serve_http(server: Server, address: SocketAddr, token: Option<String>) -> Result<()> {
    let token = token.map_or_else(told_token, Ok)?;
    let http = HttpServer::listen(server, address, &token).await?;
    say!(
        "listening on http://{}/mcp; every request bears `Authorization: Bearer TOKEN`",
        http.address()?
    );
    tokio::select! {
        ended = http.serve() => Ok(ended?),
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

/// A new token, of which the user is told.
#[cfg(feature = "mcp-http")]
fn told_token() -> Result<String> {
    let token = new_token()?;
    say!("token: {token}");
    Ok(token)
}

#[cfg(not(feature = "mcp-http"))]
#[expect(clippy::unused_async, reason = "it stands for what serves")]
async fn serve_http(_: Server, address: SocketAddr, _: Option<String>) -> Result<()> {
    Err(
        failure!("listen on `{address}`: this tm was built without the feature `mcp-http`")
            .hint("build it with `--features mcp-http`, or leave `--http` out"),
    )
}
