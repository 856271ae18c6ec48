//! `tm show` and `tm next`: tasks with all that the backlog says of them.

use super::concurrent_writers::ConcurrentWriters;
use super::{ids, normalised, options, print_json, source, statuses, told, warn};
use crate::arguments::{NextArguments, OutputArgument, ShowArguments};
use crate::display::print_data;
use crate::failure::{CommandFailure, ExitCode};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_runtime::now;
use tm_scheduler::{Candidates, Status, Task, TaskId};
use tm_store::backlog::{Backlog, RollUp, StatusChange, stamp};

pub(crate) fn show(start: &Path, arguments: &ShowArguments) -> Result<u8, CommandFailure> {
    let output = arguments.output.chosen();
    let asked = ids(&arguments.ids, &arguments.id)?;
    let filter = statuses(&arguments.status)?;
    let source = source(start, &arguments.choice)?;
    let (backlog, entries) = source.read_entries(&options(&arguments.choice))?;
    let found: Vec<(&Task, Value)> = asked
        .iter()
        .filter_map(|id| find(&backlog, &entries, id))
        .collect();
    let is_found = |id: &&String| {
        !found
            .iter()
            .any(|(task, _)| task.id.as_str() == id.as_str())
    };
    let not_found: Vec<&String> = asked.iter().filter(is_found).collect();
    match output {
        None => {}
        Some(OutputArgument::Json) if asked.len() == 1 => {
            let task = found.first().map(|(_, entry)| entry);
            print_json(&json!({"task": task, "found": task.is_some(), "storageType": "file"}))?;
        }
        Some(OutputArgument::Json) => {
            let tasks: Vec<&Value> = found.iter().map(|(_, entry)| entry).collect();
            print_json(&json!({"tasks": tasks, "notFound": not_found, "storageType": "file"}))?;
        }
        Some(OutputArgument::Text | OutputArgument::Compact) => {
            let texts: Vec<String> = found.iter().map(|(task, _)| text(task, &filter)).collect();
            print_data(&texts.join("\n"));
        }
    }
    if not_found.is_empty() {
        return Ok(0);
    }
    let words: Vec<String> = not_found.iter().map(|id| format!("`{id}`")).collect();
    let what = format!(
        "find {} in `{}`, tag `{}`",
        words.join(", "),
        source.path().display(),
        backlog.tag
    );
    Err(CommandFailure::new(what).hint("`tm list --with-subtasks` lists the ids"))
}

/// Finds a task or subtask, with what its file holds.
fn find<'b>(backlog: &'b Backlog, entries: &[Value], id: &str) -> Option<(&'b Task, Value)> {
    let id = TaskId::from(id);
    for (task, entry) in backlog.tasks.iter().zip(entries) {
        if task.id == id {
            return Some((task, entry.clone()));
        }
        let Some(place) = task.subtasks.iter().position(|subtask| subtask.id == id) else {
            continue;
        };
        let mut listed = entry["subtasks"]
            .as_array()?
            .iter()
            .filter(|entry| !entry["id"].is_null());
        return Some((
            &task.subtasks[place],
            listed.nth(place).cloned().unwrap_or_default(),
        ));
    }
    None
}

fn text(task: &Task, filter: &[Status]) -> String {
    let dependencies: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
    let waits = if dependencies.is_empty() {
        String::new()
    } else {
        format!(", depends on {}", dependencies.join(", "))
    };
    let mut lines = vec![
        format!("{}  {}", task.id, task.title),
        format!(
            "status {}, priority {}{waits}",
            task.status,
            task.priority.as_str()
        ),
    ];
    for (name, body) in [
        ("", &task.description),
        ("Details:", &task.details),
        ("Test strategy:", &task.test_strategy),
    ] {
        if !body.trim().is_empty() {
            let named = if name.is_empty() {
                String::new()
            } else {
                format!("{name}\n")
            };
            lines.push(format!("\n{named}{}", body.trim_end()));
        }
    }
    let is_shown = |subtask: &&Task| filter.is_empty() || filter.contains(&subtask.status);
    let shown: Vec<&Task> = task.subtasks.iter().filter(is_shown).collect();
    if !shown.is_empty() {
        lines.push("\nSubtasks:".to_owned());
        lines.extend(
            shown
                .iter()
                .map(|one| format!("  {:8} {:12} {}", one.id, one.status, one.title)),
        );
    }
    format!("{}\n", lines.join("\n"))
}

pub(crate) fn next(start: &Path, arguments: &NextArguments) -> Result<u8, CommandFailure> {
    let output = arguments.output.chosen();
    let chosen = choose(start, arguments).map_err(|failure| told(output, failure))?;
    warn(&chosen.backlog);
    let found = chosen
        .id
        .as_ref()
        .and_then(|id| find(&chosen.backlog, &chosen.entries, id.as_str()));
    match output {
        None => {}
        Some(OutputArgument::Json) => {
            let task = found.map(|(task, entry)| normalised(task, entry));
            print_json(
                &json!({"task": task, "found": task.is_some(), "tag": chosen.backlog.tag, "storageType": "file",
                               "hasAnyTasks": !chosen.backlog.tasks.is_empty()}),
            )?;
        }
        Some(OutputArgument::Text | OutputArgument::Compact) => match found {
            Some((task, _)) => print_data(&text(task, &[])),
            None => print_data("no task can be worked on now\n"),
        },
    }
    Ok(0)
}

struct Chosen {
    id: Option<TaskId>,
    backlog: Backlog,
    entries: Vec<Value>,
}

fn choose(start: &Path, arguments: &NextArguments) -> Result<Chosen, CommandFailure> {
    let source = source(start, &arguments.choice)?;
    let options = options(&arguments.choice);
    let mut claimed = None;
    if arguments.claim {
        let chosen = RefCell::new(None);
        let claim = |backlog: &Backlog| {
            let id = tm_scheduler::next(&backlog.tasks, Candidates::Unclaimed)
                .map(|task| task.id.clone());
            chosen.replace(id.clone());
            id.map(|id| StatusChange {
                id,
                status: Status::InProgress,
            })
            .into_iter()
            .collect()
        };
        let (moment, writers) = (stamp(now()), ConcurrentWriters::of(source.path()));
        let written = source.choose_statuses(&options, claim, RollUp::Parents, Some(&moment))?;
        writers.wait_and_restore(&source, &options, &written, &moment)?;
        claimed = chosen.into_inner();
    }
    let (backlog, entries) = source.read_entries(&options)?;
    let id = match (arguments.claim, claimed) {
        (true, claimed) => claimed,
        (false, _) => {
            tm_scheduler::next(&backlog.tasks, Candidates::Open).map(|task| task.id.clone())
        }
    };
    if let Some(id) = &id
        && find(&backlog, &entries, id.as_str()).is_none()
    {
        return Err(
            CommandFailure::new(format!("find `{id}` again: it was removed meanwhile"))
                .code(ExitCode::Error),
        );
    }
    Ok(Chosen {
        id,
        backlog,
        entries,
    })
}
