//! Drives one program over the Agent Client Protocol: one session, one prompt, its permission questions answered.
//!
//! This is the client's side for a process that stands between tm and the program: tm starts that process as the agent,
//! so the program's pipes end there and outlive tm. What happens is told as lines of JSON, which `agent/stream/acp.rs`
//! understands; nothing here knows of attempts.

mod permissions;
mod protocol;

pub use permissions::Allowed;

use crate::Error;
use permissions::Broker;
use protocol::{Answer, Connection};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};

/// How long a program may take to confirm that it stops.
const CANCEL_FOR: Duration = Duration::from_secs(3);
/// How long it may take to end once nobody speaks with it any more.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A program that speaks the protocol, and what it is to do.
#[derive(Clone, Debug)]
pub struct AcpCommand {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder that it works in.
    pub worktree: PathBuf,
    /// Further folders that it may write into.
    pub writable: Vec<PathBuf>,
    /// What it may do.
    pub allowed: Allowed,
    /// The prompt.
    pub prompt: String,
}

/// How a program ended its turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AcpEnd {
    /// It did what it was asked for, as it says.
    Done,
    /// It gave up, was told to stop, or broke off; the lines say why.
    NotDone,
}

/// Has a program carry out a prompt, and tells what happens line by line.
///
/// When `stop` is over, the program is told to stop, and its answer to that is waited for.
///
/// # Errors
/// The program can't be started.
pub async fn drive(
    command: AcpCommand,
    stop: impl Future<Output = ()>,
    tell: impl Fn(Value),
) -> Result<AcpEnd, Error> {
    let mut child = spawn(&command)?;
    let broker = Broker::new(command.allowed, &command.worktree, &command.writable);
    let answer = match Connection::open(&mut child, broker, &tell) {
        Some(connection) => take_turn(connection, &command, stop).await,
        None => Ok(cancelled()),
    };
    end(child).await;
    let is_done = matches!(&answer, Ok(answer) if answer["stopReason"] == "end_turn");
    tell(match &answer {
        Ok(answer) => {
            json!({"type": "acp/end", "stop_reason": answer["stopReason"], "usage": answer["usage"],
                   "meta": answer["_meta"]})
        }
        Err(error) => {
            json!({"type": "acp/error", "code": error["code"], "message": error["message"], "data": error["data"]})
        }
    });
    Ok(if is_done {
        AcpEnd::Done
    } else {
        AcpEnd::NotDone
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "its pipes end here, and tm ends the whole tree that this process is in"
)]
fn spawn(command: &AcpCommand) -> Result<Child, Error> {
    Command::new(&command.program)
        .args(&command.arguments)
        .current_dir(&command.worktree)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // A signal that asks this process to stop is passed on as the protocol says.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(Error::not_started(&command.program, &command.worktree))
}

/// One session with one prompt, to its end or until it is to stop.
async fn take_turn(
    mut connection: Connection<impl Fn(Value)>,
    command: &AcpCommand,
    stop: impl Future<Output = ()>,
) -> Answer {
    let mut stop = std::pin::pin!(stop);
    let session = tokio::select! {
        session = begin_session(&mut connection, command) => session?,
        () = &mut stop => return Ok(cancelled()),
    };
    let prompt = json!([{"type": "text", "text": command.prompt}]);
    connection.ask(
        "session/prompt",
        &json!({"sessionId": session, "prompt": prompt}),
    );
    tokio::select! {
        answer = connection.hear() => return answer,
        () = &mut stop => connection.notify("session/cancel", &json!({"sessionId": session})),
    }
    tokio::time::timeout(CANCEL_FOR, connection.hear())
        .await
        .unwrap_or_else(|_| Ok(cancelled()))
}

async fn begin_session(
    connection: &mut Connection<impl Fn(Value)>,
    command: &AcpCommand,
) -> Answer {
    connection.ask(
        "initialize",
        &json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "tm", "version": env!("CARGO_PKG_VERSION")},
        }),
    );
    connection.hear().await?;
    connection.ask(
        "session/new",
        &json!({"cwd": command.worktree, "mcpServers": []}),
    );
    Ok(connection.hear().await?["sessionId"].clone())
}

/// The answer of a program that was told to stop.
fn cancelled() -> Value {
    json!({"stopReason": "cancelled"})
}

/// Programs end by themselves when their input ends; one that does not is ended.
async fn end(mut child: Child) {
    drop(child.stdin.take());
    if tokio::time::timeout(END_WITHIN, child.wait())
        .await
        .is_err()
    {
        // What can't be killed is ended by tm, with the rest of the tree.
        let _ended = child.kill().await;
    }
}

#[cfg(test)]
mod tests;
