//! Task Master's `tasks.json` in all its shapes: where the tags are, and where a task of a tag is.

use super::document::{Document, Edits, Kind, Value};
use super::fields::{Reader, id, plain};
use super::places::positions;
use super::{Backlog, BacklogError, ReadOptions, RollUp, SourceKind, StatusChange, StatusOutcome};
use std::collections::BTreeMap;
use std::path::Path;
use tm_scheduler::{Status, Tag, Task, TaskId};

/// The tag of a file without tags, and the one that is current when nothing says otherwise.
pub(super) const MASTER: &str = "master";

/// Returns the list of tasks of each tag, in the order of the file.
pub(super) fn lists(document: &Document) -> Vec<(String, Value<'_>)> {
    let Some(root) = document.root() else {
        return Vec::new();
    };
    if root.kind() == Kind::Array {
        return vec![(MASTER.to_owned(), root)];
    }
    let tags = root
        .get("tags")
        .filter(|tags| tags.kind() == Kind::Object)
        .unwrap_or(root);
    let mut lists = lists_by_tag(tags);
    // A file that has both forms keeps its untagged tasks in the tag that such a file always had.
    if let Some(tasks) = root
        .get("tasks")
        .filter(|tasks| tasks.kind() == Kind::Array)
        && !lists.iter().any(|(tag, _)| tag == MASTER)
    {
        lists.insert(0, (MASTER.to_owned(), tasks));
    }
    lists
}

fn lists_by_tag(tags: Value<'_>) -> Vec<(String, Value<'_>)> {
    let tagged = tags
        .members()
        .filter(|(key, _)| key != "tasks" && key != "metadata");
    tagged
        .filter_map(|(key, value)| Some((key.into_owned(), list_of(value)?)))
        .collect()
}

/// A tag holds its list as `tasks`, or is the list.
fn list_of(tag: Value<'_>) -> Option<Value<'_>> {
    match tag.kind() {
        Kind::Array => Some(tag),
        _ => tag.get("tasks").filter(|tasks| tasks.kind() == Kind::Array),
    }
}

/// Reads the tasks of a tag; `yaml` is the text that people see when the document was made from it.
pub(super) fn read(
    path: &Path,
    document: &Document,
    yaml: Option<&str>,
    options: &ReadOptions,
    current: Option<Tag>,
) -> Result<Backlog, BacklogError> {
    let lists = lists(document);
    let names: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
    let tag = choose_tag(path, &names, options, current)?;
    let mut reader = Reader::default();
    warn_of_shape(path, document, lists.is_empty(), &mut reader)?;
    let tasks = lists
        .iter()
        .find(|(name, _)| name == tag.as_str())
        .map(|(_, list)| reader.tasks(*list));
    let kind = if yaml.is_some() {
        SourceKind::Yaml
    } else {
        SourceKind::TaskMaster
    };
    let positions = positions(
        kind,
        yaml.unwrap_or(document.text()),
        document,
        &reader.nodes,
    );
    reader.place(positions);
    let tags = names.into_iter().map(Tag::from).collect();
    Ok(reader.backlog(
        tag,
        tags,
        tasks.unwrap_or_default(),
        options.group.as_deref(),
    ))
}

/// What holds no list of tasks must not pass for a backlog in which everything is done.
fn warn_of_shape(
    path: &Path,
    document: &Document,
    has_no_list: bool,
    reader: &mut Reader,
) -> Result<(), BacklogError> {
    let Some(root) = document.root() else {
        reader.warn_of_file("is blank; there is no list of tasks in it");
        return Ok(());
    };
    match root.kind() {
        Kind::Object | Kind::Array => {}
        _ => {
            let why = format!(
                "it holds `{}`, which is no backlog",
                root.raw().chars().take(40).collect::<String>()
            );
            return Err(BacklogError::Syntax {
                path: path.to_owned(),
                why,
                position: None,
            });
        }
    }
    if root.kind() == Kind::Array && root.elements().next().is_none() {
        reader.warn(root, None, "tasks", "the file is an empty list");
    }
    let tags = root
        .get("tags")
        .filter(|tags| tags.kind() == Kind::Object)
        .unwrap_or(root);
    let mut is_odd = false;
    let holders = tags
        .members()
        .filter(|(_, value)| value.kind() == Kind::Object);
    for (name, holder) in holders
        .map(|(name, value)| (name.into_owned(), value))
        .chain([(MASTER.to_owned(), root)])
    {
        let Some(tasks) = holder
            .get("tasks")
            .filter(|tasks| tasks.kind() != Kind::Array)
        else {
            continue;
        };
        let is_tag = holder.node_index() == root.node_index()
            && tasks.kind() == Kind::Object
            && tasks.get("tasks").is_some();
        if !is_tag {
            is_odd = true;
            reader.warn(
                tasks,
                None,
                "tasks",
                format!("of tag `{name}` is not a list; nothing of it is read"),
            );
        }
    }
    if has_no_list && !is_odd && root.kind() == Kind::Object {
        reader.warn(root, None, "tasks", "there is no list of tasks in the file");
    }
    Ok(())
}

/// Returns what the file holds for each task of a backlog, in the same order.
pub(super) fn entries(document: &Document, backlog: &Backlog) -> Vec<serde_json::Value> {
    let lists = lists(document);
    let list = lists
        .iter()
        .find(|(name, _)| name == backlog.tag.as_str())
        .map(|(_, list)| *list);
    // A group leaves tasks out: what is left stands in the same order as in the file.
    let mut values = list
        .into_iter()
        .flat_map(Value::elements)
        .filter(|value| value.kind() == Kind::Object);
    let of_task =
        |task: &Task| values.find(|value| id(*value).as_deref() == Some(task.id.as_str()));
    let entry = |value: Value<'_>| serde_json::from_str(value.raw()).unwrap_or_default();
    backlog
        .tasks
        .iter()
        .map(of_task)
        .map(|value| value.map(entry).unwrap_or_default())
        .collect()
}

/// A tag that was asked for must be there; otherwise the current one, `master`, or the only one.
fn choose_tag(
    path: &Path,
    names: &[&str],
    options: &ReadOptions,
    current: Option<Tag>,
) -> Result<Tag, BacklogError> {
    if let Some(asked) = options
        .tag
        .clone()
        .or_else(|| options.environment_tag.clone())
    {
        if names.contains(&asked.as_str()) || names.is_empty() {
            return Ok(asked);
        }
        let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let (path, tag) = (path.to_owned(), asked.to_string());
        return Err(BacklogError::UnknownTag {
            path,
            tag,
            known: known.join(", "),
        });
    }
    let is_there = |tag: &Tag| names.contains(&tag.as_str());
    let only = || (names.len() == 1).then(|| Tag::from(names[0]));
    let master = Tag::from(MASTER);
    Ok(current
        .filter(is_there)
        .or_else(|| is_there(&master).then(|| master.clone()))
        .or_else(only)
        .unwrap_or(master))
}

/// Returns the changed text, `None` when nothing differs, and what each change came to.
pub(super) fn set_statuses(
    path: &Path,
    document: &Document,
    tag: &Tag,
    changes: &[StatusChange],
    roll_up: RollUp,
    stamp: Option<&str>,
) -> Result<(Option<String>, Vec<StatusOutcome>), BacklogError> {
    let lists = lists(document);
    let list = lists
        .iter()
        .find(|(name, _)| name == tag.as_str())
        .map(|(_, list)| *list);
    let tasks: Vec<Task> = list
        .map(|list| Reader::default().tasks(list))
        .unwrap_or_default();
    let places = list.map(places).unwrap_or_default();
    let unknown: Vec<String> = changes
        .iter()
        .filter(|change| !places.contains_key(&change.id))
        .map(|change| format!("`{}`", change.id))
        .collect();
    if !unknown.is_empty() {
        return Err(BacklogError::UnknownTasks {
            path: path.to_owned(),
            ids: unknown.join(", "),
        });
    }
    let mut wanted: BTreeMap<TaskId, Status> = changes
        .iter()
        .map(|change| (change.id.clone(), change.status.clone()))
        .collect();
    if roll_up == RollUp::Parents {
        roll_up_parents(&tasks, &mut wanted);
    }
    let mut edits = Edits::default();
    let mut outcomes = Vec::new();
    for (id, status) in &wanted {
        let value = places[id];
        let old = value
            .get("status")
            .and_then(plain)
            .map_or(Status::Pending, Status::from);
        if old != *status || value.get("status").is_none() {
            edit(&mut edits, value, status, stamp);
        }
        outcomes.push(StatusOutcome {
            id: id.clone(),
            old,
            new: status.clone(),
        });
    }
    Ok((edits.apply(document), outcomes))
}

/// Returns the statuses that were written and are as they were before, without a newer stamp.
pub(super) fn undone(
    document: &Document,
    tag: &Tag,
    written: &[StatusOutcome],
    stamp: &str,
) -> Vec<StatusChange> {
    let lists = lists(document);
    let list = lists
        .iter()
        .find(|(name, _)| name == tag.as_str())
        .map(|(_, list)| *list);
    let places = list.map(places).unwrap_or_default();
    let is_undone = |outcome: &&StatusOutcome| {
        places.get(&outcome.id).is_some_and(|value| {
            let status = value
                .get("status")
                .and_then(plain)
                .map_or(Status::Pending, Status::from);
            let is_older = value
                .get("updatedAt")
                .and_then(plain)
                .is_none_or(|updated| updated.as_str() < stamp);
            status == outcome.old && outcome.old != outcome.new && is_older
        })
    };
    let change = |outcome: &StatusOutcome| StatusChange {
        id: outcome.id.clone(),
        status: outcome.new.clone(),
    };
    written.iter().filter(is_undone).map(change).collect()
}

/// Returns where each task and subtask stands; of several with one id the first.
fn places(list: Value<'_>) -> BTreeMap<TaskId, Value<'_>> {
    let mut places = BTreeMap::new();
    for (id, value) in all_places(list) {
        places.entry(id).or_insert(value);
    }
    places
}

/// Returns where each task and subtask stands, in the order of the file, subtasks behind their task.
pub(super) fn all_places(list: Value<'_>) -> Vec<(TaskId, Value<'_>)> {
    let mut places = Vec::new();
    for task in list.elements() {
        let Some(task_id) = id(task) else { continue };
        let subtasks = task.get("subtasks").into_iter().flat_map(Value::elements);
        let subtasks: Vec<_> = subtasks
            .filter_map(|subtask| Some((id(subtask)?, subtask)))
            .collect();
        places.push((TaskId::new(task_id.as_str()), task));
        for (subtask_id, subtask) in subtasks {
            let number = subtask_id.rsplit('.').next().unwrap_or_default();
            places.push((TaskId::new(format!("{task_id}.{number}")), subtask));
        }
    }
    places
}

fn edit(edits: &mut Edits, task: Value<'_>, status: &Status, stamp: Option<&str>) {
    let quoted = format!("\"{status}\"");
    let last = task.members().last().map(|(_, value)| value);
    let after = match (task.get("status"), last) {
        (Some(old), _) => {
            edits.replace(old, &quoted);
            old
        }
        (None, Some(last)) => {
            edits.insert_after(task, last, "status", &quoted);
            last
        }
        (None, None) => return,
    };
    let Some(stamp) = stamp else { return };
    let stamp = format!("\"{stamp}\"");
    match task.get("updatedAt") {
        Some(old) => edits.replace(old, &stamp),
        None => edits.insert_after(task, after, "updatedAt", &stamp),
    }
}

/// A parent follows its subtasks: all done, one begun or done, all pending; a parent that is changed itself does not.
fn roll_up_parents(tasks: &[Task], wanted: &mut BTreeMap<TaskId, Status>) {
    for parent in tasks.iter().filter(|task| !task.subtasks.is_empty()) {
        let is_touched = parent
            .subtasks
            .iter()
            .any(|subtask| wanted.contains_key(&subtask.id));
        if !is_touched || wanted.contains_key(&parent.id) {
            continue;
        }
        let statuses: Vec<&Status> = parent
            .subtasks
            .iter()
            .map(|subtask| wanted.get(&subtask.id).unwrap_or(&subtask.status))
            .collect();
        let status = if statuses.iter().all(|status| **status == Status::Done) {
            Status::Done
        } else if statuses
            .iter()
            .any(|status| matches!(status, Status::InProgress | Status::Done))
        {
            Status::InProgress
        } else if statuses.iter().all(|status| **status == Status::Pending) {
            Status::Pending
        } else {
            continue;
        };
        wanted.insert(parent.id.clone(), status);
    }
}
