//! `tm show` and `tm next`: tasks with all that the backlog says of them; and `tm set-status`: statuses of several tasks
//! in one step, all or none.

use super::concurrent_writers::ConcurrentWriters;
use super::{
    BacklogChoice, ChosenBacklog, Perform, ReadingOptions, has_status, ids, normalised, status_of,
    statuses, warn,
};
use crate::failure::{CommandFailure, Result};
use crate::project::open;
use clap::Args;
use itertools::{Either, Itertools as _};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_reports::laid_out;
use tm_runtime::now;
use tm_scheduler::{Candidates, Status, Tag, Task, TaskId, quoted};
use tm_store::backlog::{Backlog, RollUp, StatusChange, StatusOutcome, stamp};
use tm_store::run::ProjectDirectory;

/// `tm show`.
#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The tasks, separated by commas; a subtask is `<task>.<n>`.
    #[arg(value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// The tasks, separated by commas.
    #[arg(long, short, value_delimiter = ',')]
    id: Vec<String>,
    /// Only subtasks of these statuses, in text.
    #[arg(long, short, value_delimiter = ',')]
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
        let (found, missing): (Vec<_>, Vec<_>) =
            asked
                .iter()
                .partition_map(|id| match find(&backlog, &entries, id) {
                    Some(found) => Either::Left(found),
                    None => Either::Right(id),
                });
        let shown = found.iter().map(|(_, entry)| entry).collect_vec();
        let answer = if asked.len() == 1 {
            let task = shown.first();
            json!({"task": task, "found": task.is_some(), "storageType": "file"})
        } else {
            json!({"tasks": shown, "notFound": missing, "storageType": "file"})
        };
        let text = || found.iter().map(|(task, _)| text(task, &filter)).join("\n");
        let code = self.output.print(&answer, text)?;
        if missing.is_empty() {
            return Ok(code);
        }
        Ok(not_found(&chosen, &backlog.tag, &missing).answered())
    }
}

fn not_found(chosen: &ChosenBacklog, tag: &Tag, ids: &[&TaskId]) -> CommandFailure {
    let (path, ids) = (chosen.source.path().display(), quoted(ids));
    failure!("find {ids} in `{path}`, tag `{tag}`").hint("`tm list --with-subtasks` lists the ids")
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
        let entry = entry["subtasks"]
            .as_array()?
            .iter()
            .filter(|entry| !entry["id"].is_null())
            .nth(place)
            .cloned()
            .unwrap_or_default();
        return Some((&task.subtasks[place], entry));
    }
    None
}

fn text(task: &Task, filter: &[Status]) -> String {
    let shown = task
        .subtasks
        .iter()
        .filter(|subtask| has_status(filter, subtask));
    let said = json!({"task": task, "subtasks": shown.collect_vec()});
    laid_out("backlog/task.txt", &said)
}

impl Perform for NextArguments {
    async fn perform(self, start: &Path) -> Result {
        let (backlog, found) = self.next(start)?;
        warn(&backlog);
        let task = found.as_ref();
        let task = task.map(|(task, entry)| normalised(task, entry.clone()));
        let answer = json!({"task": task, "found": task.is_some(), "tag": backlog.tag, "storageType": "file",
                            "hasAnyTasks": !backlog.tasks.is_empty()});
        self.output.print(&answer, || match &found {
            Some((task, _)) => text(task, &[]),
            None => "no task can be worked on now\n".to_owned(),
        })
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
    #[arg(long, short, value_delimiter = ',')]
    id: Vec<String>,
    /// The status.
    #[arg(long, short)]
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
        let (asked, outcomes) = self.set(start)?;
        let is_asked = |outcome: &&StatusOutcome| asked.contains(&outcome.id);
        let (own, parents): (Vec<_>, Vec<_>) = outcomes.iter().partition(is_asked);
        let answer = json!({"success": true, "updatedTasks": entries(own), "updatedParents": entries(parents),
                            "storageType": "file"});
        let line = |outcome: &StatusOutcome| {
            let parent = if is_asked(&outcome) {
                ""
            } else {
                " (follows its subtasks)"
            };
            let StatusOutcome { id, old, new } = outcome;
            format!("{id}: {old} → {new}{parent}\n")
        };
        let words = || outcomes.iter().map(line).collect();
        self.output.print(&answer, words)
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
        let word = self
            .status
            .as_ref()
            .or(last)
            .ok_or_else(|| failure!("a status is required").usage("add `--status=done`"))?;
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
            remember(&project.directory, &source.read(&options)?.tag, &outcomes)?;
        }
        Ok((asked, outcomes))
    }
}

/// What a person opens again is to be done once more, although the history has its work.
fn remember(directory: &ProjectDirectory, tag: &Tag, outcomes: &[StatusOutcome]) -> Result<()> {
    for StatusOutcome { id, old, new } in outcomes {
        if !new.is_open() {
            directory.close_again(tag, id)?;
        } else if !old.is_open() {
            directory.reopen(tag, id)?;
        }
    }
    Ok(())
}
