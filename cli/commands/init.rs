//! `tm init`: a backlog, and settings with what was found of the project; nothing that is there is touched.

use super::Perform;
use super::demo::write;
use crate::failure::{CommandFailure, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tm_executors::tools::{FoundTool, Proposal, propose};
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

const HEAD: &str = "\
# Settings of this project; `tm config show` prints all of them with where each comes from.
";

const TAIL: &str = "\
# waves: { max_parallel: 5 }
# agent: { default: claude } # or codex, gemini, opencode, custom
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
    let tests = match &proposal.tests {
        Some((command, because)) => {
            let results = proposal.results.as_deref();
            let results = results.map(|results| format!("  results: {}\n", quoted(results)));
            format!(
                "# Found by {because}.\ntest:\n  command: {}\n{}",
                quoted(command),
                results.unwrap_or_default()
            )
        }
        None => "# Nothing tells how the tests are run.\n# test: { command: \"make test\" }\n"
            .to_owned(),
    };
    format!("{HEAD}\n{tests}{}\n{TAIL}", worktree(proposal, root))
}

fn worktree(proposal: &Proposal, root: &Path) -> String {
    let (setup, cache) = (proposal.setup(), proposal.cache());
    let mut text = String::new();
    if !setup.is_empty() {
        let files = proposal.found.iter().map(|tool| &tool.file).join(", ");
        let commands = setup
            .iter()
            .map(|command| format!("    - {}\n", quoted(command)));
        let _ = write!(
            text,
            "  # Run in each worktree before its first use, and again where {files} differs.\n  setup:\n{}",
            commands.format("")
        );
    }
    if !cache.is_empty() {
        let _ = write!(
            text,
            "  # Stays in a worktree from one task to the next, so that only what changed is built again. Tests may write\n  \
             # there, agents too in theirs: without it everything is built anew each time.\n  cache: [{}]\n",
            cache.iter().map(|path| quoted(path)).format(", ")
        );
    }
    let copy = proposal.copy.iter().filter(|name| !is_tracked(root, name));
    let copy = copy.map(|name| quoted(name)).join(", ");
    if !copy.is_empty() {
        let _ = write!(
            text,
            "  # Ignored files of your checkout that each worktree gets a copy of.\n  copy: [{copy}]\n"
        );
    }
    if text.is_empty() {
        text
    } else {
        format!("\nworktree:\n{text}")
    }
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
