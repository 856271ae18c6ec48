//! `tm show` and `tm next`: tasks with all that the backlog says of them; and `tm set-status`: statuses of several tasks
//! in one step, all or none.

use super::concurrent_writers::ConcurrentWriters;
use super::{
    BacklogChoice, ChosenBacklog, OutputArgument, Perform, ReadingOptions, ids, normalised,
    status_of, statuses, told, warn,
};
use crate::display::{print_data, print_json};
use crate::failure::{ExitCode, Result};
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::Path;
use tm_app::Project;
use tm_runtime::now;
use tm_scheduler::{Candidates, Status, Tag, Task, TaskId};
use tm_store::backlog::{Backlog, RollUp, StatusChange, StatusOutcome, stamp};

/// `tm show`.
#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The tasks, separated by commas; a subtask is `<task>.<n>`.
    #[arg(value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// The tasks, separated by commas.
    #[arg(long, short = 'i', value_name = "ID", value_delimiter = ',')]
    id: Vec<String>,
    /// Only subtasks of these statuses, in text.
    #[arg(long, short = 's', value_name = "STATUS", value_delimiter = ',')]
    status: Vec<String>,
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// The output.
    #[command(flatten)]
    output: ReadingOptions,
}

/// `tm next`.
#[derive(Args)]
pub(crate) struct NextArguments {
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Set it in progress in the same step, so that nobody else gets it; only tasks that nobody has begun are given.
    #[arg(long)]
    claim: bool,
    /// The output.
    #[command(flatten)]
    output: ReadingOptions,
}

impl Perform for ShowArguments {
    async fn perform(self, start: &Path) -> Result {
        let asked = ids(&self.ids, &self.id)?;
        let filter = statuses(&self.status)?;
        let chosen = self.choice.find(start)?;
        let (backlog, entries) = chosen.read_entries()?;
        let find = |id| find(&backlog, &entries, id);
        let found = asked.iter().filter_map(find).collect_vec();
        let not_found = asked.iter().filter(|id| find(id).is_none()).collect_vec();
        match self.output.chosen() {
            None => {}
            Some(OutputArgument::Json) if asked.len() == 1 => {
                let task = found.first().map(|(_, entry)| entry);
                print_json(&json!({"task": task, "found": task.is_some(), "storageType": "file"}))?;
            }
            Some(OutputArgument::Json) => {
                let tasks = found.iter().map(|(_, entry)| entry).collect_vec();
                print_json(&json!({"tasks": tasks, "notFound": not_found, "storageType": "file"}))?;
            }
            Some(OutputArgument::Text | OutputArgument::Compact) => {
                print_data(&found.iter().map(|(task, _)| text(task, &filter)).join("\n"));
            }
        }
        if not_found.is_empty() {
            return Ok(0);
        }
        let (path, tag) = (chosen.source.path().display(), &backlog.tag);
        let ids = not_found.iter().join("`, `");
        Err(failure!("find `{ids}` in `{path}`, tag `{tag}`")
            .hint("`tm list --with-subtasks` lists the ids"))
    }
}

/// Finds a task or subtask, with what its file holds.
fn find<'b>(backlog: &'b Backlog, entries: &[Value], id: &TaskId) -> Option<(&'b Task, Value)> {
    for (task, entry) in backlog.tasks.iter().zip(entries) {
        if task.id == *id {
            return Some((task, entry.clone()));
        }
        let Some(place) = task.subtasks.iter().position(|subtask| subtask.id == *id) else {
            continue;
        };
        let listed = entry["subtasks"].as_array()?.iter();
        let mut listed = listed.filter(|entry| !entry["id"].is_null());
        let entry = listed.nth(place).cloned().unwrap_or_default();
        return Some((&task.subtasks[place], entry));
    }
    None
}

fn text(task: &Task, filter: &[Status]) -> String {
    let Task {
        id,
        title,
        status,
        priority,
        ..
    } = task;
    let waits = match task.dependencies.as_slice() {
        [] => String::new(),
        ids => format!(", depends on {}", ids.iter().join(", ")),
    };
    let mut text = format!("{id}  {title}\nstatus {status}, priority {priority}{waits}\n");
    for (name, body) in [
        ("", &task.description),
        ("Details:\n", &task.details),
        ("Test strategy:\n", &task.test_strategy),
    ] {
        if !body.trim().is_empty() {
            let _ = write!(text, "\n{name}{}\n", body.trim_end());
        }
    }
    let is_shown = |subtask: &&Task| filter.is_empty() || filter.contains(&subtask.status);
    let shown = task.subtasks.iter().filter(is_shown);
    let shown = shown.map(|one| format!("  {:8} {:12} {}\n", one.id, one.status, one.title));
    match shown.collect::<String>() {
        none if none.is_empty() => text,
        shown => text + "\nSubtasks:\n" + &shown,
    }
}

impl Perform for NextArguments {
    async fn perform(self, start: &Path) -> Result {
        let output = self.output.chosen();
        let (backlog, found) = told(output, self.next(start))?;
        warn(&backlog);
        match (output, found) {
            (None, _) => {}
            (Some(OutputArgument::Json), found) => {
                let task = found.map(|(task, entry)| normalised(&task, entry));
                let has_any = !backlog.tasks.is_empty();
                print_json(
                    &json!({"task": task, "found": task.is_some(), "tag": backlog.tag, "storageType": "file",
                                   "hasAnyTasks": has_any}),
                )?;
            }
            (Some(OutputArgument::Text | OutputArgument::Compact), Some((task, _))) => {
                print_data(&text(&task, &[]));
            }
            (Some(OutputArgument::Text | OutputArgument::Compact), None) => {
                data!("no task can be worked on now\n");
            }
        }
        Ok(0)
    }
}

impl NextArguments {
    /// The backlog, and the task to work on next, with what its file holds.
    fn next(&self, start: &Path) -> Result<(Backlog, Option<(Task, Value)>)> {
        let chosen = self.choice.find(start)?;
        let claimed = self.claim.then(|| claim(&chosen)).transpose()?;
        let (backlog, entries) = chosen.read_entries()?;
        let id = claimed.unwrap_or_else(|| id_of_next(&backlog, Candidates::Open));
        let Some(id) = id else {
            return Ok((backlog, None));
        };
        let found = find(&backlog, &entries, &id).map(|(task, entry)| (task.clone(), entry));
        match found {
            Some(found) => Ok((backlog, Some(found))),
            None => Err(failure!("find `{id}` again: it was removed meanwhile")),
        }
    }
}

fn id_of_next(backlog: &Backlog, candidates: Candidates) -> Option<TaskId> {
    tm_scheduler::next(&backlog.tasks, candidates).map(|task| task.id.clone())
}

/// Sets the next task in progress in the step in which it is chosen.
fn claim(ChosenBacklog { source, options }: &ChosenBacklog) -> Result<Option<TaskId>> {
    let chosen = RefCell::new(None);
    let claim = |backlog: &Backlog| {
        let id = id_of_next(backlog, Candidates::Unclaimed);
        chosen.replace(id.clone());
        let status = Status::InProgress;
        id.map(|id| StatusChange { id, status })
            .into_iter()
            .collect()
    };
    let (moment, writers) = (stamp(now()), ConcurrentWriters::of(source.path()));
    let written = source.choose_statuses(options, claim, RollUp::Parents, Some(&moment))?;
    writers.wait_and_restore(source, options, &written, &moment)?;
    Ok(chosen.into_inner())
}

/// `tm set-status`.
#[derive(Args)]
pub(crate) struct SetStatusArguments {
    /// The tasks, separated by commas.
    #[arg(value_name = "ID")]
    positional: Option<String>,
    /// The status: pending, in-progress, done, review, deferred, cancelled, blocked.
    #[arg(value_name = "STATUS")]
    positional_status: Option<String>,
    /// The tasks, separated by commas.
    #[arg(long, short = 'i', value_name = "ID", value_delimiter = ',')]
    id: Vec<String>,
    /// The status.
    #[arg(long, short = 's', value_name = "STATUS")]
    status: Option<String>,
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Leave `updatedAt` as it is.
    #[arg(long)]
    no_timestamps: bool,
    /// The output.
    #[command(flatten)]
    output: ReadingOptions,
}

impl Perform for SetStatusArguments {
    async fn perform(self, start: &Path) -> Result {
        let output = self.output.chosen();
        let (asked, outcomes) = told(output, self.set(start))?;
        let is_asked = |outcome: &&StatusOutcome| asked.contains(&outcome.id);
        match output {
            None => {}
            Some(OutputArgument::Json) => {
                let (own, parents): (Vec<_>, Vec<_>) = outcomes.iter().partition(is_asked);
                print_json(
                    &json!({"success": true, "updatedTasks": entries(own), "updatedParents": entries(parents),
                                   "storageType": "file"}),
                )?;
            }
            Some(OutputArgument::Text | OutputArgument::Compact) => {
                for outcome in &outcomes {
                    let is_own = is_asked(&outcome);
                    let parent = if is_own {
                        ""
                    } else {
                        " (follows its subtasks)"
                    };
                    let StatusOutcome { id, old, new } = outcome;
                    data!("{id}: {old} → {new}{parent}\n");
                }
            }
        }
        Ok(0)
    }
}

fn entries(outcomes: Vec<&StatusOutcome>) -> Vec<Value> {
    let entry = |StatusOutcome { id, old, new }: &StatusOutcome| json!({"success": true, "taskId": id, "oldStatus": old, "newStatus": new});
    outcomes.into_iter().map(entry).collect()
}

impl SetStatusArguments {
    /// The tasks and the status that are meant.
    fn asked(&self) -> Result<(Vec<TaskId>, Status)> {
        // With `--id`, the one word that is left over is the status.
        let (positional, last) = match (&self.positional_status, self.id.is_empty()) {
            (None, false) => (None, self.positional.as_ref()),
            (word, _) => (self.positional.as_ref(), word.as_ref()),
        };
        let positional = positional.map_or("", String::as_str).split(',');
        let asked = ids(&positional.map(ToOwned::to_owned).collect_vec(), &self.id)?;
        let word = self.status.as_ref().or(last).ok_or_else(|| {
            failure!("know which status is meant")
                .hint("add `--status=done`")
                .code(ExitCode::Usage)
        })?;
        Ok((asked, status_of(word)?))
    }

    fn set(&self, start: &Path) -> Result<(Vec<TaskId>, Vec<StatusOutcome>)> {
        let (asked, status) = self.asked()?;
        let change = |id: &TaskId| StatusChange {
            id: id.clone(),
            status: status.clone(),
        };
        let moment = stamp(now());
        let moment = (!self.no_timestamps).then_some(moment.as_str());
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let writers = ConcurrentWriters::of(source.path());
        let changes = |_: &_| asked.iter().map(change).collect();
        let outcomes = source.choose_statuses(&options, changes, RollUp::Parents, moment)?;
        if let Some(moment) = moment {
            writers.wait_and_restore(&source, &options, &outcomes, moment)?;
        }
        if let Ok(project) = open(start) {
            remember(&project, &source.read(&options)?.tag, &outcomes)?;
        }
        Ok((asked, outcomes))
    }
}

/// What a person opens again is to be done once more, although the history has its work.
fn remember(project: &Project, tag: &Tag, outcomes: &[StatusOutcome]) -> Result<()> {
    for outcome in outcomes {
        if outcome.new.is_open() && !outcome.old.is_open() {
            project.directory.reopen(tag, &outcome.id)?;
        } else if !outcome.new.is_open() {
            project.directory.close_again(tag, &outcome.id)?;
        }
    }
    Ok(())
}
