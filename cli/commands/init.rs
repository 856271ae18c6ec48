//! `tm init`: a backlog, and settings with what was found of the project; nothing that is there is touched.

use super::Perform;
use super::demo::write;
use crate::failure::{CommandFailure, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::path::{Path, PathBuf};
use tm_executors::tools::{FoundTool, Proposal, propose};
use tm_reports::laid_out;
use tm_store::backlog::BacklogSource;
use tm_worktrees::{Error, Repository, checkout_root_around};

const BACKLOG: &str = "\
# The backlog. Statuses are written by tm; everything else is yours.
tasks:
  - id: 1
    title: Say what the first task is
    description: A sentence or two on what is to be done, and how one sees that it is.
    status: deferred # pending, when it may be worked on
    priority: medium # low, medium, high, critical
    dependencies: []
";

/// `tm init`.
#[derive(Args)]
pub(crate) struct Init {}

impl Perform for Init {
    async fn perform(self, start: &Path) -> Result {
        let (root, has_commits) = root_of(start)?;
        let proposal = propose(&root);
        tell(&proposal);
        match BacklogSource::find(&root) {
            Ok(source) => say!("there is a backlog already: {}", source.path().display()),
            Err(_) => make(&root.join("backlog.yaml"), BACKLOG)?,
        }
        make(
            &root.join(".taskmaster/tm.yaml"),
            &settings(&proposal, &root),
        )?;
        if has_commits {
            say!("next: fill in the backlog, then `tm doctor` and `tm waves plan`");
        } else {
            say!(
                "next: `git add --all` and `git commit`, since work starts from a commit; then fill in the backlog"
            );
        }
        Ok(0)
    }
}

/// The top of the checkout, and whether anything is committed there.
fn root_of(start: &Path) -> Result<(PathBuf, bool)> {
    match Repository::discover(start) {
        Ok(repository) => Ok((repository.checkout_root().to_owned(), true)),
        Err(error @ Error::NoCommits { .. }) => {
            let root = checkout_root_around(start).ok_or_else(|| CommandFailure::from(error))?;
            Ok((root, false))
        }
        Err(error) => Err(CommandFailure::from(error).hint("run `git init`, then `tm init`")),
    }
}

/// Says what was found.
fn tell(proposal: &Proposal) {
    for FoundTool {
        name,
        file,
        program,
        ..
    } in &proposal.found
    {
        let is_there = which::which(program).is_ok();
        let missing = if is_there {
            ""
        } else {
            "; its program is not in your search path"
        };
        say!("found {name} ({file}){missing}");
    }
    match &proposal.tests {
        Some((command, because)) => say!("found tests: {command} ({because})"),
        None => say!(
            "found no tests: set `test.command`, without which only `--tdd off --allow-broken-base` can run"
        ),
    }
}

/// The settings that the project needs, each with why, and with what else there is as comments.
fn settings(proposal: &Proposal, root: &Path) -> String {
    let tests = proposal.tests.as_ref();
    let (command, because) = tests
        .map(|(command, because)| (quoted(command), because))
        .unzip();
    let copy = proposal.copy.iter().filter(|name| !is_tracked(root, name));
    let mut files = proposal.found.iter().map(|tool| &tool.file);
    let said = json!({
        "command": command,
        "because": because,
        "results": proposal.results.as_deref().map(quoted),
        "setup": all_quoted(proposal.setup()),
        "files": files.join(", "),
        "cache": all_quoted(proposal.cache()),
        "copy": all_quoted(copy),
    });
    laid_out("settings.txt", &said)
}

fn all_quoted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    texts
        .into_iter()
        .map(|text| quoted(text.as_ref()))
        .collect()
}

/// A file that is committed is there anyway.
fn is_tracked(root: &Path, name: &str) -> bool {
    Repository::discover(root)
        .and_then(|repository| repository.ignored_paths(&[format!("/{name}")]))
        .is_ok_and(|ignored| ignored.is_empty())
}

/// A text as YAML takes it whatever is in it: JSON is YAML.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn make(path: &Path, text: &str) -> Result<()> {
    let place = path.display();
    if path.exists() {
        say!("{place} is there already");
        return Ok(());
    }
    write(path, text)?;
    say!("made {place}");
    Ok(())
}
