//! Sets statuses of tasks, in every kind of backlog, and tells which of them somebody undid without knowing.

use super::document::Value;
use super::fields::{Reader, id};
use super::source::Edit;
use super::{BacklogError, Refusal, RollUp, StatusChange, StatusOutcome, change, number};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{Status, Task, TaskId};

impl Edit<'_, '_> {
    /// Sets statuses, all or none, and returns what each change came to.
    pub(super) fn set_statuses(
        &mut self,
        changes: &[StatusChange],
        roll_up: RollUp,
        stamp: Option<&str>,
    ) -> Result<Vec<StatusOutcome>, BacklogError> {
        let refused = BacklogError::refused(self.source.path());
        let list = self.loaded.list(&self.tag);
        let ids = changes.iter().map(|change| &change.id);
        let concerned = list.map(|list| concerned(list, ids.clone()));
        let concerned = concerned.unwrap_or_default();
        let places = places(concerned.iter().copied());
        let unknown: Vec<&TaskId> = ids.filter(|id| !places.contains_key(id)).collect();
        if !unknown.is_empty() {
            return Err(refused(Refusal::unknown(unknown)));
        }
        let wanted = changes.iter().cloned();
        let mut wanted: BTreeMap<TaskId, Status> =
            wanted.map(|change| (change.id, change.status)).collect();
        if roll_up == RollUp::Relatives {
            let mut reader = Reader::default();
            let tasks = concerned.iter().filter_map(|task| reader.one(*task));
            let tasks: Vec<Task> = tasks.collect();
            take_subtasks_along(&tasks, &mut wanted);
            roll_up_parents(&tasks, &mut wanted);
        }
        let outcome = |(id, new)| StatusOutcome {
            old: status_of(places[&id]),
            id,
            new,
        };
        let outcomes: Vec<StatusOutcome> = wanted.into_iter().map(outcome).collect();
        let mut differing = outcomes.clone();
        differing.retain(|StatusOutcome { id, old, new }| {
            old != new || places[id].get("status").is_none()
        });
        if !differing.is_empty() {
            let kind = self.source.kind();
            let stamp = stamp.filter(|_| kind.has_stamps());
            change::list(&mut self.root, &self.tag)
                .and_then(|tasks| change::set_statuses(tasks, kind, &differing, stamp))
                .map_err(refused)?;
        }
        Ok(outcomes)
    }

    /// Returns the statuses that were written and are as they were before, without a newer stamp.
    pub(super) fn undone(&self, written: &[StatusOutcome], stamp: &str) -> Vec<StatusChange> {
        let list = self.loaded.list(&self.tag);
        let places = places(list.into_iter().flat_map(Value::elements));
        let is_undone = |outcome: &&StatusOutcome| {
            places.get(&outcome.id).is_some_and(|value| {
                let updated = value.get("updatedAt").and_then(Value::plain);
                let is_older = updated.is_none_or(|updated| updated.as_str() < stamp);
                status_of(*value) == outcome.old && outcome.old != outcome.new && is_older
            })
        };
        let change = |outcome: &StatusOutcome| StatusChange {
            id: outcome.id.clone(),
            status: outcome.new.clone(),
        };
        written.iter().filter(is_undone).map(change).collect()
    }
}

fn status_of(task: Value<'_>) -> Status {
    let status = task.get("status").and_then(Value::plain);
    status.map_or(Status::Pending, Status::from)
}

/// Returns the tasks of a list that have one of these ids, or a subtask that has.
fn concerned<'d, 'i>(list: Value<'d>, ids: impl Iterator<Item = &'i TaskId>) -> Vec<Value<'d>> {
    let mut wanted = BTreeSet::new();
    for id in ids.map(TaskId::as_str) {
        wanted.insert(id);
        wanted.extend(id.rsplit_once('.').map(|(parent, _)| parent));
    }
    let is_wanted = |task: &Value<'_>| id(*task).is_some_and(|id| wanted.contains(&*id));
    list.elements().filter(is_wanted).collect()
}

/// Returns where each task and subtask stands; of several with one id the first.
fn places<'d>(tasks: impl Iterator<Item = Value<'d>>) -> BTreeMap<TaskId, Value<'d>> {
    let mut places = BTreeMap::new();
    for (id, value) in tasks.flat_map(places_in) {
        places.entry(id).or_insert(value);
    }
    places
}

/// Returns where each task and subtask stands, in the order of the file, subtasks behind their task.
pub(super) fn all_places(list: Value<'_>) -> Vec<(TaskId, Value<'_>)> {
    list.elements().flat_map(places_in).collect()
}

fn places_in(task: Value<'_>) -> Vec<(TaskId, Value<'_>)> {
    let Some(task_id) = id(task) else {
        return Vec::new();
    };
    let mut places = vec![(TaskId::from(&*task_id), task)];
    for subtask in task.get("subtasks").into_iter().flat_map(Value::elements) {
        if let Some(own) = id(subtask) {
            let own = TaskId::new(format!("{task_id}.{}", number(&own)));
            places.push((own, subtask));
        }
    }
    places
}

/// A task that is done takes its open subtasks along: they were a part of what was done.
fn take_subtasks_along(tasks: &[Task], wanted: &mut BTreeMap<TaskId, Status>) {
    let is_done = |task: &&Task| wanted.get(&task.id) == Some(&Status::Done);
    let done: Vec<&Task> = tasks.iter().filter(is_done).collect();
    let subtasks = done.into_iter().flat_map(|task| &task.subtasks);
    for subtask in subtasks.filter(|subtask| subtask.status.is_open()) {
        wanted.entry(subtask.id.clone()).or_insert(Status::Done);
    }
}

/// A parent follows its subtasks: all done, one begun or done, all pending; a parent that is changed itself does not.
fn roll_up_parents(tasks: &[Task], wanted: &mut BTreeMap<TaskId, Status>) {
    for parent in tasks {
        let is_touched = |subtask: &Task| wanted.contains_key(&subtask.id);
        if wanted.contains_key(&parent.id) || !parent.subtasks.iter().any(is_touched) {
            continue;
        }
        let subtasks = parent.subtasks.iter();
        let status = |subtask: &'_ Task| wanted.get(&subtask.id).unwrap_or(&subtask.status).clone();
        let statuses: BTreeSet<Status> = subtasks.map(status).collect();
        let has = |status: Status| statuses.contains(&status);
        let status = if has(Status::Done) && statuses.len() == 1 {
            Status::Done
        } else if has(Status::Pending) && statuses.len() == 1 {
            Status::Pending
        } else if has(Status::InProgress) || has(Status::Done) {
            Status::InProgress
        } else {
            continue;
        };
        wanted.insert(parent.id.clone(), status);
    }
}
