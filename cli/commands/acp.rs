//! `tm acp-agent`: the process between tm and a program that speaks the Agent Client Protocol.
//!
//! tm starts it as the agent, in the worktree, with the prompt as input and files as output; so the program lives on
//! when tm dies, and is found again. Recipes call it, people need not know it.

use super::Perform;
use crate::failure::Result;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use tm_executors::acp::{AcpCommand, AcpEnd, Allowed, drive};
use tokio::signal::unix::{SignalKind, signal};

/// `tm acp-agent`.
#[derive(Args, Debug)]
pub(crate) struct AcpAgentArguments {
    /// What the program may do.
    #[arg(long, value_enum, default_value_t)]
    allow: AllowArgument,
    /// A further folder that it may write into.
    #[arg(long, value_name = "DIR")]
    writable: Vec<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What a program may do.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum AllowArgument {
    /// Whatever it asks for.
    Everything,
    /// To read, to run commands, and to change files in its worktree.
    #[default]
    Worktree,
    /// To read, and to change files in its worktree.
    Edits,
}

impl Perform for AcpAgentArguments {
    /// Has the program carry out the prompt on standard input; what happens goes to standard output, one JSON object a
    /// line.
    async fn perform(self, start: &Path) -> Result {
        let mut prompt = String::new();
        std::io::stdin()
            .read_to_string(&mut prompt)
            .map_err(|error| failure!("read the prompt from standard input: {error}"))?;
        let mut words = self.command.into_iter();
        let command = AcpCommand {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            worktree: start.to_owned(),
            writable: self.writable.into_iter().chain(attempt_folder()).collect(),
            allowed: match self.allow {
                AllowArgument::Everything => Allowed::Everything,
                AllowArgument::Worktree => Allowed::Worktree,
                AllowArgument::Edits => Allowed::Edits,
            },
            prompt,
        };
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
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
}

/// Where the agent leaves its result and what it found out.
fn attempt_folder() -> Option<PathBuf> {
    let result = std::env::var_os("TM_RESULT_FILE").map(PathBuf::from)?;
    result.parent().map(Path::to_owned)
}
