//! Claude Code in a Docker sandbox: whether it is logged in there, and where it is not, a session to do that.

use crate::display::print_line;
use crate::failure::CommandFailure;
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_attended, run_within};

/// How long the sandbox may take to answer.
const PROBE_LIMIT: Duration = Duration::from_secs(30);
const RUN_CLAUDE: [&str; 3] = ["sandbox", "run", "claude"];

/// Makes sure that Claude answers within the sandbox.
pub(crate) async fn get_ready(folder: &Path, scratch: &Path) -> Result<(), CommandFailure> {
    print_line("asking Claude in the sandbox for an answer");
    if answers(folder, scratch).await? {
        return Ok(());
    }
    let hint = "run `docker sandbox run claude` once, and log in";
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(
            CommandFailure::new("start the sandbox: Claude gives no answer there").hint(hint),
        );
    }
    print_line("log in, then leave Claude with /exit");
    run_attended("docker", &RUN_CLAUDE, folder).await?;
    if answers(folder, scratch).await? {
        return Ok(());
    }
    Err(CommandFailure::new("start the sandbox: Claude still gives no answer there").hint(hint))
}

async fn answers(folder: &Path, scratch: &Path) -> Result<bool, CommandFailure> {
    let scratch = tempfile::tempdir_in(scratch)?;
    let log = scratch.path().join("answer");
    let words = RUN_CLAUDE
        .into_iter()
        .chain(["-p", "Answer with the word OK"]);
    let probe = TreeCommand {
        program: "docker".into(),
        arguments: words.map(Into::into).collect(),
        working_folder: folder.to_owned(),
        stdout: log.clone(),
        stderr: scratch.path().join("errors"),
        env_markers: vec![(
            "TM_SANDBOX_PROBE".to_owned(),
            scratch.path().display().to_string(),
        )],
        ..TreeCommand::default()
    };
    let ended = run_within(&probe, PROBE_LIMIT).await?;
    let answer = String::from_utf8_lossy(&tm_untrusted::read_end(&log, 64 * 1024)?).to_lowercase();
    Ok(ended.is_some_and(|status| status.success()) && answer.contains("ok"))
}
