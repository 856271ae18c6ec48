//! Changes to the tags of a file, and the move of a task from one to another.

use super::{Changed, Crossing, Refusal, dependencies, is_master, list as list_or_new, tasks};
use crate::backlog::document::{Document, Tree};
use serde_json::json;
use std::collections::BTreeSet;
use tm_scheduler::{Tag, TaskId};

/// Keys of a file that are no tags.
const RESERVED: [&str; 2] = ["tasks", "metadata"];

/// Returns the object that holds the tags: the file itself, or its `tags`.
fn holder<'t>(document: &Document, root: &'t mut Tree) -> Option<&'t mut Tree> {
    let has_tags = root
        .member(document, "tags")
        .is_some_and(|tags| tags.members(document).is_some());
    if has_tags {
        root.member(document, "tags")
    } else {
        Some(root)
    }
}

/// Returns the list of tasks of a tag.
pub(super) fn list<'t>(document: &Document, root: &'t mut Tree, tag: &Tag) -> Option<&'t mut Tree> {
    let is_untagged = is_master(tag) && root.member(document, tag.as_str()).is_none();
    if is_untagged
        && root
            .member(document, "tasks")
            .is_some_and(|list| list.elements(document).is_some())
    {
        return root.member(document, "tasks");
    }
    let entry = holder(document, root)?.member(document, tag.as_str())?;
    if entry.elements(document).is_some() {
        Some(entry)
    } else {
        entry.member(document, "tasks")
    }
}

fn must_be_free(document: &Document, root: &mut Tree, name: &Tag) -> Result<(), Refusal> {
    let is_there = list(document, root, name).is_some()
        || holder(document, root)
            .is_some_and(|holder| holder.member(document, name.as_str()).is_some());
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
    document: &Document,
    root: &mut Tree,
    name: &Tag,
    copy_of: Option<&Tag>,
    description: Option<&str>,
    stamp: &str,
) -> Result<Changed, Refusal> {
    must_be_free(document, root, name)?;
    let tasks = match copy_of {
        Some(source) => list(document, root, source)
            .cloned()
            .ok_or_else(|| Refusal::UnknownTag(source.clone()))?,
        None => Tree::new(&json!([])),
    };
    let mut metadata = json!({"created": stamp, "updated": stamp});
    if let Some(description) = description {
        metadata["description"] = json!(description);
    }
    let entry = Tree::Object(
        None,
        vec![
            ("tasks".to_owned(), tasks),
            ("metadata".to_owned(), Tree::new(&metadata)),
        ],
    );
    let holder = holder(document, root).ok_or(Refusal::NoPlace(
        "the file is a plain list, which has no tags",
    ))?;
    if holder.members(document).is_none() {
        return Err(Refusal::NoPlace(
            "the file is a plain list, which has no tags",
        ));
    }
    holder.set(document, name.as_str(), entry);
    Ok(Changed::default())
}

pub(super) fn remove(document: &Document, root: &mut Tree, name: &Tag) -> Result<Changed, Refusal> {
    let unknown = || Refusal::UnknownTag(name.clone());
    let members = holder(document, root)
        .and_then(|holder| holder.members(document))
        .ok_or_else(unknown)?;
    let before = members.len();
    members.retain(|(key, _)| key != name.as_str() || RESERVED.contains(&key.as_str()));
    if members.len() == before {
        Err(unknown())
    } else {
        Ok(Changed::default())
    }
}

pub(super) fn rename(
    document: &Document,
    root: &mut Tree,
    from: &Tag,
    to: &Tag,
) -> Result<Changed, Refusal> {
    must_be_free(document, root, to)?;
    let unknown = || Refusal::UnknownTag(from.clone());
    let members = holder(document, root)
        .and_then(|holder| holder.members(document))
        .ok_or_else(unknown)?;
    let is_tag = |key: &str| key == from.as_str() && !RESERVED.contains(&key);
    let entry = members
        .iter_mut()
        .find(|(key, _)| is_tag(key))
        .ok_or_else(unknown)?;
    to.as_str().clone_into(&mut entry.0);
    Ok(Changed::default())
}

pub(super) fn move_tasks(
    document: &Document,
    root: &mut Tree,
    from: &Tag,
    ids: &[TaskId],
    to: &Tag,
    crossing: Crossing,
) -> Result<Changed, Refusal> {
    if ids.iter().any(|id| id.as_str().contains('.')) {
        return Err(Refusal::NoPlace(
            "a subtask moves to another tag only with its task",
        ));
    }
    let target = list(document, root, to).ok_or_else(|| Refusal::UnknownTag(to.clone()))?;
    let taken: BTreeSet<String> = target.ids_of(document).collect();
    if let Some(id) = ids
        .iter()
        .find(|id| from == to || taken.contains(id.as_str()))
    {
        return Err(Refusal::Taken(id.to_string()));
    }
    let source = list_or_new(document, root, from)?;
    let moved: BTreeSet<&str> = ids.iter().map(TaskId::as_str).collect();
    let is_within = |other: &TaskId| {
        other
            .as_str()
            .split('.')
            .next()
            .is_some_and(|task| moved.contains(task))
    };
    let crossing_edges = std::cell::RefCell::new(Vec::new());
    dependencies::rewrite_dependencies(
        document,
        source,
        dependencies::Repeats::Keep,
        |task, dependency| {
            if is_within(task) == is_within(&dependency) {
                return Some(dependency);
            }
            crossing_edges
                .borrow_mut()
                .push(format!("`{task}` → `{dependency}`"));
            None
        },
    )?;
    let edges = crossing_edges.into_inner();
    if crossing == Crossing::Refuse && !edges.is_empty() {
        return Err(Refusal::Crosses {
            ids: super::quoted(ids),
            edges: edges.join(", "),
        });
    }
    let mut taken_out = Vec::with_capacity(ids.len());
    for id in ids {
        taken_out.push(
            tasks::take(document, source, id)?
                .ok_or_else(|| Refusal::UnknownTasks(format!("`{id}`")))?,
        );
    }
    let target = list(document, root, to).and_then(|list| list.elements(document));
    target
        .ok_or(Refusal::NoPlace("`tasks` is not a list"))?
        .extend(taken_out);
    Ok(Changed { ids: ids.to_vec() })
}
