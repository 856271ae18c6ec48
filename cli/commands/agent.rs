//! What agents call: `tm result`; `tm replay`, which is an agent itself; and `tm acp-agent`, the process between tm and a
//! program that speaks the Agent Client Protocol.
//!
//! tm starts the latter as the agent, in the worktree, with the prompt as input and files as output; so the program lives
//! on when tm dies, and is found again. Recipes call it, people need not know it.

use super::Perform;
use crate::failure::Result;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use tm_executors::acp::{AcpCommand, AcpEnd, Allowed, drive};
use tm_executors::agent::ResultDraft;
use tm_scheduler::{Claim, ClaimStatus, TaskId};
use tokio::signal::unix::{SignalKind, signal};

/// `tm result`.
#[derive(Args)]
pub(crate) struct ResultArguments {
    /// What you claim.
    #[arg(long, value_enum)]
    status: ClaimArgument,
    /// Tests that passed.
    #[arg(long, value_name = "N")]
    tests_passed: Option<u64>,
    /// Tests that failed.
    #[arg(long, value_name = "N")]
    tests_failed: Option<u64>,
    /// A file that you changed; may be given several times.
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// An open point; may be given several times.
    #[arg(long = "issue", value_name = "TEXT")]
    issues: Vec<String>,
    /// Where to write it; `$TM_RESULT_FILE` when not given.
    #[arg(long, env = "TM_RESULT_FILE", value_name = "PATH")]
    output: PathBuf,
}

/// What an agent claims.
#[derive(Clone, Copy, ValueEnum)]
enum ClaimArgument {
    /// Everything is there.
    Pass,
    /// The work stands, some points are open.
    Partial,
    /// The work is not done.
    Fail,
}

/// `tm replay`.
#[derive(Args)]
pub(crate) struct Replay {
    /// The folder of recordings, `<task>.<attempt>.patch` each.
    #[arg(long, env = "TM_REPLAY_DIR", value_name = "DIR")]
    recordings: PathBuf,
}

impl Perform for ResultArguments {
    async fn perform(self, _: &Path) -> Result {
        let claim = Claim {
            status: match self.status {
                ClaimArgument::Pass => ClaimStatus::Pass,
                ClaimArgument::Partial => ClaimStatus::Partial,
                ClaimArgument::Fail => ClaimStatus::Fail,
            },
            tests_passed: self.tests_passed,
            tests_failed: self.tests_failed,
            files: self.files,
            issues: self.issues,
        };
        write_result(&self.output, claim)
    }
}

fn write_result(path: &Path, claim: Claim) -> Result {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let draft = ResultDraft {
        task: variable("TM_TASK_ID"),
        attempt: variable("TM_ATTEMPT").parse().unwrap_or(1),
        phase: Some(variable("TM_PHASE")).filter(|phase| phase == "red" || phase == "green"),
        claim,
    };
    let written = tm_store::atomic::replace_own(path, draft.render().as_bytes());
    written.map_err(|error| failure!("write `{}`: {error}", path.display()))?;
    Ok(0)
}

impl Perform for Replay {
    /// Applies the recording of the attempt under way and claims success.
    async fn perform(self, start: &Path) -> Result {
        let needed = |name: &str| {
            let unset =
                |_| failure!("replay: `{name}` is not set").hint("tm runs this as an agent");
            std::env::var(name).map_err(unset)
        };
        let (task, attempt) = (needed("TM_TASK_ID")?, needed("TM_ATTEMPT")?);
        let number: u32 = attempt
            .parse()
            .map_err(|_| failure!("replay: `TM_ATTEMPT` is `{attempt}`, which is no number"))?;
        let stem = tm_store::run::safe_name(&TaskId::from(task.as_str()));
        // An attempt that was lost leaves a gap: the last recording before it is the one to go on with.
        let mut recorded = (1..=number)
            .rev()
            .map(|number| format!("{stem}.{number}.patch"));
        let name = recorded
            .find(|name| self.recordings.join(name).is_file())
            .ok_or_else(|| {
                let folder = self.recordings.display();
                failure!("find a recording for attempt {number} at `{task}` in `{folder}`")
            })?;
        let path = self.recordings.join(&name);
        let patch = std::fs::read(&path)
            .map_err(|error| failure!("read the recording `{}`: {error}", path.display()))?;
        tm_worktrees::apply_patch(start, &patch)?;
        say!("applied {name}");
        match std::env::var_os("TM_RESULT_FILE") {
            Some(result) => write_result(Path::new(&result), Claim::of(ClaimStatus::Pass)),
            None => Ok(0),
        }
    }
}

/// `tm acp-agent`.
#[derive(Args)]
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
#[derive(Clone, Copy, Default, ValueEnum)]
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
