//! `tm pr`: pushes the work of a run and opens pull requests with `gh`, or prints the commands that do.

use super::landing::tell_doubted;
use crate::arguments::PullArguments;
use crate::ask::allowed;
use crate::display::{print_data, print_json, print_line};
use crate::failure::CommandFailure;
use crate::project::open;
use serde_json::{Value, json};
use std::path::Path;
use tm_app::{Error, Per, PullOrder, PullRequest, PullRequests, Rejected};

pub(crate) async fn pull(start: &Path, arguments: &PullArguments) -> Result<u8, CommandFailure> {
    let order = PullOrder {
        run: arguments.run.clone(),
        per: if arguments.per_task {
            Per::Task
        } else {
            Per::Run
        },
        base: arguments.base.clone(),
        remote: arguments.remote.clone(),
        draft: arguments.draft,
        rejected: if arguments.with_rejected {
            Rejected::Included
        } else {
            Rejected::LeftOut
        },
    };
    let mut pulls = PullRequests::of(open(start, Vec::new())?, order)?;
    tell_doubted(&pulls.run);
    if !pulls.left_out.is_empty() {
        print_line(&format!(
            "left out, since they hold what the review rejected: {}",
            pulls.left_out.join(", ")
        ));
    }
    if pulls.all.is_empty() {
        return Err(Error::NothingToPass.into());
    }
    let can_be_opened = PullRequests::can_be_opened();
    if arguments.dry_run || !can_be_opened {
        for command in pulls.commands()?.iter().filter(|_| !arguments.json) {
            print_data(&format!("{}\n", shell_words::join(command)));
        }
    } else if is_wanted(&pulls, arguments)? {
        let told = pulls.open(|one| {
            if !arguments.json {
                print_data(&format!(
                    "{}  {}\n",
                    one.branch,
                    one.url.as_deref().unwrap_or_default()
                ));
            }
        });
        told.await?;
    } else {
        print_line("nothing was pushed");
        return Ok(0);
    }
    if arguments.json {
        print_json(&document(&pulls))?;
    }
    if !can_be_opened && !arguments.dry_run {
        print_line("`gh` is not on PATH, so nothing was pushed; the commands above do it");
    }
    Ok(0)
}

fn is_wanted(pulls: &PullRequests, arguments: &PullArguments) -> Result<bool, CommandFailure> {
    let hint = "`--yes` pushes without asking, `--dry-run` shows what would be done";
    allowed(arguments.yes, "push", hint, || {
        for one in &pulls.all {
            print_line(&format!(
                "{} → {}: {}",
                one.branch, one.base, one.text.title
            ));
        }
        format!(
            "Push {} branch(es) to `{}` and open a pull request for each?",
            pulls.all.len(),
            pulls.remote
        )
    })
}

/// The pull requests for programs.
fn document(pulls: &PullRequests) -> Value {
    let row = |one: &PullRequest| {
        json!({"branch": one.branch, "base": one.base, "tasks": one.tasks, "title": one.text.title,
               "body_file": one.body_file, "url": one.url})
    };
    let rows: Vec<Value> = pulls.all.iter().map(row).collect();
    let run = &pulls.run.summary.run_id;
    json!({"version": 1, "run_id": run, "remote": pulls.remote, "pull_requests": rows})
}
