//! Calls `gh`: opens a pull request, or brings the one that is open already up to date.

use super::Opened;
use crate::arguments::PullArguments;
use crate::commands::review::ReviewedRun;
use crate::failure::CommandFailure;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_within};

/// How long one call may take.
const LIMIT: Duration = Duration::from_mins(2);

/// Returns the program, when it is on `PATH`.
pub(super) fn find() -> Option<PathBuf> {
    which::which("gh").ok()
}

/// Returns the arguments that open a pull request.
pub(super) fn create_words(one: &Opened, arguments: &PullArguments) -> Result<Vec<String>, CommandFailure> {
    let mut words: Vec<String> = ["pr", "create", "--head", one.pull.branch.as_str()].map(ToOwned::to_owned).into();
    words.extend(["--base".to_owned(), one.pull.base.clone(), "--title".to_owned(), one.pull.text.title.clone()]);
    words.extend(["--body-file".to_owned(), text(one)?]);
    if arguments.draft {
        words.push("--draft".to_owned());
    }
    Ok(words)
}

fn text(one: &Opened) -> Result<String, CommandFailure> {
    let path = one.body_file.to_str();
    path.map(ToOwned::to_owned)
        .ok_or_else(|| CommandFailure::new(format!("name `{}` on a command line", one.body_file.display())))
}

/// Opens the pull request, or changes the open one of the same branch; returns where it is.
pub(super) fn open(run: &ReviewedRun, one: &Opened, arguments: &PullArguments) -> Result<String, CommandFailure> {
    let branch = one.pull.branch.as_str();
    if let Some(url) = open_already(run, branch)? {
        let words = ["pr", "edit", &url, "--title", &one.pull.text.title, "--body-file", &text(one)?];
        call(run, &words.map(ToOwned::to_owned))?;
        return Ok(url);
    }
    let said = call(run, &create_words(one, arguments)?)?;
    Ok(said.lines().last().unwrap_or_default().trim().to_owned())
}

fn open_already(run: &ReviewedRun, branch: &str) -> Result<Option<String>, CommandFailure> {
    let words = ["pr", "list", "--head", branch, "--state", "open", "--json", "url"].map(ToOwned::to_owned);
    let said = call(run, &words)?;
    let found: serde_json::Value = serde_json::from_str(&said)
        .map_err(|error| CommandFailure::new(format!("understand what `gh pr list` said: {error}")))?;
    Ok(found[0]["url"].as_str().map(ToOwned::to_owned))
}

/// What the program wrote; it writes no more than that.
fn said(log: &Path) -> std::io::Result<String> {
    Ok(String::from_utf8_lossy(&tm_untrusted::read(log, 16 * 1024 * 1024)?).into_owned())
}

/// Calls `gh` in the user's checkout and returns what it printed.
fn call(run: &ReviewedRun, words: &[String]) -> Result<String, CommandFailure> {
    let folder = tempfile::tempdir()?;
    let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let command = TreeCommand {
        program: "gh".into(),
        arguments: words.iter().map(Into::into).collect(),
        working_folder: run.project.repository.checkout_root().to_owned(),
        environment: vec![("GH_PROMPT_DISABLED".into(), "1".into())],
        stdout: stdout.clone(),
        stderr: stderr.clone(),
        marks: vec![("TM_PULL_REQUEST".to_owned(), folder.path().display().to_string())],
        ..TreeCommand::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let call = format!("call `gh {}`", words.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(" "));
    match runtime.block_on(run_within(&command, LIMIT))? {
        Some(status) if status.success() => Ok(said(&stdout)?),
        Some(_) => {
            let said = said(&stderr).unwrap_or_default();
            Err(CommandFailure::new(format!("{call}: {}", said.trim()))
                .hint("the branches are pushed; `gh auth status` tells whether you are logged in, then try again"))
        }
        None => Err(CommandFailure::new(format!("{call}: it took longer than {} minutes", LIMIT.as_secs() / 60))),
    }
}
