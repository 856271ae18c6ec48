//! `tm mcp`: serves MCP. Nothing but protocol goes to standard output.

mod install;

use super::ci::tell_ci;
use crate::arguments::{McpArguments, McpCommand};
use crate::display::print_line;
use crate::failure::{CommandFailure, ExitCode};
use crate::{logging, notices};
use std::net::SocketAddr;
use std::path::Path;
use tm_app::{Caller, Error, RunOf, detached};
#[cfg(feature = "mcp-http")]
use tm_mcp::{HttpServer, new_token};
use tm_mcp::{Place, Refusal, Server, ToolChoice, serve_stdio};
use tm_scheduler::AtBreaker;

/// A token is no longer.
const LONGEST_TOKEN: u64 = 4 * 1024;

/// Carries out `tm mcp`.
pub(crate) async fn mcp(start: &Path, arguments: &McpArguments) -> Result<u8, CommandFailure> {
    let program = std::env::current_exe()?;
    if let Some(McpCommand::Install(arguments)) = &arguments.command {
        return install::install(start, arguments).await;
    }
    let token = token(arguments)?;
    let folder = std::env::var_os("TASK_MASTER_PROJECT_ROOT").filter(|root| !root.is_empty());
    let folder = folder.map_or_else(|| start.to_owned(), Into::into);
    let place = Place { folder, program };
    let server = Server::new(place, &tools(arguments)?);
    match arguments.http {
        None => serve_stdio(server).await?,
        Some(address) => serve_http(server, address, token).await?,
    }
    Ok(0)
}

/// Carries out a run that a client of the server asked for; what comes of it is left for the server, in words of tools.
pub(crate) async fn detached_run(folder: &Path) -> Result<u8, CommandFailure> {
    let caller = Caller {
        tell: notices::print,
        at_breaker: AtBreaker::Stop,
    };
    let begins = |of: &RunOf| {
        if let Err(error) = logging::write_into(&of.directory.log()) {
            tracing::warn!(%error, "the run has no log");
        }
    };
    match carried_out(folder, caller, begins).await {
        Ok(()) => Ok(0),
        Err(error) => {
            let refusal = Refusal::from(error);
            detached::leave(folder, &refusal);
            Err(CommandFailure::new(refusal))
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

/// The tools that are asked for: a flag has to make sense, a variable that is meant for other servers too need not.
fn tools(arguments: &McpArguments) -> Result<ToolChoice, CommandFailure> {
    let variable = std::env::var("TASK_MASTER_TOOLS").unwrap_or_default();
    let choice = ToolChoice::parse(arguments.tools.as_deref().unwrap_or(&variable));
    let unknown: Vec<String> = choice
        .unknown()
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    match (unknown.is_empty(), &arguments.tools) {
        (true, _) => Ok(choice),
        (false, Some(_)) => Err(CommandFailure::new(format!(
            "offer the tools {}",
            unknown.join(", ")
        ))
        .code(ExitCode::Usage)
        .hint("there are `core`, `standard` and `all`, and the names in docs/mcp.md")),
        (false, None) => {
            print_line(&format!(
                "warning: TASK_MASTER_TOOLS names what is not there: {}",
                unknown.join(", ")
            ));
            Ok(choice)
        }
    }
}

/// The token that the user has chosen, from where nobody else can read it.
fn token(arguments: &McpArguments) -> Result<Option<String>, CommandFailure> {
    if arguments.token.is_some() {
        return Err(CommandFailure::new(
            "take a token from the command line: everybody on this machine reads it there",
        )
        .code(ExitCode::Usage)
        .hint("set `TM_MCP_TOKEN`, or use `--token-file FILE`"));
    }
    let Some(file) = &arguments.token_file else {
        let variable = std::env::var("TM_MCP_TOKEN").unwrap_or_default();
        return Ok(Some(variable.trim().to_owned()).filter(|token| !token.is_empty()));
    };
    let failed = |why: &dyn std::fmt::Display| {
        CommandFailure::new(format!("read the token in `{}`: {why}", file.display()))
    };
    let bytes = tm_untrusted::read_own(file, LONGEST_TOKEN).map_err(|error| failed(&error))?;
    let token = String::from_utf8(bytes)
        .map_err(|_| failed(&"it is not UTF-8"))?
        .trim()
        .to_owned();
    if token.is_empty() {
        Err(failed(&"it is empty"))
    } else {
        Ok(Some(token))
    }
}

#[cfg(feature = "mcp-http")]
async fn serve_http(
    server: Server,
    address: SocketAddr,
    token: Option<String>,
) -> Result<(), CommandFailure> {
    let token = if let Some(token) = token {
        token
    } else {
        let token = new_token()?;
        print_line(&format!("token: {token}"));
        token
    };
    let http = HttpServer::listen(server, address, &token).await?;
    print_line(&format!(
        "listening on http://{}/mcp; every request bears `Authorization: Bearer TOKEN`",
        http.address()?
    ));
    tokio::select! {
        ended = http.serve() => Ok(ended?),
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

#[cfg(not(feature = "mcp-http"))]
#[expect(clippy::unused_async, reason = "it stands for what serves")]
async fn serve_http(
    _: Server,
    address: SocketAddr,
    _: Option<String>,
) -> Result<(), CommandFailure> {
    Err(CommandFailure::new(format!(
        "listen on `{address}`: this tm was built without the feature `mcp-http`"
    ))
    .hint("build it with `--features mcp-http`, or leave `--http` out"))
}
