//! Changes to what the tasks of one tag depend on.

use super::fields::Index;
use super::tasks::{elements, find, id_of, is_there, number, spelled, subtasks};
use super::{Changed, FieldNames, Refusal, quoted};
use crate::backlog::document::{Document, Tree};
use serde_json::json;
use std::collections::BTreeSet;
use tm_scheduler::TaskId;

pub(super) fn add_dependency(
    document: &Document,
    list: &mut Tree,
    spelling: FieldNames,
    task: &TaskId,
    dependency: &TaskId,
) -> Result<Changed, Refusal> {
    let unknown: Vec<&TaskId> = [task, dependency]
        .into_iter()
        .filter(|id| !is_there(document, list, id))
        .collect();
    if !unknown.is_empty() {
        return Err(Refusal::UnknownTasks(quoted(unknown)));
    }
    if task == dependency {
        return Err(Refusal::Itself(task.clone()));
    }
    let ids = if depend(
        document,
        find(document, list, task)?,
        spelling,
        task,
        dependency,
    )? {
        vec![task.clone()]
    } else {
        Vec::new()
    };
    Ok(Changed { ids })
}

/// Adds dependencies of tasks, not of subtasks, in one pass.
pub(super) fn add_dependencies(
    document: &Document,
    list: &mut Tree,
    spelling: FieldNames,
    edges: &[(TaskId, TaskId)],
) -> Result<Changed, Refusal> {
    let index = Index::new(document, list);
    let tasks = elements(document, list)?;
    let mut changed = Changed::default();
    for (task, dependency) in edges {
        index.place(dependency)?;
        if depend(
            document,
            &mut tasks[index.place(task)?],
            spelling,
            task,
            dependency,
        )? {
            changed.ids.push(task.clone());
        }
    }
    Ok(changed)
}

/// Adds a dependency to a task that was found; tells whether it was not there before.
fn depend(
    document: &Document,
    found: &mut Tree,
    spelling: FieldNames,
    task: &TaskId,
    dependency: &TaskId,
) -> Result<bool, Refusal> {
    let key = if found.has_elements(document, "blockedBy") {
        "blockedBy"
    } else {
        spelling.dependencies()
    };
    let written = found.scalars_within(document, key);
    // A sibling is named by its number, which is how every reader understands it.
    let parent = task.as_str().rsplit_once('.').map(|(parent, _)| parent);
    let own = match (parent, dependency.as_str().rsplit_once('.')) {
        (Some(parent), Some((other, number))) if parent == other => TaskId::from(number),
        _ => dependency.clone(),
    };
    if written
        .iter()
        .flatten()
        .any(|id| *id == own.as_str() || *id == dependency.as_str())
    {
        return Ok(false);
    }
    let is_list = found
        .member(document, key)
        .is_some_and(|list| list.elements(document).is_some());
    if !is_list {
        found.set(document, key, Tree::new(&json!([])));
    }
    let list = found
        .member(document, key)
        .and_then(|list| list.elements(document));
    let list = list.ok_or(Refusal::NoPlace("a task is not an object"))?;
    let is_text = spelling.is_text()
        || list
            .last()
            .is_some_and(|last| last.is_text_itself(document));
    list.push(spelled(&own, is_text));
    Ok(true)
}

pub(super) fn remove_dependencies(
    document: &Document,
    list: &mut Tree,
    edges: &[(TaskId, TaskId)],
) -> Result<Changed, Refusal> {
    let unwanted: BTreeSet<(&TaskId, &TaskId)> = edges
        .iter()
        .map(|(task, dependency)| (task, dependency))
        .collect();
    rewrite_dependencies(document, list, Repeats::Drop, |task, dependency| {
        (!unwanted.contains(&(task, &dependency))).then_some(dependency)
    })?;
    Ok(Changed {
        ids: edges.iter().map(|(task, _)| task.clone()).collect(),
    })
}

/// What becomes of a dependency that stands more than once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Repeats {
    /// It stays as it is.
    Keep,
    /// Only the first stays.
    Drop,
}

/// Asks `rule` for each dependency, given the task and the absolute id, whether it stays, goes, or becomes another.
pub(super) fn rewrite_dependencies(
    document: &Document,
    list: &mut Tree,
    repeats: Repeats,
    rule: impl Fn(&TaskId, TaskId) -> Option<TaskId>,
) -> Result<(), Refusal> {
    for task in elements(document, list)? {
        let Some(id) = id_of(document, task) else {
            continue;
        };
        rewrite_one(
            document,
            task,
            &TaskId::new(id.as_str()),
            None,
            repeats,
            &rule,
        );
        if !task.has_elements(document, "subtasks") {
            continue;
        }
        let numbers: BTreeSet<String> = task
            .ids_within(document, "subtasks")
            .map(|id| number(&id).to_owned())
            .collect();
        let mut changed = task.clone();
        let mut is_changed = false;
        for subtask in subtasks(document, &mut changed)? {
            let Some(own) = id_of(document, subtask) else {
                continue;
            };
            let own = number(&own).to_owned();
            let absolute = TaskId::new(format!("{id}.{own}"));
            is_changed |= rewrite_one(
                document,
                subtask,
                &absolute,
                Some((&id, &numbers, &own)),
                repeats,
                &rule,
            );
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
    repeats: Repeats,
    rule: &impl Fn(&TaskId, TaskId) -> Option<TaskId>,
) -> bool {
    let absolute = |written: &str| match within {
        Some((parent, numbers, own)) if numbers.contains(written) && written != own => {
            TaskId::new(format!("{parent}.{written}"))
        }
        _ => TaskId::from(written),
    };
    let key = if task.has_elements(document, "blockedBy") {
        "blockedBy"
    } else {
        "dependencies"
    };
    let mut seen = BTreeSet::new();
    let written = task.scalars_within(document, key);
    let wanted: Vec<Option<TaskId>> = written
        .iter()
        .map(|written| {
            let before = absolute(written.as_ref()?);
            let kept = rule(id, before.clone())?;
            let may_repeat = repeats == Repeats::Keep && kept == before;
            (seen.insert(kept.clone()) || may_repeat).then_some(kept)
        })
        .collect();
    let is_same = written
        .iter()
        .zip(&wanted)
        .all(|(written, wanted)| match (written, wanted) {
            (Some(written), Some(wanted)) => absolute(written) == *wanted,
            (None, _) => true,
            (Some(_), None) => false,
        });
    if is_same {
        return false;
    }
    let Some(list) = task
        .member(document, key)
        .and_then(|list| list.elements(document))
    else {
        return false;
    };
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

pub(super) fn absolute_dependencies(
    document: &Document,
    list: &mut Tree,
    id: &TaskId,
) -> Result<Vec<TaskId>, Refusal> {
    let siblings: BTreeSet<String> = match id.as_str().rsplit_once('.') {
        Some((parent, _)) => match find(document, list, &TaskId::from(parent)) {
            Ok(parent) => parent
                .ids_within(document, "subtasks")
                .map(|id| number(&id).to_owned())
                .collect(),
            Err(_) => BTreeSet::new(),
        },
        None => BTreeSet::new(),
    };
    let found = find(document, list, id)?;
    let absolute = |written: String| match id.as_str().rsplit_once('.') {
        Some((parent, _)) if siblings.contains(&written) => {
            TaskId::new(format!("{parent}.{written}"))
        }
        _ => TaskId::new(written),
    };
    let key = if found.has_elements(document, "blockedBy") {
        "blockedBy"
    } else {
        "dependencies"
    };
    Ok(found
        .scalars_within(document, key)
        .into_iter()
        .flatten()
        .map(absolute)
        .collect())
}
