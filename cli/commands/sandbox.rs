//! Claude Code in a Docker sandbox: whether it is logged in there, and where it is not, a session to do that.

use crate::ask::is_answered;
use crate::failure::Result;
use std::path::Path;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_attended, run_captured};

/// How long the sandbox may take to answer.
const PROBE_LIMIT: Duration = Duration::from_secs(30);
const RUN_CLAUDE: [&str; 3] = ["sandbox", "run", "claude"];

/// Makes sure that Claude answers within the sandbox.
pub(crate) async fn get_ready(folder: &Path) -> Result<()> {
    say!("asking Claude in the sandbox for an answer");
    if answers(folder).await? {
        return Ok(());
    }
    let hint = "run `docker sandbox run claude` once, and log in";
    if !is_answered() {
        return Err(failure!("start the sandbox: Claude gives no answer there").hint(hint));
    }
    say!("log in, then leave Claude with /exit");
    run_attended("docker", &RUN_CLAUDE, folder).await?;
    if answers(folder).await? {
        return Ok(());
    }
    Err(failure!("start the sandbox: Claude still gives no answer there").hint(hint))
}

async fn answers(folder: &Path) -> Result<bool> {
    let words = RUN_CLAUDE
        .into_iter()
        .chain(["-p", "Answer with the word OK"]);
    let probe = TreeCommand {
        program: "docker".into(),
        arguments: words.map(Into::into).collect(),
        working_folder: folder.to_owned(),
        ..TreeCommand::default()
    };
    let answer = run_captured(probe, PROBE_LIMIT).await?;
    Ok(answer.has_succeeded() && answer.stdout.to_lowercase().contains("ok"))
}
