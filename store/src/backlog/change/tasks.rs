//! Changes within the list of one tag: tasks, subtasks and what they depend on.

use super::{Changed, Refusal, pending, quoted};
use crate::backlog::document::{Document, Tree};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tm_scheduler::TaskId;

/// The last part of an id: a subtask's number.
fn number(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or(id)
}

fn id_of(document: &Document, task: &Tree) -> Option<String> {
    task.plain(document, "id")
}

fn elements<'t>(document: &Document, list: &'t mut Tree) -> Result<&'t mut Vec<Tree>, Refusal> {
    list.elements(document).ok_or(Refusal::NoPlace("`tasks` is not a list"))
}

/// The subtasks of a task; an empty list when it has none.
pub(super) fn subtasks<'t>(document: &Document, task: &'t mut Tree) -> Result<&'t mut Vec<Tree>, Refusal> {
    let has_list = task.member(document, "subtasks").is_some_and(|list| list.elements(document).is_some());
    if !has_list {
        task.set(document, "subtasks", Tree::new(&json!([])));
    }
    let list = task.member(document, "subtasks").ok_or(Refusal::NoPlace("a task is not an object"))?;
    elements(document, list)
}

fn position(document: &Document, tasks: &[Tree], id: &str) -> Option<usize> {
    tasks.iter().position(|task| id_of(document, task).as_deref() == Some(id))
}

fn subtask_position(document: &Document, subtasks: &[Tree], wanted: &str) -> Option<usize> {
    subtasks.iter().position(|task| id_of(document, task).is_some_and(|id| number(&id) == wanted))
}

/// Finds a task or, as `<task>.<n>`, a subtask to change.
fn find<'t>(document: &Document, list: &'t mut Tree, id: &TaskId) -> Result<&'t mut Tree, Refusal> {
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

fn is_there(document: &Document, list: &mut Tree, id: &TaskId) -> bool {
    find(document, list, id).is_ok()
}

/// The next free number, spelled as the ids beside it are.
fn next_id(document: &Document, tasks: &[Tree]) -> (u64, Value) {
    let ids: Vec<String> = tasks.iter().filter_map(|task| id_of(document, task)).collect();
    let next = ids.iter().filter_map(|id| number(id).parse::<u64>().ok()).max().unwrap_or(0).saturating_add(1);
    let is_text = tasks.last().is_some_and(|task| task.is_text(document, "id"));
    (next, if is_text { json!(next.to_string()) } else { json!(next) })
}

fn entry(id: Value, fields: &[(String, Value)]) -> Tree {
    let mut entry = serde_json::Map::from_iter([("id".to_owned(), id)]);
    entry.extend(fields.iter().cloned());
    entry.entry("status").or_insert_with(pending);
    Tree::new(&Value::Object(entry))
}

pub(super) fn add(document: &Document, list: &mut Tree, fields: &[(String, Value)]) -> Result<Changed, Refusal> {
    let unknown: Vec<TaskId> = dependencies_in(fields).filter(|id| !is_there(document, list, id)).collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(&unknown)));
    }
    let tasks = elements(document, list)?;
    let (next, id) = next_id(document, tasks);
    tasks.push(entry(id, fields));
    Ok(Changed { ids: vec![TaskId::new(next.to_string())] })
}

pub(super) fn add_subtask(
    document: &Document,
    list: &mut Tree,
    parent: &TaskId,
    fields: &[(String, Value)],
) -> Result<Changed, Refusal> {
    let tasks = elements(document, list)?;
    let unknown = || Refusal::UnknownTasks(format!("`{parent}`"));
    let place = position(document, tasks, parent.as_str()).ok_or_else(unknown)?;
    let absent: Vec<TaskId> = {
        let all = &mut Tree::Array(None, tasks.clone());
        let names = |id: &TaskId| [TaskId::new(format!("{parent}.{id}")), id.clone()];
        dependencies_in(fields).filter(|id| !names(id).iter().any(|id| is_there(document, all, id))).collect()
    };
    if !absent.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(&absent)));
    }
    let siblings = subtasks(document, &mut tasks[place])?;
    let (next, id) = next_id(document, siblings);
    siblings.push(entry(id, fields));
    Ok(Changed { ids: vec![TaskId::new(format!("{parent}.{next}"))] })
}

fn dependencies_in(fields: &[(String, Value)]) -> impl Iterator<Item = TaskId> {
    let lists = fields.iter().filter(|(key, _)| key == "dependencies").filter_map(|(_, value)| value.as_array());
    let plain = |id: &Value| id.as_str().map_or_else(|| id.to_string(), ToOwned::to_owned);
    lists.flatten().map(move |id| TaskId::new(plain(id)))
}

pub(super) fn remove(document: &Document, list: &mut Tree, ids: &[TaskId]) -> Result<Changed, Refusal> {
    let unknown: Vec<&TaskId> = ids.iter().filter(|id| !is_there(document, list, id)).collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(unknown)));
    }
    let gone = |dependency: &TaskId| {
        let is_within =
            |id: &TaskId| dependency.as_str().strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with('.'));
        ids.iter().any(|id| dependency == id || is_within(id))
    };
    // While everything is in its place, a subtask's number still names its sibling.
    rewrite_dependencies(document, list, |_, dependency| if gone(&dependency) { None } else { Some(dependency) })?;
    for id in ids {
        take(document, list, id)?;
    }
    Ok(Changed::default())
}

/// Takes a task or subtask out; one that went with its task already is no error.
pub(super) fn take(document: &Document, list: &mut Tree, id: &TaskId) -> Result<Option<Tree>, Refusal> {
    let tasks = elements(document, list)?;
    if let Some(place) = position(document, tasks, id.as_str()) {
        return Ok(Some(tasks.remove(place)));
    }
    let Some((parent, own)) = id.as_str().rsplit_once('.') else { return Ok(None) };
    let Some(place) = position(document, tasks, parent) else { return Ok(None) };
    let siblings = subtasks(document, &mut tasks[place])?;
    Ok(subtask_position(document, siblings, own).map(|place| siblings.remove(place)))
}

/// Asks `rule` for each dependency, given the task and the absolute id, whether it stays, goes, or becomes another.
pub(super) fn rewrite_dependencies(
    document: &Document,
    list: &mut Tree,
    rule: impl Fn(&TaskId, TaskId) -> Option<TaskId>,
) -> Result<(), Refusal> {
    for task in elements(document, list)? {
        let Some(id) = id_of(document, task) else { continue };
        rewrite_one(document, task, &TaskId::new(id.as_str()), None, &rule);
        if !task.has_elements(document, "subtasks") {
            continue;
        }
        let numbers: BTreeSet<String> =
            task.ids_within(document, "subtasks").map(|id| number(&id).to_owned()).collect();
        let mut changed = task.clone();
        let mut is_changed = false;
        for subtask in subtasks(document, &mut changed)? {
            let Some(own) = id_of(document, subtask) else { continue };
            let own = number(&own).to_owned();
            let absolute = TaskId::new(format!("{id}.{own}"));
            is_changed |= rewrite_one(document, subtask, &absolute, Some((&id, &numbers, &own)), &rule);
        }
        if is_changed {
            *task = changed;
        }
    }
    Ok(())
}

/// Tells whether something was changed; what is not changed is not opened.
fn rewrite_one(
    document: &Document,
    task: &mut Tree,
    id: &TaskId,
    within: Option<(&str, &BTreeSet<String>, &str)>,
    rule: &impl Fn(&TaskId, TaskId) -> Option<TaskId>,
) -> bool {
    let absolute = |written: &str| match within {
        Some((parent, numbers, own)) if numbers.contains(written) && written != own => {
            TaskId::new(format!("{parent}.{written}"))
        }
        _ => TaskId::from(written),
    };
    let key = if task.has_elements(document, "blockedBy") { "blockedBy" } else { "dependencies" };
    let mut seen = BTreeSet::new();
    let written = task.scalars_within(document, key);
    let wanted: Vec<Option<TaskId>> = written
        .iter()
        .map(|written| {
            let kept = rule(id, absolute(written.as_ref()?))?;
            seen.insert(kept.clone()).then_some(kept)
        })
        .collect();
    let is_same = written.iter().zip(&wanted).all(|(written, wanted)| match (written, wanted) {
        (Some(written), Some(wanted)) => absolute(written) == *wanted,
        (None, _) => true,
        (Some(_), None) => false,
    });
    if is_same {
        return false;
    }
    let Some(list) = task.member(document, key).and_then(|list| list.elements(document)) else { return false };
    let old = std::mem::take(list);
    for ((element, written), wanted) in old.into_iter().zip(&written).zip(wanted) {
        match (written, wanted) {
            (None, _) => list.push(element),
            (Some(_), None) => {}
            (Some(written), Some(wanted)) if absolute(written) == wanted => list.push(element),
            (Some(_), Some(wanted)) => {
                let is_text = element.is_text_itself(document);
                list.push(spelled(&wanted, is_text));
            }
        }
    }
    true
}

/// An id as its neighbours are spelled: as a number only where it is one.
fn spelled(id: &TaskId, is_text: bool) -> Tree {
    match id.as_str().parse::<u64>() {
        Ok(number) if !is_text && number.to_string() == id.as_str() => Tree::new(&json!(number)),
        _ => Tree::text(id.as_str()),
    }
}

pub(super) fn add_dependency(
    document: &Document,
    list: &mut Tree,
    task: &TaskId,
    dependency: &TaskId,
) -> Result<Changed, Refusal> {
    let unknown: Vec<&TaskId> = [task, dependency].into_iter().filter(|id| !is_there(document, list, id)).collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(unknown)));
    }
    if task == dependency {
        return Err(Refusal::Itself(task.clone()));
    }
    let found = find(document, list, task)?;
    let key = if found.has_elements(document, "blockedBy") { "blockedBy" } else { "dependencies" };
    let written = found.scalars_within(document, key);
    // A sibling is named by its number, which is how every reader understands it.
    let parent = task.as_str().rsplit_once('.').map(|(parent, _)| parent);
    let own = match (parent, dependency.as_str().rsplit_once('.')) {
        (Some(parent), Some((other, number))) if parent == other => TaskId::from(number),
        _ => dependency.clone(),
    };
    if written.iter().flatten().any(|id| *id == own.as_str() || *id == dependency.as_str()) {
        return Ok(Changed::default());
    }
    let is_list = found.member(document, key).is_some_and(|list| list.elements(document).is_some());
    if !is_list {
        found.set(document, key, Tree::new(&json!([])));
    }
    let list = found.member(document, key).and_then(|list| list.elements(document));
    let list = list.ok_or(Refusal::NoPlace("a task is not an object"))?;
    let is_text = list.last().is_some_and(|last| last.is_text_itself(document));
    list.push(spelled(&own, is_text));
    Ok(Changed { ids: vec![task.clone()] })
}

pub(super) fn remove_dependencies(
    document: &Document,
    list: &mut Tree,
    edges: &[(TaskId, TaskId)],
) -> Result<Changed, Refusal> {
    let unwanted: BTreeSet<(&TaskId, &TaskId)> = edges.iter().map(|(task, dependency)| (task, dependency)).collect();
    rewrite_dependencies(document, list, |task, dependency| {
        (!unwanted.contains(&(task, &dependency))).then_some(dependency)
    })?;
    Ok(Changed { ids: edges.iter().map(|(task, _)| task.clone()).collect() })
}

/// Gives a task another id or place: a task another number, or a place among the subtasks of another, or back.
pub(super) fn rename(document: &Document, list: &mut Tree, from: &TaskId, to: &TaskId) -> Result<Changed, Refusal> {
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
            return Err(Refusal::NoPlace("a task with subtasks can't become a subtask"));
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
    rewrite_dependencies(document, list, |_, dependency| Some(renamed(dependency)))?;
    let place = position(document, elements(document, list)?, from.as_str());
    let mut moved = take(document, list, from)?.ok_or_else(unknown)?;
    let is_text = moved.is_text(document, "id");
    moved.set(document, "id", spelled(&TaskId::from(number(to.as_str())), is_text));
    let is_same_kind = target.is_none() && place.is_some();
    if !is_same_kind && !own.is_empty() {
        let parent = target.map(|(parent, _)| format!("{parent}."));
        let local = |id: &TaskId| match &parent {
            Some(parent) => {
                spelled(&TaskId::from(id.as_str().strip_prefix(parent.as_str()).unwrap_or(id.as_str())), true)
            }
            None => spelled(id, false),
        };
        moved.set(document, "dependencies", Tree::Array(None, own.iter().map(local).collect()));
    }
    let tasks = elements(document, list)?;
    match target {
        Some((parent, _)) => {
            let at = position(document, tasks, parent).ok_or_else(|| Refusal::UnknownTasks(format!("`{parent}`")))?;
            subtasks(document, &mut tasks[at])?.push(moved);
        }
        None => tasks.insert(place.unwrap_or(tasks.len()), moved),
    }
    Ok(Changed { ids: vec![to.clone()] })
}

fn absolute_dependencies(document: &Document, list: &mut Tree, id: &TaskId) -> Result<Vec<TaskId>, Refusal> {
    let siblings: BTreeSet<String> = match id.as_str().rsplit_once('.') {
        Some((parent, _)) => match find(document, list, &TaskId::from(parent)) {
            Ok(parent) => parent.ids_within(document, "subtasks").map(|id| number(&id).to_owned()).collect(),
            Err(_) => BTreeSet::new(),
        },
        None => BTreeSet::new(),
    };
    let found = find(document, list, id)?;
    let absolute = |written: String| match id.as_str().rsplit_once('.') {
        Some((parent, _)) if siblings.contains(&written) => TaskId::new(format!("{parent}.{written}")),
        _ => TaskId::new(written),
    };
    Ok(found.scalars_within(document, "dependencies").into_iter().flatten().map(absolute).collect())
}

pub(super) fn set_fields(
    document: &Document,
    list: &mut Tree,
    fields: &[(TaskId, String, Value)],
) -> Result<Changed, Refusal> {
    for (id, key, value) in fields {
        let task = find(document, list, id)?;
        match key.split_once('.') {
            None => task.set(document, key, Tree::new(value)),
            Some((outer, inner)) => {
                if task.member(document, outer).and_then(|member| member.members(document)).is_none() {
                    task.set(document, outer, Tree::new(&json!({})));
                }
                if let Some(member) = task.member(document, outer) {
                    member.set(document, inner, Tree::new(value));
                }
            }
        }
    }
    Ok(Changed { ids: fields.iter().map(|(id, _, _)| id.clone()).collect() })
}
