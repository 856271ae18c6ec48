//! `tm acp-agent`: the process between tm and a program that speaks the Agent Client Protocol.
//!
//! tm starts it as the agent, in the worktree, with the prompt as input and files as output; so the program lives on
//! when tm dies, and is found again.

use crate::arguments::{AcpAgentArguments, AllowArgument};
use crate::failure::CommandFailure;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use tm_executors::acp::{AcpCommand, AcpEnd, Allowed, drive};
use tokio::signal::unix::{SignalKind, signal};

/// Has the program carry out the prompt on standard input; what happens goes to standard output, one JSON object a line.
pub(crate) async fn acp_agent(
    start: &Path,
    arguments: &AcpAgentArguments,
) -> Result<u8, CommandFailure> {
    let mut prompt = String::new();
    std::io::stdin()
        .read_to_string(&mut prompt)
        .map_err(|error| {
            CommandFailure::new(format!("read the prompt from standard input: {error}"))
        })?;
    let mut words = arguments.command.iter().cloned();
    let command = AcpCommand {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        worktree: start.to_owned(),
        writable: arguments
            .writable
            .iter()
            .cloned()
            .chain(attempt_folder())
            .collect(),
        allowed: match arguments.allow {
            AllowArgument::Everything => Allowed::Everything,
            AllowArgument::Worktree => Allowed::Worktree,
            AllowArgument::Edits => Allowed::Edits,
        },
        prompt,
    };
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let tell = |line: serde_json::Value| {
        // A log that can't be written ends nothing: the work counts, not the words about it.
        let _full_disk = writeln!(std::io::stdout().lock(), "{line}");
    };
    Ok(match drive(command, stop, tell).await? {
        AcpEnd::Done => 0,
        AcpEnd::NotDone => 1,
    })
}

/// Where the agent leaves its result and what it found out.
fn attempt_folder() -> Option<PathBuf> {
    let result = std::env::var_os("TM_RESULT_FILE").map(PathBuf::from)?;
    result.parent().map(Path::to_owned)
}
