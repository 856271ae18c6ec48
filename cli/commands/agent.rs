//! What agents call: `tm result`; `tm replay`, which is an agent itself; and `tm acp-agent`, the process between tm and a
//! program that speaks the Agent Client Protocol.
//!
//! tm starts the latter as the agent, in the worktree, with the prompt as input and files as output; so the program lives
//! on when tm dies, and is found again. Recipes call it, people need not know it.

use super::Perform;
use crate::failure::Result;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tm_executors::acp::{AcpCommand, AcpEnd, Allowed, drive};
use tm_executors::agent::ResultDraft;
use tm_scheduler::{Claim, ClaimStatus};
use tm_store::run::safe_name;
use tokio::signal::unix::{SignalKind, signal};

/// `tm result`.
#[derive(Args)]
pub(crate) struct ResultArguments {
    /// What you claim.
    #[arg(long)]
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

impl From<ClaimArgument> for ClaimStatus {
    fn from(claimed: ClaimArgument) -> Self {
        match claimed {
            ClaimArgument::Pass => Self::Pass,
            ClaimArgument::Partial => Self::Partial,
            ClaimArgument::Fail => Self::Fail,
        }
    }
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
            status: self.status.into(),
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
    tm_store::atomic::replace_own(path, draft.render().as_bytes())
        .map_err(|error| failure!("write `{}`: {error}", path.display()))?;
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
        let name = self.recording(&task, number).ok_or_else(|| {
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

impl Replay {
    /// An attempt that was lost leaves a gap: the last recording before it is the one to go on with.
    fn recording(&self, task: &str, attempt: u32) -> Option<String> {
        let stem = safe_name(&task.into());
        (1..=attempt)
            .rev()
            .map(|attempt| format!("{stem}.{attempt}.patch"))
            .find(|name| self.recordings.join(name).is_file())
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
    #[arg(required = true, last = true)]
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

impl From<AllowArgument> for Allowed {
    fn from(allowed: AllowArgument) -> Self {
        match allowed {
            AllowArgument::Everything => Self::Everything,
            AllowArgument::Worktree => Self::Worktree,
            AllowArgument::Edits => Self::Edits,
        }
    }
}

impl Perform for AcpAgentArguments {
    /// Has the program carry out the prompt on standard input; what happens goes to standard output, one JSON object a
    /// line.
    async fn perform(self, start: &Path) -> Result {
        let prompt = std::io::read_to_string(std::io::stdin())
            .map_err(|error| failure!("read the prompt from standard input: {error}"))?;
        let mut words = self.command.into_iter();
        let command = AcpCommand {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            worktree: start.to_owned(),
            writable: self.writable.into_iter().chain(attempt_folder()).collect(),
            allowed: self.allow.into(),
            prompt,
        };
        let tell = |line: serde_json::Value| {
            // A log that can't be written ends nothing: the work counts, not the words about it.
            let _full_disk = writeln!(std::io::stdout().lock(), "{line}");
        };
        Ok(match drive(command, stopped()?, tell).await? {
            AcpEnd::Done => 0,
            AcpEnd::NotDone => 1,
        })
    }
}

/// Ends when tm is told to stop.
fn stopped() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Where the agent leaves its result and what it found out.
fn attempt_folder() -> Option<PathBuf> {
    std::env::var_os("TM_RESULT_FILE")
        .map(PathBuf::from)?
        .parent()
        .map(Path::to_owned)
}
