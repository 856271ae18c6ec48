//! Changes within the list of one tag: tasks, their fields and subtasks.

use super::dependencies::{Repeats, follow, rewrite_dependencies};
use super::find::{
    Index, find, ids, is_there, must_be_there, number, position, spelled, take, way,
};
use super::{Ids, NO_OBJECT, NewTask, Place, Refusal, SourceKind, Tasks, pending};
use crate::backlog::StatusOutcome;
use crate::backlog::document::Tree;
use crate::backlog::kind::{self, plain};
use crate::backlog::spellings::Field;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tm_scheduler::TaskId;

/// The fields of a new task.
pub(super) type Fields = [(String, Value)];

pub(super) fn set_fields(tasks: &mut Tasks<'_>, fields: &[(TaskId, String, Value)]) -> Ids {
    let index = Index::of(tasks, fields.iter().map(|(id, ..)| id));
    for (id, key, value) in fields {
        set_field(index.find(tasks, id)?, key, value);
    }
    Ok(fields.iter().map(|(id, ..)| id.clone()).collect())
}

fn set_field(task: &mut Tree<'_>, key: &str, value: &Value) {
    let Some((outer, inner)) = key.split_once('.') else {
        return task.set(key, Tree::new(value));
    };
    if task.member(outer).and_then(Tree::members).is_none() {
        task.set(outer, Tree::new(&json!({})));
    }
    if let Some(member) = task.member(outer) {
        member.set(inner, Tree::new(value));
    }
}

/// Changes what a task says, and adds a note to its details.
pub(super) fn update(
    kind: SourceKind,
    tasks: &mut Tasks<'_>,
    id: &TaskId,
    (fields, note): (&Fields, Option<&str>),
    stamp: &str,
) -> Ids {
    let task = find(tasks, id)?;
    for (name, value) in fields {
        set_field(task, &key(task, kind, name), value);
    }
    if let Some(note) = note {
        let key = key(task, kind, "details");
        let mut names = key.split('.');
        let before = names.try_fold(task.clone(), |tree, name| tree.get(name));
        let details = match before.as_ref().and_then(Tree::scalar) {
            Some(details) if !details.trim().is_empty() => {
                json!(format!("{}\n\n{note}", details.trim_end()))
            }
            _ => json!(note),
        };
        if before.is_some_and(|details| !details.is_plain()) {
            task.list(&key).ok_or(NO_OBJECT)?.push(Tree::text(note));
        } else {
            set_field(task, &key, &details);
        }
    }
    if kind.has_stamps() {
        task.set("updatedAt", Tree::text(stamp));
    }
    Ok(vec![id.clone()])
}

/// The name that a task has for a field, else the one of its kind of backlog.
fn key(task: &Tree<'_>, kind: SourceKind, name: &str) -> String {
    let field = Field::of(name);
    let own = task.names().into_iter().find(|own| Field::of(own) == field);
    own.filter(|_| field.is_some())
        .unwrap_or_else(|| kind.key(name))
}

/// Sets statuses of tasks; a stamp goes beside the status.
pub(in crate::backlog) fn set_statuses(
    tasks: &mut Tasks<'_>,
    kind: SourceKind,
    statuses: &[StatusOutcome],
    stamp: Option<&str>,
) -> Result<(), Refusal> {
    let index = Index::of(tasks, statuses.iter().map(|outcome| &outcome.id));
    for StatusOutcome { id, new, .. } in statuses {
        let task = index.find(tasks, id)?;
        task.set("status", Tree::text(kind.status(new)));
        if let Some(stamp) = stamp {
            task.set_behind("status", "updatedAt", Tree::text(stamp));
        }
    }
    Ok(())
}

/// The next free number, and whether ids beside it are texts.
fn next_number(tasks: &[Tree<'_>], kind: SourceKind, at_least: u64) -> (u64, bool) {
    let numbers = ids(tasks).filter_map(|id| number(&id).parse::<u64>().ok());
    let next = numbers.max().unwrap_or(0).saturating_add(1).max(at_least);
    let last = tasks.last().and_then(|task| task.get("id"));
    (next, kind.is_text() || last.is_some_and(|id| id.is_text()))
}

fn entry<'d>(id: &str, is_text: bool, fields: &Fields, kind: SourceKind) -> Tree<'d> {
    let id = if is_text {
        json!(id)
    } else {
        kind::spelled(id)
    };
    let mut entry = serde_json::Map::from_iter([("id".to_owned(), id)]);
    entry.extend(fields.iter().cloned());
    entry.entry("status").or_insert_with(pending);
    Tree::new(&Value::Object(kind.entry(entry)))
}

/// Adds tasks in one pass; those without an id get the next numbers.
pub(super) fn add(place: Place<'_>, tasks: &mut Tasks<'_>, new: &[NewTask]) -> Ids {
    let mut taken: BTreeSet<String> = ids(tasks).collect();
    let (mut next, is_text) = next_number(tasks, place.kind, place.next_number);
    let mut added = Vec::with_capacity(new.len());
    for (id, fields) in new {
        let id = if let Some(id) = id {
            id.clone()
        } else {
            must_be_there(tasks, &dependencies_in(fields))?;
            let id = TaskId::new(next.to_string());
            next = next.saturating_add(1);
            id
        };
        if !taken.insert(id.to_string()) {
            return Err(Refusal::Taken(id.to_string()));
        }
        tasks.push(entry(id.as_str(), is_text, fields, place.kind));
        added.push(id);
    }
    Ok(added)
}

pub(super) fn add_subtask(
    kind: SourceKind,
    tasks: &mut Tasks<'_>,
    parent: &TaskId,
    fields: &Fields,
) -> Ids {
    let place = position(tasks, parent.as_str()).ok_or_else(|| Refusal::unknown([parent]))?;
    let is_sibling = |id: &TaskId| is_there(tasks, &TaskId::new(format!("{parent}.{id}")));
    let dependencies = dependencies_in(fields);
    must_be_there(tasks, dependencies.iter().filter(|id| !is_sibling(id)))?;
    let siblings = tasks[place].list("subtasks").ok_or(NO_OBJECT)?;
    let (next, is_text) = next_number(siblings, kind, 1);
    siblings.push(entry(&next.to_string(), is_text, fields, kind));
    Ok(vec![TaskId::new(format!("{parent}.{next}"))])
}

fn dependencies_in(fields: &Fields) -> Vec<TaskId> {
    let lists = fields.iter().filter(|(key, _)| key == "dependencies");
    let ids = lists.filter_map(|(_, value)| value.as_array()).flatten();
    ids.map(|id| TaskId::new(plain(id))).collect()
}

pub(super) fn remove(tasks: &mut Tasks<'_>, ids: &[TaskId]) -> Ids {
    must_be_there(tasks, ids)?;
    let gone = |dependency: &TaskId| {
        let is_within = |id: &TaskId| {
            let rest = dependency.as_str().strip_prefix(id.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        ids.iter().any(is_within)
    };
    // While everything is in its place, a subtask's number still names its sibling.
    rewrite_dependencies(tasks, Repeats::Keep, |_, dependency| {
        (!gone(&dependency)).then_some(dependency)
    });
    for id in ids {
        drop(take(tasks, id));
    }
    Ok(Vec::new())
}

/// Gives fields of tasks the names that were meant.
pub(super) fn rename_fields(tasks: &mut Tasks<'_>, fields: &[(TaskId, String, String)]) -> Ids {
    let index = Index::new(tasks);
    for (id, from, to) in fields {
        let members = index.find(tasks, id)?.members().ok_or(NO_OBJECT)?;
        for (name, _) in members.iter_mut().filter(|(name, _)| name == from) {
            name.clone_from(to);
        }
    }
    Ok(fields.iter().map(|(id, ..)| id.clone()).collect())
}

/// Gives a task another id or place: a task another number, or a place among the subtasks of another, or back.
pub(super) fn rename(tasks: &mut Tasks<'_>, from: &TaskId, to: &TaskId) -> Ids {
    if is_there(tasks, to) {
        return Err(Refusal::Taken(to.to_string()));
    }
    let split = to.as_str().rsplit_once('.');
    let parent = split.map(|(parent, _)| TaskId::from(parent));
    if let Some(parent) = &parent {
        if !is_there(tasks, parent) || parent == from {
            return Err(Refusal::unknown([parent]));
        }
        if !find(tasks, from)?.parts("subtasks").is_empty() {
            return Err(Refusal::NoPlace(
                "a task with subtasks can't become a subtask",
            ));
        }
    }
    let (place, within) = way(tasks, from).ok_or_else(|| Refusal::unknown([from]))?;
    // While everything is in its place, a subtask's number still names its sibling.
    follow(tasks, |id| renamed(id, from, to));
    let mut moved = take(tasks, from).ok_or_else(|| Refusal::unknown([from]))?;
    let is_text = moved.get("id").is_some_and(|id| id.is_text());
    moved.set("id", spelled(number(to.as_str()), is_text));
    match parent {
        Some(parent) => {
            let at = position(tasks, parent.as_str());
            let at = at.ok_or_else(|| Refusal::unknown([&parent]))?;
            let siblings = tasks[at].list("subtasks").ok_or(NO_OBJECT)?;
            match within {
                Some(own) if at == place => siblings.insert(own, moved),
                _ => insert(siblings, moved),
            }
        }
        None if within.is_some() => insert(tasks, moved),
        None => tasks.insert(place, moved),
    }
    Ok(vec![to.clone()])
}

/// Puts a task where its number belongs in a list that is in order, else at its end.
fn insert<'d>(tasks: &mut Vec<Tree<'d>>, new: Tree<'d>) {
    let number_of = |task: &Tree<'d>| number(&task.plain("id")?).parse::<u64>().ok();
    let numbers: Option<Vec<u64>> = tasks.iter().map(number_of).collect();
    let numbers = numbers.filter(|numbers| numbers.is_sorted());
    let place = numbers.zip(number_of(&new));
    let place = place.map(|(numbers, own)| numbers.partition_point(|&other| other < own));
    tasks.insert(place.unwrap_or(tasks.len()), new);
}

/// The id that a task has when it, or the task that it is within, has another one.
fn renamed(id: &TaskId, from: &TaskId, to: &TaskId) -> TaskId {
    match id.as_str().strip_prefix(from.as_str()) {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => {
            TaskId::new(format!("{to}{rest}"))
        }
        _ => id.clone(),
    }
}
