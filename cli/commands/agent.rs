//! What agents call: `tm result`, and `tm replay`, which is an agent itself.

use super::Perform;
use crate::failure::Result;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use tm_executors::agent::ResultDraft;
use tm_scheduler::{Claim, ClaimStatus, TaskId};

/// `tm result`.
#[derive(Args, Debug)]
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
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ClaimArgument {
    /// Everything is there.
    Pass,
    /// The work stands, some points are open.
    Partial,
    /// The work is not done.
    Fail,
}

/// `tm replay`.
#[derive(Args, Debug)]
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
