//! Changes to the tags of a file, and the move of a task from one to another.

use super::dependencies::{Repeats, rewrite_dependencies};
use super::find::{ids as ids_of, take};
use super::{Crossing, Ids, NO_LIST, Refusal, is_master, list as list_or_new, quoted};
use crate::backlog::document::Tree;
use serde_json::json;
use std::collections::BTreeSet;
use tm_scheduler::{Tag, TaskId};

/// Keys of a file that are no tags.
const RESERVED: [&str; 2] = ["tasks", "metadata"];

/// Returns the object that holds the tags: the file itself, or its `tags`.
fn holder<'t, 'd>(root: &'t mut Tree<'d>) -> Option<&'t mut Tree<'d>> {
    if root.member("tags").and_then(Tree::members).is_some() {
        root.member("tags")
    } else {
        Some(root)
    }
}

/// Returns the list of tasks of a tag.
pub(super) fn list<'t, 'd>(root: &'t mut Tree<'d>, tag: &Tag) -> Option<&'t mut Tree<'d>> {
    let is_list = |tree: &mut Tree<'d>| tree.elements().is_some();
    if is_master(tag)
        && root.member(tag.as_str()).is_none()
        && root.member("tasks").is_some_and(is_list)
    {
        return root.member("tasks");
    }
    let entry = holder(root)?.member(tag.as_str())?;
    if is_list(entry) {
        Some(entry)
    } else {
        entry.member("tasks")
    }
}

fn must_be_free(root: &mut Tree<'_>, name: &Tag) -> Result<(), Refusal> {
    let is_there = list(root, name).is_some()
        || holder(root).is_some_and(|holder| holder.member(name.as_str()).is_some());
    if is_there || RESERVED.contains(&name.as_str()) {
        return Err(Refusal::Taken(name.to_string()));
    }
    let is_sound = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.as_str().is_empty() || name.as_str().len() > 50 || !name.as_str().chars().all(is_sound)
    {
        return Err(Refusal::NoPlace(
            "a tag is made of at most 50 letters, digits, `-` and `_`",
        ));
    }
    Ok(())
}

pub(super) fn add(
    root: &mut Tree<'_>,
    name: &Tag,
    copy_of: Option<&Tag>,
    description: Option<&str>,
    stamp: &str,
) -> Ids {
    must_be_free(root, name)?;
    let tasks = match copy_of {
        Some(source) => list(root, source)
            .cloned()
            .ok_or_else(|| Refusal::UnknownTag(source.clone()))?,
        None => Tree::new(&json!([])),
    };
    let mut metadata = json!({"created": stamp, "updated": stamp});
    if let Some(description) = description {
        metadata["description"] = json!(description);
    }
    let metadata = ("metadata".to_owned(), Tree::new(&metadata));
    let entry = Tree::Object(None, vec![("tasks".to_owned(), tasks), metadata]);
    let members = holder(root).and_then(Tree::members);
    let members = members.ok_or(Refusal::NoPlace(
        "the file is a plain list, which has no tags",
    ))?;
    members.push((name.to_string(), entry));
    Ok(Vec::new())
}

type Members<'d> = Vec<(String, Tree<'d>)>;

/// Returns the members of what holds the tags, where one of them is that tag.
fn members_with<'t, 'd>(
    root: &'t mut Tree<'d>,
    name: &Tag,
) -> Result<&'t mut Members<'d>, Refusal> {
    let is_tag = |key: &str| key == name.as_str() && !RESERVED.contains(&key);
    holder(root)
        .and_then(Tree::members)
        .filter(|members| members.iter().any(|(key, _)| is_tag(key)))
        .ok_or_else(|| Refusal::UnknownTag(name.clone()))
}

pub(super) fn remove(root: &mut Tree<'_>, name: &Tag) -> Ids {
    members_with(root, name)?.retain(|(key, _)| key != name.as_str());
    Ok(Vec::new())
}

pub(super) fn rename(root: &mut Tree<'_>, from: &Tag, to: &Tag) -> Ids {
    must_be_free(root, to)?;
    let members = members_with(root, from)?;
    for (key, _) in members.iter_mut().filter(|(key, _)| key == from.as_str()) {
        to.as_str().clone_into(key);
    }
    Ok(Vec::new())
}

pub(super) fn move_tasks(
    root: &mut Tree<'_>,
    from: &Tag,
    ids: &[TaskId],
    to: &Tag,
    crossing: Crossing,
) -> Ids {
    if ids.iter().any(|id| id.as_str().contains('.')) {
        return Err(Refusal::NoPlace(
            "a subtask moves to another tag only with its task",
        ));
    }
    let target = list(root, to).ok_or_else(|| Refusal::UnknownTag(to.clone()))?;
    let taken: BTreeSet<String> = target
        .elements()
        .map(|tasks| ids_of(tasks).collect())
        .unwrap_or_default();
    let is_taken = |id: &&TaskId| from == to || taken.contains(id.as_str());
    if let Some(id) = ids.iter().find(is_taken) {
        return Err(Refusal::Taken(id.to_string()));
    }
    let source = list_or_new(root, from)?;
    let moved: BTreeSet<&str> = ids.iter().map(TaskId::as_str).collect();
    let is_within = |other: &TaskId| {
        let task = other.as_str().split('.').next();
        task.is_some_and(|task| moved.contains(task))
    };
    let mut edges = Vec::new();
    rewrite_dependencies(source, Repeats::Keep, |task, dependency| {
        if is_within(task) == is_within(&dependency) {
            return Some(dependency);
        }
        edges.push(format!("`{task}` → `{dependency}`"));
        None
    });
    if crossing == Crossing::Refuse && !edges.is_empty() {
        return Err(Refusal::Crosses {
            ids: quoted(ids),
            edges: edges.join(", "),
        });
    }
    let mut taken_out = Vec::with_capacity(ids.len());
    for id in ids {
        taken_out.push(take(source, id).ok_or_else(|| Refusal::unknown([id]))?);
    }
    let target = list(root, to).and_then(Tree::elements);
    target.ok_or(NO_LIST)?.extend(taken_out);
    Ok(ids.to_vec())
}
