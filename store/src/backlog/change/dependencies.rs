//! Changes to what the tasks of one tag depend on, in the spelling that each task has.

use super::find::{Index, ids, must_be_there, number, spelled};
use super::{Ids, NO_OBJECT, Refusal, SourceKind, Tasks};
use crate::backlog::document::Tree;
use crate::backlog::fields::between_commas;
use crate::backlog::siblings::{Siblings, absolute};
use crate::backlog::spellings::Field;
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

/// The names under which a task says what it depends on.
fn names(task: &Tree<'_>) -> Vec<String> {
    let mut names = task.names();
    names.retain(|name| Field::of(name) == Some(Field::Dependencies));
    names
}

/// What stands under such a name; ids between commas are entries, too.
fn entries<'d>(task: &Tree<'d>, name: &str) -> Vec<Tree<'d>> {
    match task.get(name).and_then(|list| list.scalar()) {
        Some(written) => {
            let ids = between_commas(&written).into_iter();
            ids.map(|id| spelled(&id, false)).collect()
        }
        None => task.parts(name),
    }
}

/// The same to change, as a list.
fn opened<'t, 'd>(task: &'t mut Tree<'d>, name: &str) -> Option<&'t mut Vec<Tree<'d>>> {
    if task.plain(name).is_some() {
        let entries = entries(task, name);
        task.set(name, Tree::Array(None, entries));
    }
    task.list(name)
}

/// The id that an entry names, which may be an object with one.
fn id_of(entry: &Tree<'_>) -> Option<String> {
    entry.scalar().or_else(|| entry.plain("id"))
}

/// An entry like another one, with another id.
fn respelled<'d>(mut entry: Tree<'d>, id: &str, is_text: bool) -> Tree<'d> {
    if entry.get("id").is_none() {
        return spelled(id, is_text);
    }
    entry.set("id", spelled(id, is_text));
    entry
}

/// Tells whether the id of an entry is spelled as text.
fn is_text(entry: &Tree<'_>) -> bool {
    entry.get("id").as_ref().unwrap_or(entry).is_text()
}

/// Returns the ids of the tasks that a task names, as they are written.
pub(in crate::backlog) fn written(task: &Tree<'_>) -> Vec<String> {
    let names = names(task).into_iter();
    let entries = names.flat_map(|name| entries(task, &name));
    entries.filter_map(|entry| id_of(&entry)).collect()
}

/// Adds a dependency to a task that was found; tells whether it was not there before.
fn depend(
    found: &mut Tree<'_>,
    kind: SourceKind,
    task: &TaskId,
    dependency: &TaskId,
) -> Result<bool, Refusal> {
    // A sibling is named by its number, which is how every reader understands it.
    let own = match (parent_of(task), parent_of(dependency)) {
        (Some(parent), Some(other)) if parent == other => number(dependency.as_str()),
        _ => dependency.as_str(),
    };
    let is_named = |id: &String| id == own || id == dependency.as_str();
    if written(found).iter().any(is_named) {
        return Ok(false);
    }
    let names = names(found);
    let used = names.iter().find(|name| !entries(found, name).is_empty());
    let name = used.or(names.first());
    let name = name.map_or_else(|| kind.dependencies().to_owned(), Clone::clone);
    let list = opened(found, &name).ok_or(NO_OBJECT)?;
    let new = match list.last() {
        Some(Tree::Kept(last)) if last.get("id").is_some() => {
            let last = Tree::Kept(*last);
            let id = ("id".to_owned(), spelled(own, is_text(&last)));
            Tree::Object(None, vec![id])
        }
        last => spelled(own, kind.is_text() || last.is_some_and(Tree::is_text)),
    };
    list.push(new);
    Ok(true)
}

fn parent_of(id: &TaskId) -> Option<&str> {
    id.as_str().rsplit_once('.').map(|(parent, _)| parent)
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

/// Asks `rule` for each dependency, given the task and the absolute id, whether it stays or goes.
pub(super) fn rewrite_dependencies(
    tasks: &mut Tasks<'_>,
    repeats: Repeats,
    mut rule: impl FnMut(&TaskId, TaskId) -> Option<TaskId>,
) {
    rewrite(tasks, repeats, Clone::clone, &mut rule);
}

/// Gives dependencies the ids that tasks have after a move.
pub(super) fn follow(tasks: &mut Tasks<'_>, renamed: impl Fn(&TaskId) -> TaskId) {
    rewrite(tasks, Repeats::Keep, &renamed, &mut |_, on| {
        Some(renamed(&on))
    });
}

fn rewrite(
    tasks: &mut Tasks<'_>,
    repeats: Repeats,
    after: impl Fn(&TaskId) -> TaskId,
    rule: &mut dyn FnMut(&TaskId, TaskId) -> Option<TaskId>,
) {
    for task in tasks {
        let Some(id) = task.plain("id") else {
            continue;
        };
        let own = TaskId::new(id.as_str());
        Owner {
            siblings: None,
            after: after(&own),
            own,
        }
        .rewrite(task, repeats, rule);
        let subtasks = task.parts("subtasks");
        let numbers: BTreeSet<String> = ids(&subtasks).map(|id| number(&id).to_owned()).collect();
        if numbers.is_empty() {
            continue;
        }
        let mut changed = task.clone();
        let mut is_changed = false;
        for subtask in changed.list("subtasks").into_iter().flatten() {
            let Some(number_of_own) = subtask.plain("id") else {
                continue;
            };
            let siblings = Siblings {
                parent: &id,
                numbers: &numbers,
                own: number(&number_of_own),
            };
            let own = TaskId::new(format!("{id}.{}", siblings.own));
            let owner = Owner {
                siblings: Some(siblings),
                after: after(&own),
                own,
            };
            is_changed |= owner.rewrite(subtask, repeats, rule);
        }
        if is_changed {
            *task = changed;
        }
    }
}

/// Whose dependencies are rewritten.
struct Owner<'s> {
    siblings: Option<Siblings<'s>>,
    own: TaskId,
    /// The id that it has afterwards.
    after: TaskId,
}

impl Owner<'_> {
    /// Tells whether something was changed; what is not changed is not opened.
    fn rewrite(
        &self,
        task: &mut Tree<'_>,
        repeats: Repeats,
        rule: &mut dyn FnMut(&TaskId, TaskId) -> Option<TaskId>,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut is_changed = false;
        for name in names(task) {
            let was = entries(task, &name);
            let was: Vec<String> = was
                .iter()
                .map(|entry| id_of(entry).unwrap_or_default())
                .collect();
            // Of each entry: what it says afterwards, nothing where it goes.
            let wanted = |written: &String| {
                if written.is_empty() {
                    return Some(String::new());
                }
                let before = TaskId::from(&*absolute(self.siblings, written.as_str().into()));
                let kept = rule(&self.own, before.clone())?;
                let may_repeat = repeats == Repeats::Keep && kept == before;
                let said = self.said(written, &before, &kept);
                (seen.insert(kept) || may_repeat).then_some(said)
            };
            let wanted: Vec<Option<String>> = was.iter().map(wanted).collect();
            if wanted.iter().map(Option::as_ref).eq(was.iter().map(Some)) {
                continue;
            }
            is_changed = true;
            if let Some(list) = opened(task, &name) {
                change(list, wanted);
            }
        }
        is_changed
    }

    /// How a dependency is written afterwards: by number where it was, or where it has just become one on a sibling.
    fn said(&self, written: &str, before: &TaskId, kept: &TaskId) -> String {
        let parent = parent_of(&self.after).filter(|_| self.after.as_str().contains('.'));
        let is_sibling = parent.is_some() && parent_of(kept) == parent;
        let was_sibling = self
            .siblings
            .is_some_and(|all| parent_of(before) == Some(all.parent));
        let by_number = before.as_str() != written || !was_sibling;
        if is_sibling && by_number {
            number(kept.as_str()).to_owned()
        } else {
            kept.to_string()
        }
    }
}

/// Gives the entries of a list what they are to say; those that say nothing any more go.
fn change(list: &mut Vec<Tree<'_>>, wanted: Vec<Option<String>>) {
    let is_dotted = |entry: &Tree<'_>| id_of(entry).is_some_and(|id| id.contains('.'));
    let are_text = list.iter().any(|entry| is_text(entry) && !is_dotted(entry));
    for (entry, wanted) in std::mem::take(list).into_iter().zip(wanted) {
        let Some(id) = wanted else { continue };
        if id_of(&entry).unwrap_or_default() == id {
            list.push(entry);
            continue;
        }
        let is_text = if is_dotted(&entry) {
            are_text
        } else {
            is_text(&entry)
        };
        list.push(respelled(entry, &id, is_text));
    }
}
