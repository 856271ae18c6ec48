//! Drives one program over the Agent Client Protocol: one session, one prompt, its permission questions answered.
//!
//! This is the client's side for a process that stands between tm and the program: tm starts that process as the agent,
//! so the program's pipes end there and outlive tm. What happens is told as lines of JSON, which `agent/stream/acp.rs`
//! understands; nothing here knows of attempts.

mod lines;
mod permissions;

pub use permissions::Allowed;

use crate::Error;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, Implementation, InitializeRequest, NewSessionRequest,
    PromptRequest, PromptResponse, RequestPermissionRequest, RequestPermissionResponse, SessionId,
    SessionNotification, StopReason, TextContent,
};
use agent_client_protocol::{Agent, ByteStreams, Client, Error as ProtocolError};
use permissions::Broker;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

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
    tell: impl Fn(Value) + Send + Sync + 'static,
) -> Result<AcpEnd, Error> {
    let mut child = spawn(&command)?;
    let tell = Arc::new(tell);
    let answer = converse(&mut child, &command, stop, &tell).await;
    end(child).await;
    let is_done = matches!(&answer, Ok(answer) if answer.stop_reason == StopReason::EndTurn);
    tell(match &answer {
        Ok(answer) => lines::end(answer),
        Err(error) => lines::error(error),
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
    let not_started = |source| Error::Start {
        program: command.program.to_string_lossy().into_owned(),
        working_folder: command.worktree.clone(),
        source,
    };
    Command::new(&command.program)
        .args(&command.arguments)
        .current_dir(&command.worktree)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // A signal that asks this process to stop is passed on as the protocol says.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(not_started)
}

async fn converse(
    child: &mut Child,
    command: &AcpCommand,
    stop: impl Future<Output = ()>,
    tell: &Arc<impl Fn(Value) + Send + Sync + 'static>,
) -> Result<PromptResponse, ProtocolError> {
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ProtocolError::internal_error());
    };
    let broker = Broker::new(command.allowed, &command.worktree, &command.writable);
    let (told, asked) = (Arc::clone(tell), Arc::clone(tell));
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _connection| {
                told(lines::update(&notification.update));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                let answer = broker.answer(&request);
                asked(lines::permission(&request, &answer));
                responder.respond(RequestPermissionResponse::new(answer.outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(
            ByteStreams::new(input.compat_write(), output.compat()),
            async |connection: ConnectionTo<Agent>| take_turn(&connection, command, stop).await,
        )
        .await
}

/// One session with one prompt, to its end or until it is to stop.
async fn take_turn(
    connection: &ConnectionTo<Agent>,
    command: &AcpCommand,
    stop: impl Future<Output = ()>,
) -> Result<PromptResponse, ProtocolError> {
    let mut stop = std::pin::pin!(stop);
    let session = tokio::select! {
        session = begin_session(connection, command) => session?,
        () = &mut stop => return Ok(PromptResponse::new(StopReason::Cancelled)),
    };
    let prompt = vec![ContentBlock::Text(TextContent::new(command.prompt.clone()))];
    let mut answer = std::pin::pin!(
        connection
            .send_request(PromptRequest::new(session.clone(), prompt))
            .block_task()
    );
    tokio::select! {
        answer = &mut answer => return answer,
        () = &mut stop => connection.send_notification(CancelNotification::new(session))?,
    }
    let confirmed = tokio::time::timeout(CANCEL_FOR, answer).await;
    confirmed.unwrap_or_else(|_| Ok(PromptResponse::new(StopReason::Cancelled)))
}

async fn begin_session(
    connection: &ConnectionTo<Agent>,
    command: &AcpCommand,
) -> Result<SessionId, ProtocolError> {
    let client = Implementation::new("tm", env!("CARGO_PKG_VERSION"));
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(client);
    connection.send_request(hello).block_task().await?;
    let session = connection
        .send_request(NewSessionRequest::new(command.worktree.clone()))
        .block_task()
        .await?;
    Ok(session.session_id)
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
