//! `tm init`: a backlog, and settings with what was found of the project; nothing that is there is touched.

use crate::display::print_line;
use crate::failure::CommandFailure;
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

pub(crate) fn init(start: &Path) -> Result<u8, CommandFailure> {
    let (root, has_commits) = root_of(start)?;
    let proposal = propose(&root);
    tell(&proposal);
    match BacklogSource::find(&root) {
        Ok(source) => print_line(&format!(
            "there is a backlog already: {}",
            source.path().display()
        )),
        Err(_) => make(&root.join("backlog.yaml"), BACKLOG)?,
    }
    make(
        &root.join(".taskmaster/tm.yaml"),
        &settings(&proposal, &root),
    )?;
    if !has_commits {
        print_line(
            "next: `git add --all` and `git commit`, since work starts from a commit; then fill in the backlog",
        );
        return Ok(0);
    }
    print_line("next: fill in the backlog, then `tm doctor` and `tm waves plan`");
    Ok(0)
}

/// The top of the checkout, and whether anything is committed there.
fn root_of(start: &Path) -> Result<(PathBuf, bool), CommandFailure> {
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
        let missing = if which::which(program).is_ok() {
            ""
        } else {
            "; its program is not in your search path"
        };
        print_line(&format!("found {name} ({file}){missing}"));
    }
    match &proposal.tests {
        Some((command, because)) => print_line(&format!("found tests: {command} ({because})")),
        None => {
            print_line(
                "found no tests: set `test.command`, without which only `--tdd off --allow-broken-base` can run",
            );
        }
    }
}

/// The settings that the project needs, each with why, and with what else there is as comments.
fn settings(proposal: &Proposal, root: &Path) -> String {
    let mut text = HEAD.to_owned();
    match &proposal.tests {
        Some((command, because)) => {
            let _ = write!(
                text,
                "\n# Found by {because}.\ntest:\n  command: {}\n",
                quoted(command)
            );
            if let Some(results) = &proposal.results {
                let _ = writeln!(text, "  results: {}", quoted(results));
            }
        }
        None => text.push_str(
            "\n# Nothing tells how the tests are run.\n# test: { command: \"make test\" }\n",
        ),
    }
    text.push_str(&worktree(proposal, root));
    text + "\n" + TAIL
}

fn worktree(proposal: &Proposal, root: &Path) -> String {
    let (setup, cache) = (proposal.setup(), proposal.cache());
    let mut text = String::new();
    if !setup.is_empty() {
        let files: Vec<&str> = proposal
            .found
            .iter()
            .map(|tool| tool.file.as_str())
            .collect();
        let _ = writeln!(
            text,
            "  # Run in each worktree before its first use, and again where {} differs.",
            files.join(", ")
        );
        text.push_str("  setup:\n");
        for command in &setup {
            let _ = writeln!(text, "    - {}", quoted(command));
        }
    }
    if !cache.is_empty() {
        text.push_str(
            "  # Stays in a worktree from one task to the next, so that only what changed is built again. Tests may write\n  \
             # there, agents too in theirs: without it everything is built anew each time.\n",
        );
        let _ = writeln!(
            text,
            "  cache: [{}]",
            cache
                .iter()
                .map(|path| quoted(path))
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    let copy: Vec<&&str> = proposal
        .copy
        .iter()
        .filter(|name| !is_tracked(root, name))
        .collect();
    if !copy.is_empty() {
        text.push_str("  # Ignored files of your checkout that each worktree gets a copy of.\n");
        let _ = writeln!(
            text,
            "  copy: [{}]",
            copy.iter()
                .map(|path| quoted(path))
                .collect::<Vec<_>>()
                .join(", ")
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
    serde_json::Value::from(text).to_string()
}

fn make(path: &Path, text: &str) -> Result<(), CommandFailure> {
    if path.exists() {
        print_line(&format!("{} is there already", path.display()));
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    tm_store::atomic::replace(path, text.as_bytes())?;
    print_line(&format!("made {}", path.display()));
    Ok(())
}
