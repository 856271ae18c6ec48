//! Calls `gh`: opens a pull request, or brings the one that is open already up to date.

use super::{PullOrder, PullRequest};
use crate::error::Error;
use crate::review::ReviewedRun;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};

/// How long one call may take.
const LIMIT: Duration = Duration::from_mins(2);

/// Returns the arguments that open a pull request.
pub(super) fn create_words<'a>(
    one: &'a PullRequest,
    order: &PullOrder,
) -> Result<Vec<&'a str>, Error> {
    let mut words = vec!["pr", "create", "--head", one.branch.as_str()];
    words.extend(["--base", &one.base, "--title", &one.text.title]);
    words.extend(["--body-file", text(one)?]);
    words.extend(order.draft.then_some("--draft"));
    Ok(words)
}

fn text(one: &PullRequest) -> Result<&str, Error> {
    let path = one.body_file.to_str();
    path.ok_or_else(|| Error::UnnameablePath(one.body_file.clone()))
}

/// Opens the pull request, or changes the open one of the same branch; returns where it is.
pub(super) async fn open(
    run: &ReviewedRun,
    one: &PullRequest,
    order: &PullOrder,
) -> Result<String, Error> {
    if let Some(url) = open_already(run, one.branch.as_str()).await? {
        let words = ["pr", "edit", &url, "--title", &one.text.title];
        call(run, &[&words[..], &["--body-file", text(one)?]].concat()).await?;
        return Ok(url);
    }
    let said = call(run, &create_words(one, order)?).await?;
    Ok(said.lines().last().unwrap_or_default().trim().to_owned())
}

async fn open_already(run: &ReviewedRun, branch: &str) -> Result<Option<String>, Error> {
    let words = [
        "pr", "list", "--head", branch, "--state", "open", "--json", "url",
    ];
    let said = call(run, &words).await?;
    let found: serde_json::Value = serde_json::from_str(&said).map_err(|error| Error::Hub {
        call: "pr list".to_owned(),
        why: error.to_string(),
    })?;
    Ok(found[0]["url"].as_str().map(ToOwned::to_owned))
}

/// Calls `gh` in the user's checkout and returns what it printed.
async fn call(run: &ReviewedRun, words: &[&str]) -> Result<String, Error> {
    let command = TreeCommand {
        program: "gh".into(),
        arguments: words.iter().map(Into::into).collect(),
        working_folder: run.project.repository.checkout_root().to_owned(),
        environment: vec![("GH_PROMPT_DISABLED".into(), "1".into())],
        ..TreeCommand::default()
    };
    let answer = run_captured(command, LIMIT).await?;
    if answer.has_succeeded() {
        return Ok(answer.stdout);
    }
    let why = match answer.status {
        Some(_) => answer.stderr.trim().to_owned(),
        None => format!("it took longer than {} minutes", LIMIT.as_secs() / 60),
    };
    let call = words[..2].join(" ");
    Err(Error::Hub { call, why })
}
