//! `tm show` and `tm next`: tasks with all that the backlog says of them; and `tm set-status`: statuses of several tasks
//! in one step, all or none.

use super::concurrent_writers::ConcurrentWriters;
use super::list::header;
use super::{
    BacklogChoice, ChosenBacklog, Perform, ReadingOptions, has_status, ids, normalised, status_of,
    statuses, warn,
};
use crate::failure::Result;
use crate::pager::width;
use crate::project::open;
use clap::Args;
use console::measure_text_width;
use itertools::{Either, Itertools as _};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_app::project_directory;
use tm_reports::laid_out;
use tm_runtime::now;
use tm_scheduler::{Candidates, Status, Tag, Task, TaskId};
use tm_store::backlog::{Backlog, Entry, RollUp, StatusChange, StatusOutcome, stamp};

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
        let snapshot = chosen.source.snapshot()?;
        let backlog = snapshot.read(&chosen.options)?;
        let entries = snapshot.entries(&backlog);
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
        let text = || {
            let texts = found.iter();
            texts
                .map(|(task, _)| text(&backlog, task, &filter))
                .join("\n")
        };
        let code = self.output.print(&answer, text)?;
        if missing.is_empty() {
            return Ok(code);
        }
        Ok(chosen.not_found(&backlog.tag, &missing).answered())
    }
}

/// Finds a task or subtask, with what its file holds.
fn find<'b>(
    backlog: &'b Backlog,
    entries: &[Option<Entry<'_>>],
    id: &TaskId,
) -> Option<(&'b Task, Value)> {
    for (task, entry) in backlog.tasks.iter().zip(entries) {
        if task.id == *id {
            return Some((task, entry.map(Entry::json).unwrap_or_default()));
        }
        let Some(place) = task.subtasks.iter().position(|subtask| subtask.id == *id) else {
            continue;
        };
        let list = entry.and_then(|entry| entry.get("subtasks"))?;
        let is_named = |entry: &Entry<'_>| entry.get("id").is_some_and(|id| !id.is_null());
        let entry = list
            .is_list()
            .then(|| list.elements().filter(is_named).nth(place))?;
        return Some((
            &task.subtasks[place],
            entry.map(Entry::json).unwrap_or_default(),
        ));
    }
    None
}

fn text(backlog: &Backlog, task: &Task, filter: &[Status]) -> String {
    let shown = task
        .subtasks
        .iter()
        .filter(|subtask| has_status(filter, subtask));
    let waits = |other: &&Task| other.dependencies.contains(&task.id);
    let waiting = Task::with_subtasks(&backlog.tasks).filter(waits);
    let parent = backlog
        .tasks
        .iter()
        .find(|parent| parent.subtasks.iter().any(|one| one.id == task.id));
    let said = json!({"task": task, "subtasks": shown.collect_vec(), "parent": parent,
                      "waiting": waiting.map(|other| &other.id).collect_vec()});
    wrapped(&laid_out("backlog/task.txt", &said), width())
}

/// Breaks lines that are too long between words; what follows is indented as the line is.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let mut at = 0;
        for word in line.trim_start().split(' ') {
            let wide = measure_text_width(word);
            let is_full = at > indent.len() && at + 1 + wide > width;
            if is_full {
                out.push('\n');
                at = 0;
            }
            let gap = if at == 0 { indent } else { " " };
            out.extend([gap, word]);
            at += measure_text_width(gap) + wide;
        }
        let end = out.trim_end_matches(' ').len();
        out.truncate(end);
        out.push('\n');
    }
    out
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
            Some((task, _)) => text(&backlog, task, &[]),
            None => format!("no task can be worked on now\n{}", header(&backlog)),
        })
    }
}

impl NextArguments {
    /// The backlog, and the task to work on next, with what its file holds.
    fn next(&self, start: &Path) -> Result<(Backlog, Option<(Task, Value)>)> {
        let chosen = self.choice.find(start)?;
        let claimed = self.claim.then(|| claim(&chosen)).transpose()?;
        let snapshot = chosen.source.snapshot()?;
        let backlog = snapshot.read(&chosen.options)?;
        let entries = snapshot.entries(&backlog);
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
    let written = source.choose_statuses(options, claim, RollUp::Relatives, Some(&moment))?;
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
        let is_below = |outcome: &&StatusOutcome| {
            let parent = outcome.id.as_str().rsplit_once('.');
            parent.is_some_and(|(parent, _)| asked.iter().any(|id| id.as_str() == parent))
        };
        let (own, parents): (Vec<_>, Vec<_>) = outcomes
            .iter()
            .partition(|outcome| is_asked(outcome) || is_below(outcome));
        let answer = json!({"success": true, "updatedTasks": entries(own), "updatedParents": entries(parents),
                            "storageType": "file"});
        let line = |outcome: &StatusOutcome| {
            let why = match outcome {
                outcome if is_asked(&outcome) => "",
                outcome if is_below(&outcome) => " (follows its task)",
                _ => " (follows its subtasks)",
            };
            let StatusOutcome { id, old, new } = outcome;
            format!("{id}: {old} → {new}{why}\n")
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
        let moment = stamp(now());
        let moment = (!self.no_timestamps).then_some(moment.as_str());
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let change = |id: &TaskId| StatusChange {
            id: id.clone(),
            status: status.clone(),
        };
        let writers = ConcurrentWriters::of(source.path());
        let changes = asked.iter().map(change).collect_vec();
        let (tag, outcomes) =
            source.write_statuses(&options, &changes, RollUp::Relatives, moment)?;
        if let Some(moment) = moment {
            writers.wait_and_restore(&source, &options, &outcomes, moment)?;
        }
        remember(start, &tag, &outcomes)?;
        Ok((asked, outcomes))
    }
}

/// What a person opens again is to be done once more, although the history has its work.
fn remember(start: &Path, tag: &Tag, outcomes: &[StatusOutcome]) -> Result<()> {
    let is_reopened = |outcome: &&StatusOutcome| outcome.new.is_open() && !outcome.old.is_open();
    let mut reopened = outcomes.iter().filter(is_reopened).peekable();
    // Where nothing is to be written, git need not be asked what repository this is.
    let directory = match reopened.peek() {
        None => project_directory(start),
        Some(_) => open(start).ok().map(|project| project.directory),
    };
    let Some(directory) = directory else {
        return Ok(());
    };
    for outcome in reopened {
        directory.reopen(tag, &outcome.id)?;
    }
    for outcome in outcomes.iter().filter(|outcome| !outcome.new.is_open()) {
        directory.close_again(tag, &outcome.id)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_lines_break_between_words_and_keep_their_indentation() {
        let text = "one two three\n  - four five six\n\nlonger-than-the-width\n    code  x\n";
        let expected =
            "one two\nthree\n  - four\n  five six\n\nlonger-than-the-width\n    code  x\n";
        assert_eq!(wrapped(text, 11), expected);
    }
}
