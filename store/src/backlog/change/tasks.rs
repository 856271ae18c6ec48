//! Changes within the list of one tag: tasks, their fields and subtasks.

use super::dependencies::{Repeats, rewrite_dependencies};
use super::{FieldNames, Ids, NO_OBJECT, Place, Refusal, Tasks, pending};
use crate::backlog::StatusOutcome;
use crate::backlog::document::Tree;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::TaskId;

/// The fields of a new task.
pub(super) type Fields = [(String, Value)];

/// The last part of an id: a subtask's number.
pub(in crate::backlog) fn number(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or(id)
}

/// Returns the ids that stand in a list.
pub(super) fn ids(tasks: &[Tree<'_>]) -> impl Iterator<Item = String> {
    tasks.iter().filter_map(|task| task.plain("id"))
}

fn position(tasks: &[Tree<'_>], id: &str) -> Option<usize> {
    let is_it = |task: &Tree<'_>| task.plain("id").as_deref() == Some(id);
    tasks.iter().position(is_it)
}

/// Returns where a task stands or, for `<task>.<n>`, where the task stands and where its subtask stands in it.
fn way(tasks: &[Tree<'_>], id: &TaskId) -> Option<(usize, Option<usize>)> {
    if let Some(place) = position(tasks, id.as_str()) {
        return Some((place, None));
    }
    let (parent, own) = id.as_str().rsplit_once('.')?;
    let place = position(tasks, parent)?;
    let mut siblings = tasks[place].parts("subtasks").into_iter();
    let is_it = |task: Tree<'_>| task.plain("id").is_some_and(|id| number(&id) == own);
    Some((place, Some(siblings.position(is_it)?)))
}

fn is_there(tasks: &[Tree<'_>], id: &TaskId) -> bool {
    way(tasks, id).is_some()
}

/// Refuses ids of tasks that are not there.
pub(super) fn must_be_there<'i>(
    tasks: &[Tree<'_>],
    ids: impl IntoIterator<Item = &'i TaskId>,
) -> Result<(), Refusal> {
    let is_absent = |id: &&TaskId| !is_there(tasks, id);
    let absent: Vec<&TaskId> = ids.into_iter().filter(is_absent).collect();
    if absent.is_empty() {
        return Ok(());
    }
    Err(Refusal::unknown(absent))
}

/// Finds a task or, as `<task>.<n>`, a subtask to change.
pub(super) fn find<'t, 'd>(
    tasks: &'t mut Tasks<'d>,
    id: &TaskId,
) -> Result<&'t mut Tree<'d>, Refusal> {
    let unknown = || Refusal::unknown([id]);
    let (place, own) = way(tasks, id).ok_or_else(unknown)?;
    let task = &mut tasks[place];
    match own {
        None => Ok(task),
        Some(own) => {
            let siblings = task.list("subtasks").ok_or_else(unknown)?;
            Ok(&mut siblings[own])
        }
    }
}

/// Takes a task or subtask out; nothing where it went with its task already.
pub(super) fn take<'d>(tasks: &mut Tasks<'d>, id: &TaskId) -> Option<Tree<'d>> {
    Some(match way(tasks, id)? {
        (place, None) => tasks.remove(place),
        (place, Some(own)) => tasks[place].list("subtasks")?.remove(own),
    })
}

/// Where each task of a list stands, for many changes in one pass.
pub(super) struct Index(BTreeMap<String, usize>);

impl Index {
    pub(super) fn new(tasks: &[Tree<'_>]) -> Self {
        // Of several with one id the first.
        let last_first = tasks.iter().enumerate().rev();
        let places = last_first.filter_map(|(place, task)| Some((task.plain("id")?, place)));
        Self(places.collect())
    }

    pub(super) fn place(&self, id: &TaskId) -> Result<usize, Refusal> {
        let place = self.0.get(id.as_str()).copied();
        place.ok_or_else(|| Refusal::unknown([id]))
    }

    /// As `find`, and faster where it is no subtask.
    fn find<'t, 'd>(
        &self,
        tasks: &'t mut Tasks<'d>,
        id: &TaskId,
    ) -> Result<&'t mut Tree<'d>, Refusal> {
        match self.place(id) {
            Ok(place) => Ok(&mut tasks[place]),
            Err(_) => find(tasks, id),
        }
    }
}

pub(super) fn set_fields(tasks: &mut Tasks<'_>, fields: &[(TaskId, String, Value)]) -> Ids {
    let index = Index::new(tasks);
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

/// Sets statuses of tasks; a stamp goes beside the status.
pub(in crate::backlog) fn set_statuses(
    tasks: &mut Tasks<'_>,
    spelling: FieldNames,
    statuses: &[StatusOutcome],
    stamp: Option<&str>,
) -> Result<(), Refusal> {
    let index = Index::new(tasks);
    for StatusOutcome { id, new, .. } in statuses {
        let task = index.find(tasks, id)?;
        task.set("status", Tree::text(spelling.status(new)));
        if let Some(stamp) = stamp {
            task.set_behind("status", "updatedAt", Tree::text(stamp));
        }
    }
    Ok(())
}

/// The next free number, spelled as the ids beside it are.
fn next_id(tasks: &[Tree<'_>], spelling: FieldNames, at_least: u64) -> (u64, Value) {
    let numbers = ids(tasks).filter_map(|id| number(&id).parse::<u64>().ok());
    let next = numbers.max().unwrap_or(0).saturating_add(1).max(at_least);
    let last = tasks.last().and_then(|task| task.get("id"));
    if spelling.is_text() || last.is_some_and(|id| id.is_text()) {
        (next, json!(next.to_string()))
    } else {
        (next, json!(next))
    }
}

fn entry<'d>(id: Value, fields: &Fields, spelling: FieldNames) -> Tree<'d> {
    let mut entry = serde_json::Map::from_iter([("id".to_owned(), id)]);
    entry.extend(fields.iter().cloned());
    entry.entry("status").or_insert_with(pending);
    Tree::new(&Value::Object(spelling.entry(entry)))
}

pub(super) fn add(place: Place<'_>, tasks: &mut Tasks<'_>, fields: &Fields) -> Ids {
    must_be_there(tasks, &dependencies_in(fields))?;
    let (next, id) = next_id(tasks, place.spelling, place.next_number);
    tasks.push(entry(id, fields, place.spelling));
    Ok(vec![TaskId::new(next.to_string())])
}

/// Adds many tasks in one pass.
pub(super) fn add_all(
    spelling: FieldNames,
    tasks: &mut Tasks<'_>,
    new: &[(TaskId, Vec<(String, Value)>)],
) -> Ids {
    let mut taken: BTreeSet<String> = ids(tasks).collect();
    let (_, next) = next_id(tasks, spelling, 1);
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
    Ok(new.iter().map(|(id, _)| id.clone()).collect())
}

pub(super) fn add_subtask(
    spelling: FieldNames,
    tasks: &mut Tasks<'_>,
    parent: &TaskId,
    fields: &Fields,
) -> Ids {
    let place = position(tasks, parent.as_str()).ok_or_else(|| Refusal::unknown([parent]))?;
    let is_sibling = |id: &TaskId| is_there(tasks, &TaskId::new(format!("{parent}.{id}")));
    let dependencies = dependencies_in(fields);
    must_be_there(tasks, dependencies.iter().filter(|id| !is_sibling(id)))?;
    let siblings = tasks[place].list("subtasks").ok_or(NO_OBJECT)?;
    let (next, id) = next_id(siblings, spelling, 1);
    siblings.push(entry(id, fields, spelling));
    Ok(vec![TaskId::new(format!("{parent}.{next}"))])
}

/// The text of an id, which may be written as a number.
pub(super) fn plain(id: &Value) -> String {
    id.as_str()
        .map_or_else(|| id.to_string(), ToOwned::to_owned)
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

/// An id as its neighbours are spelled: as a number only where it is one.
pub(super) fn spelled<'d>(id: &str, is_text: bool) -> Tree<'d> {
    match id.parse::<u64>() {
        Ok(number) if !is_text && number.to_string() == id => Tree::new(&json!(number)),
        _ => Tree::text(id),
    }
}

/// Gives a task another id or place: a task another number, or a place among the subtasks of another, or back.
pub(super) fn rename(
    tasks: &mut Tasks<'_>,
    spelling: FieldNames,
    from: &TaskId,
    to: &TaskId,
) -> Ids {
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
    // Dependencies of a subtask are written as siblings' numbers: they are made absolute before it leaves them.
    let mut own = Vec::new();
    rewrite_dependencies(tasks, Repeats::Keep, |task, dependency| {
        if task == from {
            own.push(dependency.clone());
        }
        Some(renamed(dependency, from, to))
    });
    let mut moved = take(tasks, from).ok_or_else(|| Refusal::unknown([from]))?;
    let is_text = moved.get("id").is_some_and(|id| id.is_text());
    moved.set("id", spelled(number(to.as_str()), is_text));
    if (parent.is_some() || within.is_some()) && !own.is_empty() {
        let ids = own.iter().map(|id| local(id, parent.as_ref())).collect();
        moved.set(spelling.dependencies(), Tree::Array(None, ids));
    }
    match parent {
        Some(parent) => {
            let at = position(tasks, parent.as_str());
            let at = at.ok_or_else(|| Refusal::unknown([&parent]))?;
            tasks[at].list("subtasks").ok_or(NO_OBJECT)?.push(moved);
        }
        None if within.is_some() => tasks.push(moved),
        None => tasks.insert(place, moved),
    }
    Ok(vec![to.clone()])
}

/// The id that a task has when it, or the task that it is within, has another one.
fn renamed(id: TaskId, from: &TaskId, to: &TaskId) -> TaskId {
    match id.as_str().strip_prefix(from.as_str()) {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => {
            TaskId::new(format!("{to}{rest}"))
        }
        _ => id,
    }
}

/// How a subtask of that parent, or a task, names another one.
fn local<'d>(id: &TaskId, parent: Option<&TaskId>) -> Tree<'d> {
    let Some(parent) = parent else {
        return spelled(id.as_str(), false);
    };
    let own = id.as_str().strip_prefix(parent.as_str());
    let own = own.and_then(|own| own.strip_prefix('.'));
    Tree::text(own.unwrap_or(id.as_str()))
}
