//! `tm pr`: pushes the work of a run and opens pull requests with `gh`, or prints the commands that do.

mod hub;
mod plan;

use super::committing::Statuses;
use super::doubted::refuse_doubted;
use super::landing::{Asking, refuse_live, refuse_rejected, tell_doubted};
use super::review::ReviewedRun;
use crate::arguments::PullArguments;
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use plan::{PullRequest, Rejected};
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use tm_store::run::safe_name;
use tm_worktrees::BranchName;

/// A pull request with the file that holds its body, and where it is once it is there.
#[derive(Debug)]
struct Opened {
    pull: PullRequest,
    body_file: PathBuf,
    url: Option<String>,
}

pub(crate) fn pull(start: &Path, arguments: &PullArguments) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    refuse_live(&project, "open pull requests for")?;
    let run = ReviewedRun::open(project, arguments.run.as_deref())?;
    refuse_doubted(&run.summary)?;
    if !arguments.with_rejected && !arguments.per_task {
        refuse_rejected(&run, &BranchName::new(&run.summary.integration_branch)?)?;
    }
    tell_doubted(&run);
    let remote = remote(&run, arguments)?;
    let base = base(&run, arguments)?;
    let rejected = if arguments.with_rejected { Rejected::Included } else { Rejected::LeftOut };
    let planned = if arguments.per_task { plan::per_task(&run, &base, rejected)? } else { plan::of_run(&run, &base)? };
    tell_left_out(&run, &planned, arguments)?;
    if planned.is_empty() {
        return Err(CommandFailure::new("open a pull request: nothing of that run can be passed on")
            .hint("`tm waves report` says what became of its tasks, `tm review --json` what was rejected"));
    }
    let mut opened = with_bodies(&run, planned)?;
    let program = hub::find();
    let only_print = arguments.dry_run || program.is_none();
    if only_print {
        print_commands(&opened, &remote, arguments)?;
    } else if confirmed(&opened, &remote, arguments)? {
        if !arguments.per_task {
            Statuses::of(&run.project, &run.replayed.header).commit_on_branch(&run.replayed.scheduler)?;
        }
        push(&run, &opened, &remote)?;
        for one in &mut opened {
            one.url = Some(hub::open(&run, one, arguments)?);
            if !arguments.json {
                print_data(&format!("{}  {}\n", one.pull.branch, one.url.as_deref().unwrap_or_default()));
            }
        }
    } else {
        print_line("nothing was pushed");
        return Ok(0);
    }
    if arguments.json {
        print_json(&run, &opened, &remote)?;
    }
    if program.is_none() && !arguments.dry_run {
        print_line("`gh` is not on PATH, so nothing was pushed; the commands above do it");
    }
    Ok(0)
}

/// With one a task, what holds rejected work is left out.
fn tell_left_out(run: &ReviewedRun, planned: &[PullRequest], arguments: &PullArguments) -> Result<(), CommandFailure> {
    if !arguments.per_task {
        return Ok(());
    }
    let is_planned = |id: &String| planned.iter().any(|pull| pull.tasks.contains(id));
    let all = run.branches()?.into_iter().map(|branch| branch.task.id);
    let left_out: Vec<String> = all.filter(|id| !is_planned(id)).collect();
    if !left_out.is_empty() {
        print_line(&format!("left out, since they hold what the review rejected: {}", left_out.join(", ")));
    }
    Ok(())
}

fn remote(run: &ReviewedRun, arguments: &PullArguments) -> Result<String, CommandFailure> {
    let none =
        || CommandFailure::new("find a remote to push to").hint("`git remote add origin URL`, or `--remote NAME`");
    match &arguments.remote {
        Some(name) if run.project.repository.has_remote(name)? => Ok(name.clone()),
        Some(name) => Err(CommandFailure::new(format!("find the remote `{name}`")).hint("`git remote` lists them")),
        None => run.project.repository.remote()?.ok_or_else(none),
    }
}

fn base(run: &ReviewedRun, arguments: &PullArguments) -> Result<String, CommandFailure> {
    if let Some(base) = &arguments.base {
        return Ok(BranchName::new(base)?.to_string());
    }
    let default = run.project.repository.default_branch()?;
    default.ok_or_else(|| CommandFailure::new("find the default branch").hint("`--base BRANCH` names it"))
}

/// Bodies go into files: they can be longer than a command line, and may be changed before they are sent.
fn with_bodies(run: &ReviewedRun, planned: Vec<PullRequest>) -> Result<Vec<Opened>, CommandFailure> {
    let folder = run.directory.path().join("pull-requests");
    std::fs::create_dir_all(&folder)?;
    let write = |pull: PullRequest| {
        let name = safe_name(&pull.branch.as_str().into());
        let body_file = folder.join(format!("{name}.md"));
        tm_store::atomic::replace_own(&body_file, tm_untrusted::clean(&pull.text.body).as_bytes())?;
        Ok(Opened { pull, body_file, url: None })
    };
    planned.into_iter().map(write).collect()
}

fn confirmed(opened: &[Opened], remote: &str, arguments: &PullArguments) -> Result<bool, CommandFailure> {
    let asking = if arguments.yes { Asking::Never } else { Asking::AtTheTerminal };
    if asking == Asking::Never {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let failure = CommandFailure::new("ask whether to push: there is no terminal").code(ExitCode::Usage);
        return Err(failure.hint("`--yes` pushes without asking, `--dry-run` shows what would be done"));
    }
    for one in opened {
        print_line(&format!("{} → {}: {}", one.pull.branch, one.pull.base, one.pull.text.title));
    }
    let question = format!("Push {} branch(es) to `{remote}` and open a pull request for each?", opened.len());
    Ok(dialoguer::Confirm::new().with_prompt(question).default(false).interact()?)
}

fn push(run: &ReviewedRun, opened: &[Opened], remote: &str) -> Result<(), CommandFailure> {
    let branches: Vec<BranchName> = opened.iter().map(|one| one.pull.branch.clone()).collect();
    run.project.repository.push(remote, &branches).map_err(|error| {
        CommandFailure::from(error).hint("git says above why; nothing was opened, and nothing is ever forced")
    })
}

fn print_commands(opened: &[Opened], remote: &str, arguments: &PullArguments) -> Result<(), CommandFailure> {
    if arguments.json {
        return Ok(());
    }
    let mut words = vec!["git".to_owned(), "push".to_owned(), "--atomic".to_owned(), remote.to_owned()];
    words.extend(opened.iter().map(|one| one.pull.branch.to_string()));
    print_data(&format!("{}\n", shell_words::join(&words)));
    for one in opened {
        let words = std::iter::once("gh".to_owned()).chain(hub::create_words(one, arguments)?);
        print_data(&format!("{}\n", shell_words::join(words)));
    }
    Ok(())
}

fn print_json(run: &ReviewedRun, opened: &[Opened], remote: &str) -> Result<(), CommandFailure> {
    let rows: Vec<Value> = opened
        .iter()
        .map(|one| {
            json!({"branch": one.pull.branch, "base": one.pull.base, "tasks": one.pull.tasks,
                   "title": one.pull.text.title, "body_file": one.body_file, "url": one.url})
        })
        .collect();
    let document = json!({"version": 1, "run_id": run.summary.run_id, "remote": remote, "pull_requests": rows});
    print_data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    Ok(())
}
