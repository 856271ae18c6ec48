//! Task Master's `tasks.json`, and tm's own file: which of its tags is read, and what is odd about its shape.

use super::document::{Document, Kind, Value};
use super::fields::Reader;
use super::loaded::{Loaded, MASTER, holder, lists};
use super::{Backlog, BacklogError, ReadOptions, Warning};
use std::path::Path;
use tm_scheduler::{Tag, quoted};

/// Returns the tag that is meant.
pub(super) fn tag(
    path: &Path,
    loaded: &Loaded,
    options: &ReadOptions,
    current: Option<Tag>,
) -> Result<Tag, BacklogError> {
    let lists = lists(&loaded.document);
    let names: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
    let tag = choose_tag(path, &names, options, current)?;
    refuse_plain_values(path, &loaded.document)?;
    Ok(tag)
}

/// What is no list and no map holds no tasks.
fn refuse_plain_values(path: &Path, document: &Document) -> Result<(), BacklogError> {
    let is_plain = |root: &Value<'_>| !matches!(root.kind(), Kind::Object | Kind::Array);
    match document.root().filter(is_plain) {
        None => Ok(()),
        Some(root) => {
            let held: String = root.raw().chars().take(40).collect();
            let why = format!("it holds `{held}`, which is no backlog");
            Err(BacklogError::syntax(path, why))
        }
    }
}

/// Reads the tasks of a tag.
pub(super) fn read(loaded: &Loaded, tag: Tag) -> Backlog {
    let lists = lists(&loaded.document);
    let names: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
    let mut reader = Reader::default();
    warn_of_shape(&loaded.document, &lists, &mut reader);
    let list = lists.iter().find(|(name, _)| name == tag.as_str());
    let tasks = list
        .map(|(_, list)| reader.tasks(*list))
        .unwrap_or_default();
    reader.place(loaded.positions(&reader.nodes));
    let tags = names.into_iter().map(Tag::from).collect();
    reader.backlog(tag, tags, tasks)
}

/// What holds no list of tasks must not pass for a backlog in which everything is done.
fn warn_of_shape(document: &Document, lists: &[(String, Value<'_>)], reader: &mut Reader) {
    let Some(root) = document.root() else {
        reader.warnings.push(Warning {
            task: None,
            field: "file".to_owned(),
            message: "is blank; there is no list of tasks in it".to_owned(),
            position: None,
        });
        return;
    };
    if root.kind() == Kind::Array && root.elements().next().is_none() {
        reader.warn(root, None, "tasks", "the file is an empty list");
    }
    let mut is_odd = false;
    let tags = holder(root)
        .members()
        .map(|(name, value)| (name.into_owned(), value));
    for (name, holder) in tags.chain([(MASTER.to_owned(), root)]) {
        let tasks = holder
            .get("tasks")
            .filter(|tasks| tasks.kind() != Kind::Array);
        let Some(tasks) = tasks else {
            continue;
        };
        let is_tag = holder.node_index() == root.node_index()
            && tasks.kind() == Kind::Object
            && tasks.get("tasks").is_some();
        if !is_tag {
            is_odd = true;
            let message = format!("of tag `{name}` is not a list; nothing of it is read");
            reader.warn(tasks, None, "tasks", message);
        }
    }
    if lists.is_empty() && !is_odd && root.kind() == Kind::Object {
        reader.warn(root, None, "tasks", "there is no list of tasks in the file");
    }
}

/// A tag that was asked for must be there; otherwise the current one, `master`, or the only one.
fn choose_tag(
    path: &Path,
    names: &[&str],
    options: &ReadOptions,
    current: Option<Tag>,
) -> Result<Tag, BacklogError> {
    if let Some(asked) = options.tag.as_ref().or(options.environment_tag.as_ref()) {
        if names.contains(&asked.as_str()) || names.is_empty() {
            return Ok(asked.clone());
        }
        return Err(BacklogError::UnknownTag {
            path: path.to_owned(),
            tag: asked.to_string(),
            known: quoted(names),
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
