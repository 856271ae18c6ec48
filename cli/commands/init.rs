//! `tm init`: a backlog, and settings with what was found of the project; nothing that is there is touched.

use super::Perform;
use super::agents::{load, versions};
use super::demo::write;
use crate::ask;
use crate::failure::{CommandFailure, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::path::{Path, PathBuf};
use tm_config::Loaded;
use tm_executors::tools::{FoundTool, Proposal, propose};
use tm_presets::recipe_names;
use tm_reports::laid_out;
use tm_store::backlog::BacklogSource;
use tm_worktrees::{Error, Repository, checkout_root_around};

/// `tm init`.
#[derive(Args)]
pub(crate) struct Init {
    /// Ask nothing and write what was found, as where no terminal is.
    #[arg(long, short)]
    yes: bool,
}

/// What the files are made with.
struct Answers {
    proposal: Proposal,
    /// The set-up commands.
    setup: Vec<String>,
    /// The agent; none where the settings' own is not here.
    agent: Option<String>,
}

impl Perform for Init {
    async fn perform(self, start: &Path) -> Result {
        let (root, has_commits) = root_of(start)?;
        let is_asked = !self.yes && ask::is_answered();
        let backlog = BacklogSource::find(&root);
        let settings = root.join(".taskmaster/tm.yaml");
        let proposal = propose(&root);
        tell(&proposal);
        if settings.exists() {
            say!("{} is there already", settings.display());
        } else {
            let found = found(proposal, &load(&root)?, &root).await?;
            let answers = if is_asked {
                answered(found, &root)?
            } else {
                found
            };
            make(&settings, &answers.text(&root))?;
        }
        let mut next = Vec::new();
        if let Ok(source) = backlog {
            say!("there is a backlog already: {}", source.path().display());
        } else if !begin_backlog(&root.join("backlog.yaml"), is_asked)? {
            next.push("`tm add-task --title TITLE`");
        }
        if !has_commits {
            next.push("`git add --all && git commit --message Start` (work starts from a commit)");
        }
        next.extend(["`tm doctor`", "`tm waves plan`"]);
        say!("next: {}", next.join(", "));
        Ok(0)
    }
}

/// Makes a backlog; tells whether it has a task.
fn begin_backlog(path: &Path, is_asked: bool) -> Result<bool> {
    let mut title = String::new();
    if is_asked {
        title = ask::line("the first task, in a few words", "")?;
    }
    let title = Some(title).filter(|title| !title.is_empty());
    let said = json!({"title": title.as_deref().map(quoted)});
    make(path, &laid_out("backlog.txt", &said))?;
    Ok(title.is_some())
}

/// What is found, and which agent of those that are here; says so.
async fn found(proposal: Proposal, loaded: &Loaded, root: &Path) -> Result<Answers> {
    let chosen = loaded.settings.agent.for_phase("none");
    let mut here = versions(loaded, root).await?;
    here.retain(|probe| probe.is_here() && probe.agent != "replay");
    let names = here.iter().map(|probe| probe.agent.as_str()).collect_vec();
    let agent = names
        .iter()
        .find(|name| **name == chosen)
        .or_else(|| names.first())
        .map(|name| (*name).to_owned());
    match &agent {
        Some(_) => say!("found agents: {}", names.join(", ")),
        None => say!("found no agent that tm knows: `tm agents list` names them"),
    }
    Ok(Answers {
        setup: proposal.setup(),
        proposal,
        agent,
    })
}

/// What is found, as whoever is asked wants it.
fn answered(found: Answers, root: &Path) -> Result<Answers> {
    let mut answers = found;
    say!("Enter takes what stands in brackets, - means none");
    let tests = answers.proposal.tests.take();
    let (command, because) = tests.unwrap_or_default();
    let typed = ask::line("command of the tests", &command)?;
    let because = if typed == command {
        because
    } else {
        "whoever was asked".to_owned()
    };
    answers.proposal.tests = (!typed.is_empty()).then_some((typed, because));
    let setup = answers.setup.join(" && ");
    let typed = ask::line("command that makes a new worktree ready", &setup)?;
    if typed != setup {
        answers.setup = Some(typed)
            .into_iter()
            .filter(|typed| !typed.is_empty())
            .collect();
    }
    let known = recipe_names(&load(root)?.settings);
    let proposed = answers.agent.take().unwrap_or_default();
    while answers.agent.is_none() {
        let typed = ask::line("agent", &proposed)?;
        if typed.is_empty() {
            break;
        }
        if known.contains(&typed) {
            answers.agent = Some(typed);
        } else {
            say!("tm knows {}", known.iter().join(", "));
        }
    }
    Ok(answers)
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

impl Answers {
    /// Returns the settings that the project needs, each with why, and with what else there is as comments.
    fn text(&self, root: &Path) -> String {
        let proposal = &self.proposal;
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
            "setup": all_quoted(&self.setup),
            "files": files.join(", "),
            "cache": all_quoted(proposal.cache()),
            "copy": all_quoted(copy),
            "agent": self.agent.as_deref().map(quoted),
        });
        laid_out("settings.txt", &said)
    }
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
