//! Changes within the list of one tag: tasks, subtasks and what they depend on.

use super::dependencies::{Repeats, absolute_dependencies, rewrite_dependencies};
use super::{Changed, FieldNames, Place, Refusal, pending, quoted};
use crate::backlog::document::{Document, Tree};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tm_scheduler::TaskId;

/// The last part of an id: a subtask's number.
pub(super) fn number(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or(id)
}

pub(super) fn id_of(document: &Document, task: &Tree) -> Option<String> {
    task.plain(document, "id")
}

pub(super) fn elements<'t>(
    document: &Document,
    list: &'t mut Tree,
) -> Result<&'t mut Vec<Tree>, Refusal> {
    list.elements(document)
        .ok_or(Refusal::NoPlace("`tasks` is not a list"))
}

/// The subtasks of a task; an empty list when it has none.
pub(super) fn subtasks<'t>(
    document: &Document,
    task: &'t mut Tree,
) -> Result<&'t mut Vec<Tree>, Refusal> {
    let has_list = task
        .member(document, "subtasks")
        .is_some_and(|list| list.elements(document).is_some());
    if !has_list {
        task.set(document, "subtasks", Tree::new(&json!([])));
    }
    let list = task
        .member(document, "subtasks")
        .ok_or(Refusal::NoPlace("a task is not an object"))?;
    elements(document, list)
}

fn position(document: &Document, tasks: &[Tree], id: &str) -> Option<usize> {
    tasks
        .iter()
        .position(|task| id_of(document, task).as_deref() == Some(id))
}

fn subtask_position(document: &Document, subtasks: &[Tree], wanted: &str) -> Option<usize> {
    subtasks
        .iter()
        .position(|task| id_of(document, task).is_some_and(|id| number(&id) == wanted))
}

/// Finds a task or, as `<task>.<n>`, a subtask to change.
pub(super) fn find<'t>(
    document: &Document,
    list: &'t mut Tree,
    id: &TaskId,
) -> Result<&'t mut Tree, Refusal> {
    let unknown = || Refusal::UnknownTasks(format!("`{id}`"));
    let tasks = elements(document, list)?;
    if let Some(place) = position(document, tasks, id.as_str()) {
        return Ok(&mut tasks[place]);
    }
    let (parent, own) = id.as_str().rsplit_once('.').ok_or_else(unknown)?;
    let place = position(document, tasks, parent).ok_or_else(unknown)?;
    if tasks[place].member(document, "subtasks").is_none() {
        return Err(unknown());
    }
    let subtasks = subtasks(document, &mut tasks[place])?;
    let place = subtask_position(document, subtasks, own).ok_or_else(unknown)?;
    Ok(&mut subtasks[place])
}

pub(super) fn is_there(document: &Document, list: &mut Tree, id: &TaskId) -> bool {
    find(document, list, id).is_ok()
}

/// The next free number, spelled as the ids beside it are.
fn next_id(
    document: &Document,
    tasks: &[Tree],
    spelling: FieldNames,
    at_least: u64,
) -> (u64, Value) {
    let ids: Vec<String> = tasks
        .iter()
        .filter_map(|task| id_of(document, task))
        .collect();
    let next = ids
        .iter()
        .filter_map(|id| number(id).parse::<u64>().ok())
        .max()
        .unwrap_or(0)
        .saturating_add(1);
    let next = next.max(at_least);
    let is_text = spelling.is_text()
        || tasks
            .last()
            .is_some_and(|task| task.is_text(document, "id"));
    (
        next,
        if is_text {
            json!(next.to_string())
        } else {
            json!(next)
        },
    )
}

fn entry(id: Value, fields: &[(String, Value)], spelling: FieldNames) -> Tree {
    let mut entry = serde_json::Map::from_iter([("id".to_owned(), id)]);
    entry.extend(fields.iter().cloned());
    entry.entry("status").or_insert_with(pending);
    Tree::new(&Value::Object(spelling.entry(entry)))
}

pub(super) fn add(
    place: Place<'_>,
    list: &mut Tree,
    fields: &[(String, Value)],
) -> Result<Changed, Refusal> {
    let Place {
        document,
        spelling,
        next_number,
        ..
    } = place;
    let unknown: Vec<TaskId> = dependencies_in(fields)
        .filter(|id| !is_there(document, list, id))
        .collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(&unknown)));
    }
    let tasks = elements(document, list)?;
    let (next, id) = next_id(document, tasks, spelling, next_number);
    tasks.push(entry(id, fields, spelling));
    Ok(Changed {
        ids: vec![TaskId::new(next.to_string())],
    })
}

/// Adds many tasks in one pass.
pub(super) fn add_all(
    place: Place<'_>,
    list: &mut Tree,
    new: &[(TaskId, Vec<(String, Value)>)],
) -> Result<Changed, Refusal> {
    let Place {
        document, spelling, ..
    } = place;
    let mut taken: BTreeSet<String> = list.ids_of(document).collect();
    let tasks = elements(document, list)?;
    let (_, next) = next_id(document, tasks, spelling, 1);
    for (id, fields) in new {
        if !taken.insert(id.to_string()) {
            return Err(Refusal::Taken(id.to_string()));
        }
        let spelled = match id.as_str().parse::<u64>() {
            Ok(number) if next.is_number() => json!(number),
            _ => json!(id),
        };
        tasks.push(entry(spelled, fields, spelling));
    }
    Ok(Changed {
        ids: new.iter().map(|(id, _)| id.clone()).collect(),
    })
}

pub(super) fn add_subtask(
    place: Place<'_>,
    list: &mut Tree,
    parent: &TaskId,
    fields: &[(String, Value)],
) -> Result<Changed, Refusal> {
    let Place {
        document, spelling, ..
    } = place;
    let tasks = elements(document, list)?;
    let unknown = || Refusal::UnknownTasks(format!("`{parent}`"));
    let place = position(document, tasks, parent.as_str()).ok_or_else(unknown)?;
    let absent: Vec<TaskId> = {
        let all = &mut Tree::Array(None, tasks.clone());
        let names = |id: &TaskId| [TaskId::new(format!("{parent}.{id}")), id.clone()];
        dependencies_in(fields)
            .filter(|id| !names(id).iter().any(|id| is_there(document, all, id)))
            .collect()
    };
    if !absent.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(&absent)));
    }
    let siblings = subtasks(document, &mut tasks[place])?;
    let (next, id) = next_id(document, siblings, spelling, 1);
    siblings.push(entry(id, fields, spelling));
    Ok(Changed {
        ids: vec![TaskId::new(format!("{parent}.{next}"))],
    })
}

fn dependencies_in(fields: &[(String, Value)]) -> impl Iterator<Item = TaskId> {
    let lists = fields
        .iter()
        .filter(|(key, _)| key == "dependencies")
        .filter_map(|(_, value)| value.as_array());
    let plain = |id: &Value| {
        id.as_str()
            .map_or_else(|| id.to_string(), ToOwned::to_owned)
    };
    lists.flatten().map(move |id| TaskId::new(plain(id)))
}

pub(super) fn remove(
    document: &Document,
    list: &mut Tree,
    ids: &[TaskId],
) -> Result<Changed, Refusal> {
    let unknown: Vec<&TaskId> = ids
        .iter()
        .filter(|id| !is_there(document, list, id))
        .collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(unknown)));
    }
    let gone = |dependency: &TaskId| {
        let is_within = |id: &TaskId| {
            dependency
                .as_str()
                .strip_prefix(id.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        };
        ids.iter().any(|id| dependency == id || is_within(id))
    };
    // While everything is in its place, a subtask's number still names its sibling.
    rewrite_dependencies(document, list, Repeats::Keep, |_, dependency| {
        if gone(&dependency) {
            None
        } else {
            Some(dependency)
        }
    })?;
    for id in ids {
        take(document, list, id)?;
    }
    Ok(Changed::default())
}

/// Takes a task or subtask out; one that went with its task already is no error.
pub(super) fn take(
    document: &Document,
    list: &mut Tree,
    id: &TaskId,
) -> Result<Option<Tree>, Refusal> {
    let tasks = elements(document, list)?;
    if let Some(place) = position(document, tasks, id.as_str()) {
        return Ok(Some(tasks.remove(place)));
    }
    let Some((parent, own)) = id.as_str().rsplit_once('.') else {
        return Ok(None);
    };
    let Some(place) = position(document, tasks, parent) else {
        return Ok(None);
    };
    let siblings = subtasks(document, &mut tasks[place])?;
    Ok(subtask_position(document, siblings, own).map(|place| siblings.remove(place)))
}

/// An id as its neighbours are spelled: as a number only where it is one.
pub(super) fn spelled(id: &TaskId, is_text: bool) -> Tree {
    match id.as_str().parse::<u64>() {
        Ok(number) if !is_text && number.to_string() == id.as_str() => Tree::new(&json!(number)),
        _ => Tree::text(id.as_str()),
    }
}

/// Gives a task another id or place: a task another number, or a place among the subtasks of another, or back.
pub(super) fn rename(
    document: &Document,
    list: &mut Tree,
    spelling: FieldNames,
    from: &TaskId,
    to: &TaskId,
) -> Result<Changed, Refusal> {
    if is_there(document, list, to) {
        return Err(Refusal::Taken(to.to_string()));
    }
    let unknown = || Refusal::UnknownTasks(format!("`{from}`"));
    let target = to.as_str().rsplit_once('.');
    if let Some((parent, _)) = target {
        if !is_there(document, list, &TaskId::from(parent)) || parent == from.as_str() {
            return Err(Refusal::UnknownTasks(format!("`{parent}`")));
        }
        if find(document, list, from)?.has_elements(document, "subtasks") {
            return Err(Refusal::NoPlace(
                "a task with subtasks can't become a subtask",
            ));
        }
    }
    // Dependencies of a subtask are written as siblings' numbers: they are made absolute before it leaves them.
    let own: Vec<TaskId> = absolute_dependencies(document, list, from)?;
    let renamed = |id: TaskId| {
        let rest = id.as_str().strip_prefix(from.as_str());
        match rest {
            Some("") => to.clone(),
            Some(rest) if rest.starts_with('.') => TaskId::new(format!("{to}{rest}")),
            _ => id,
        }
    };
    rewrite_dependencies(document, list, Repeats::Keep, |_, dependency| {
        Some(renamed(dependency))
    })?;
    let place = position(document, elements(document, list)?, from.as_str());
    let mut moved = take(document, list, from)?.ok_or_else(unknown)?;
    let is_text = moved.is_text(document, "id");
    moved.set(
        document,
        "id",
        spelled(&TaskId::from(number(to.as_str())), is_text),
    );
    let is_same_kind = target.is_none() && place.is_some();
    if !is_same_kind && !own.is_empty() {
        let parent = target.map(|(parent, _)| format!("{parent}."));
        let local = |id: &TaskId| match &parent {
            Some(parent) => spelled(
                &TaskId::from(
                    id.as_str()
                        .strip_prefix(parent.as_str())
                        .unwrap_or(id.as_str()),
                ),
                true,
            ),
            None => spelled(id, false),
        };
        moved.set(
            document,
            spelling.dependencies(),
            Tree::Array(None, own.iter().map(local).collect()),
        );
    }
    let tasks = elements(document, list)?;
    match target {
        Some((parent, _)) => {
            let at = position(document, tasks, parent)
                .ok_or_else(|| Refusal::UnknownTasks(format!("`{parent}`")))?;
            subtasks(document, &mut tasks[at])?.push(moved);
        }
        None => tasks.insert(place.unwrap_or(tasks.len()), moved),
    }
    Ok(Changed {
        ids: vec![to.clone()],
    })
}
