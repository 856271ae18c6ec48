//! Calls `gh`: opens a pull request, or brings the one that is open already up to date.

use super::PullRequest;
use crate::error::Error;
use crate::review::ReviewedRun;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};

/// How long one call may take.
const LIMIT: Duration = Duration::from_mins(2);

/// Returns the arguments that open a pull request.
pub(super) fn create_words(one: &PullRequest, draft: bool) -> Result<Vec<String>, Error> {
    let mut words: Vec<String> = ["pr", "create", "--head", one.branch.as_str()]
        .map(ToOwned::to_owned)
        .into();
    words.extend([
        "--base".to_owned(),
        one.base.clone(),
        "--title".to_owned(),
        one.text.title.clone(),
    ]);
    words.extend(["--body-file".to_owned(), text(one)?]);
    if draft {
        words.push("--draft".to_owned());
    }
    Ok(words)
}

fn text(one: &PullRequest) -> Result<String, Error> {
    let path = one.body_file.to_str();
    path.map(ToOwned::to_owned)
        .ok_or_else(|| Error::UnnameablePath(one.body_file.clone()))
}

/// Opens the pull request, or changes the open one of the same branch; returns where it is.
pub(super) async fn open(
    run: &ReviewedRun,
    one: &PullRequest,
    draft: bool,
) -> Result<String, Error> {
    let branch = one.branch.as_str();
    if let Some(url) = open_already(run, branch).await? {
        let words = [
            "pr",
            "edit",
            &url,
            "--title",
            &one.text.title,
            "--body-file",
            &text(one)?,
        ];
        call(run, &words.map(ToOwned::to_owned)).await?;
        return Ok(url);
    }
    let said = call(run, &create_words(one, draft)?).await?;
    Ok(said.lines().last().unwrap_or_default().trim().to_owned())
}

async fn open_already(run: &ReviewedRun, branch: &str) -> Result<Option<String>, Error> {
    let words = [
        "pr", "list", "--head", branch, "--state", "open", "--json", "url",
    ]
    .map(ToOwned::to_owned);
    let said = call(run, &words).await?;
    let found: serde_json::Value = serde_json::from_str(&said).map_err(|error| Error::Hub {
        call: "pr list".to_owned(),
        why: error.to_string(),
    })?;
    Ok(found[0]["url"].as_str().map(ToOwned::to_owned))
}

/// Calls `gh` in the user's checkout and returns what it printed.
async fn call(run: &ReviewedRun, words: &[String]) -> Result<String, Error> {
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
    let call = words
        .iter()
        .take(2)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ");
    let why = match answer.status {
        Some(_) => answer.stderr.trim().to_owned(),
        None => format!("it took longer than {} minutes", LIMIT.as_secs() / 60),
    };
    Err(Error::Hub { call, why })
}
