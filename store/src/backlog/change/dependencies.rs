//! Changes to what the tasks of one tag depend on.

use super::find::{Index, ids, must_be_there, number, spelled};
use super::{Ids, NO_OBJECT, Refusal, SourceKind, Tasks};
use crate::backlog::document::Tree;
use crate::backlog::fields::{Siblings, absolute};
use std::collections::BTreeSet;
use tm_scheduler::TaskId;

/// Adds dependencies in one pass, and returns the tasks that did not have them.
pub(super) fn add_dependencies(
    tasks: &mut Tasks<'_>,
    kind: SourceKind,
    edges: &[(TaskId, TaskId)],
) -> Ids {
    let index = Index::new(tasks);
    let mut changed = Vec::new();
    for (task, dependency) in edges {
        if index.place(task).and(index.place(dependency)).is_err() {
            must_be_there(tasks, [task, dependency])?;
        }
        if task == dependency {
            return Err(Refusal::Itself(task.clone()));
        }
        if depend(index.find(tasks, task)?, kind, task, dependency)? {
            changed.push(task.clone());
        }
    }
    Ok(changed)
}

/// The key of what a task depends on: the one that it has, else that of its kind of backlog.
fn key(task: &Tree<'_>, otherwise: &'static str) -> &'static str {
    if task.parts("blockedBy").is_empty() {
        otherwise
    } else {
        "blockedBy"
    }
}

/// Adds a dependency to a task that was found; tells whether it was not there before.
fn depend(
    found: &mut Tree<'_>,
    kind: SourceKind,
    task: &TaskId,
    dependency: &TaskId,
) -> Result<bool, Refusal> {
    let key = key(found, kind.dependencies());
    // A sibling is named by its number, which is how every reader understands it.
    let parent = task.as_str().rsplit_once('.').map(|(parent, _)| parent);
    let own = match (parent, dependency.as_str().rsplit_once('.')) {
        (Some(parent), Some((other, number))) if parent == other => number,
        _ => dependency.as_str(),
    };
    let written = found.scalars_within(key);
    if written
        .iter()
        .flatten()
        .any(|id| id == own || id == dependency.as_str())
    {
        return Ok(false);
    }
    let list = found.list(key).ok_or(NO_OBJECT)?;
    let is_text = kind.is_text() || list.last().is_some_and(Tree::is_text);
    list.push(spelled(own, is_text));
    Ok(true)
}

pub(super) fn remove_dependencies(
    tasks: &mut Tasks<'_>,
    edges: &[(TaskId, TaskId)],
) -> Vec<TaskId> {
    let unwanted: BTreeSet<(&TaskId, &TaskId)> =
        edges.iter().map(|(task, on)| (task, on)).collect();
    rewrite_dependencies(tasks, Repeats::Drop, |task, dependency| {
        (!unwanted.contains(&(task, &dependency))).then_some(dependency)
    });
    edges.iter().map(|(task, _)| task.clone()).collect()
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
    tasks: &mut Tasks<'_>,
    repeats: Repeats,
    mut rule: impl FnMut(&TaskId, TaskId) -> Option<TaskId>,
) {
    for task in tasks {
        let Some(id) = task.plain("id") else {
            continue;
        };
        let own = TaskId::new(id.as_str());
        rewrite_one(task, None, repeats, |dependency| rule(&own, dependency));
        let subtasks = task.parts("subtasks");
        let numbers: BTreeSet<String> = ids(&subtasks).map(|id| number(&id).to_owned()).collect();
        if numbers.is_empty() {
            continue;
        }
        let mut changed = task.clone();
        let mut is_changed = false;
        for subtask in changed.list("subtasks").into_iter().flatten() {
            let Some(own) = subtask.plain("id") else {
                continue;
            };
            let own = number(&own);
            let siblings = Siblings {
                parent: &id,
                numbers: &numbers,
                own,
            };
            let own = TaskId::new(format!("{id}.{own}"));
            let rule = |dependency| rule(&own, dependency);
            is_changed |= rewrite_one(subtask, Some(siblings), repeats, rule);
        }
        if is_changed {
            *task = changed;
        }
    }
}

/// Tells whether something was changed; what is not changed is not opened.
fn rewrite_one(
    task: &mut Tree<'_>,
    siblings: Option<Siblings<'_>>,
    repeats: Repeats,
    mut rule: impl FnMut(TaskId) -> Option<TaskId>,
) -> bool {
    let key = key(task, "dependencies");
    let mut seen = BTreeSet::new();
    let mut is_changed = false;
    // Of each entry: what it is to be, or whether it stays as it is.
    let mut wanted = |written: Option<String>| {
        let Some(written) = written else {
            return Some(None);
        };
        let before = TaskId::new(absolute(siblings, written));
        let kept = rule(before.clone());
        let kept = kept.filter(|kept| {
            let may_repeat = repeats == Repeats::Keep && *kept == before;
            seen.insert(kept.clone()) || may_repeat
        });
        is_changed |= kept.as_ref() != Some(&before);
        let kept = kept?;
        Some((kept != before).then_some(kept))
    };
    let wanted: Vec<Option<Option<TaskId>>> = task
        .scalars_within(key)
        .into_iter()
        .map(&mut wanted)
        .collect();
    if !is_changed {
        return false;
    }
    let Some(list) = task.list(key) else {
        return false;
    };
    for (element, wanted) in std::mem::take(list).into_iter().zip(wanted) {
        match wanted {
            None => {}
            Some(None) => list.push(element),
            Some(Some(id)) => list.push(spelled(id.as_str(), element.is_text())),
        }
    }
    true
}
