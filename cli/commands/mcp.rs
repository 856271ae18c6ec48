//! `tm mcp`: serves MCP, and prints how clients are told of it. Nothing but protocol goes to standard output.

use crate::arguments::{McpArguments, McpClient, McpCommand};
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use tm_mcp::{HttpServer, Place, Server, ToolChoice, new_token, serve_stdio};
use tm_runtime::autopilot::Surroundings;

/// Carries out `tm mcp`.
pub(crate) fn mcp(start: &Path, arguments: &McpArguments) -> Result<u8, CommandFailure> {
    let program = std::env::current_exe()?;
    if let Some(McpCommand::Install { client }) = &arguments.command {
        print_data(&installation(*client, &program.display().to_string()));
        return Ok(0);
    }
    let folder = std::env::var_os("TASK_MASTER_PROJECT_ROOT").filter(|root| !root.is_empty());
    let folder = folder.map_or_else(|| start.to_owned(), Into::into);
    let place = Place { folder, surroundings: Surroundings::of_process(), program };
    let server = Server::new(place, &ToolChoice::parse(&arguments.tools))
        .map_err(|error| CommandFailure::from(error).code(ExitCode::Usage))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match arguments.http {
            None => Ok(serve_stdio(server).await?),
            Some(address) => serve_http(server, address, arguments.token.as_deref()).await,
        }
    })?;
    // A call that is still at work holds a thread; its client is gone, so nobody waits for it.
    runtime.shutdown_background();
    Ok(0)
}

async fn serve_http(server: Server, address: SocketAddr, token: Option<&str>) -> Result<(), CommandFailure> {
    let token = if let Some(token) = token.map(str::trim).filter(|token| !token.is_empty()) {
        token.to_owned()
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

/// How each client is told of a server on standard input and output.
fn installation(client: McpClient, program: &str) -> String {
    let server = json!({"command": program, "args": ["mcp"]});
    let (file, text) = match client {
        McpClient::Claude => (".mcp.json", format!("{:#}", json!({"mcpServers": {"tm": server}}))),
        McpClient::Cursor => (".cursor/mcp.json", format!("{:#}", json!({"mcpServers": {"tm": server}}))),
        McpClient::Gemini => (".gemini/settings.json", format!("{:#}", json!({"mcpServers": {"tm": server}}))),
        McpClient::Opencode => {
            let server = json!({"type": "local", "command": [program, "mcp"], "enabled": true});
            ("opencode.json", format!("{:#}", json!({"mcp": {"tm": server}})))
        }
        McpClient::Codex => {
            // A JSON text is a TOML text too.
            let program = json!(program);
            ("~/.codex/config.toml", format!("[mcp_servers.tm]\ncommand = {program}\nargs = [\"mcp\"]"))
        }
    };
    print_line(&format!("add this to {file}:"));
    text + "\n"
}
