//! Changes to which tasks there are and what they depend on, made on a document that is opened only where it changes.
//!
//! A change is made whole or refused; whether the graph stays free of cycles is asked of the scheduler.

mod tags;
mod tasks;
#[cfg(test)]
mod tests;

use super::document::{Document, Tree};
use super::task_master::MASTER;
use serde_json::Value;
use tm_scheduler::{Status, Tag, TaskId};

/// A change to a backlog.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds a task.
    AddTask {
        /// Its fields but for the id, which is the next free number; `dependencies` as a list of ids.
        fields: Vec<(String, Value)>,
    },
    /// Adds a subtask.
    AddSubtask {
        /// The task.
        parent: TaskId,
        /// Its fields but for the id; the dependencies name siblings by number.
        fields: Vec<(String, Value)>,
    },
    /// Removes tasks and subtasks, and the dependencies on them.
    Remove {
        /// Their ids.
        ids: Vec<TaskId>,
    },
    /// Gives a task or subtask another id, place or tag; dependencies on it follow.
    Move {
        /// The task.
        from: TaskId,
        /// Where to: a free id, or a task to become the last subtask of as `<parent>.<n>`.
        to: TaskId,
    },
    /// Moves a task to another tag, where its id must be free.
    MoveToTag {
        /// The task.
        id: TaskId,
        /// The other tag.
        tag: Tag,
        /// What becomes of dependencies that would cross tags.
        crossing: Crossing,
    },
    /// Makes a task depend on another one.
    AddDependency {
        /// The task.
        task: TaskId,
        /// What it depends on.
        dependency: TaskId,
    },
    /// Removes dependencies, as (task, dependency), and repeated ones of the same tasks.
    RemoveDependencies {
        /// The dependencies.
        edges: Vec<(TaskId, TaskId)>,
    },
    /// Sets or adds fields of tasks.
    SetFields {
        /// The task and the member with its value; `metadata.x` sets a member of `metadata`.
        fields: Vec<(TaskId, String, Value)>,
    },
    /// Adds a tag.
    AddTag {
        /// Its name.
        name: Tag,
        /// The tag whose tasks it gets.
        copy_of: Option<Tag>,
        /// What it is for.
        description: Option<String>,
        /// When, as backlogs spell it.
        stamp: String,
    },
    /// Removes a tag with its tasks.
    RemoveTag {
        /// Its name.
        name: Tag,
    },
    /// Gives a tag another name.
    RenameTag {
        /// Its name.
        from: Tag,
        /// The new name.
        to: Tag,
    },
}

/// What becomes of dependencies that would cross tags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Crossing {
    /// The move is refused.
    Refuse,
    /// They are removed.
    Drop,
}

/// What a change came to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changed {
    /// The ids of the tasks that were added, or that the moved ones have now.
    pub ids: Vec<TaskId>,
}

/// Why a change is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Tasks are not there.
    #[error("find {0}")]
    UnknownTasks(String),
    /// There is no such tag.
    #[error("find the tag `{0}`")]
    UnknownTag(Tag),
    /// The id or the tag is taken.
    #[error("use `{0}`: it is there already")]
    Taken(String),
    /// A task would depend on itself.
    #[error("make `{0}` depend on itself")]
    Itself(TaskId),
    /// Tasks would wait for each other.
    #[error("make `{task}` depend on `{dependency}`: {cycle} would wait for each other")]
    Cycle {
        /// The task.
        task: TaskId,
        /// What it was to depend on.
        dependency: TaskId,
        /// The tasks of the cycle.
        cycle: String,
    },
    /// A task with dependencies in its tag, or with dependants there, was to leave it.
    #[error("move `{id}` to another tag: {edges} would cross tags")]
    Crosses {
        /// The task.
        id: TaskId,
        /// The dependencies.
        edges: String,
    },
    /// The kind of backlog or its shape has no place for it.
    #[error("do that here: {0}")]
    NoPlace(&'static str),
}

/// Makes a change within a tag.
pub(super) fn apply(document: &Document, root: &mut Tree, tag: &Tag, change: &Change) -> Result<Changed, Refusal> {
    match change {
        Change::AddTask { fields } => tasks::add(document, list(document, root, tag)?, fields),
        Change::AddSubtask { parent, fields } => {
            tasks::add_subtask(document, list(document, root, tag)?, parent, fields)
        }
        Change::Remove { ids } => tasks::remove(document, list(document, root, tag)?, ids),
        Change::Move { from, to } => tasks::rename(document, list(document, root, tag)?, from, to),
        Change::MoveToTag { id, tag: to, crossing } => tags::move_task(document, root, tag, id, to, *crossing),
        Change::AddDependency { task, dependency } => {
            tasks::add_dependency(document, list(document, root, tag)?, task, dependency)
        }
        Change::RemoveDependencies { edges } => tasks::remove_dependencies(document, list(document, root, tag)?, edges),
        Change::SetFields { fields } => tasks::set_fields(document, list(document, root, tag)?, fields),
        Change::AddTag { name, copy_of, description, stamp } => {
            tags::add(document, root, name, copy_of.as_ref(), description.as_deref(), stamp)
        }
        Change::RemoveTag { name } => tags::remove(document, root, name),
        Change::RenameTag { from, to } => tags::rename(document, root, from, to),
    }
}

/// Returns the list of tasks of a tag; an empty file gets one.
fn list<'t>(document: &Document, root: &'t mut Tree, tag: &Tag) -> Result<&'t mut Tree, Refusal> {
    if root.elements(document).is_some() {
        return Ok(root);
    }
    let is_empty = root.members(document).is_some_and(|members| members.is_empty());
    if is_empty {
        root.set(document, tag.as_str(), Tree::new(&serde_json::json!({"tasks": []})));
    }
    tags::list(document, root, tag).ok_or_else(|| Refusal::UnknownTag(tag.clone()))
}

/// The status that a new task has.
fn pending() -> Value {
    Value::from(Status::Pending.as_str())
}

fn quoted<'i>(ids: impl IntoIterator<Item = &'i TaskId>) -> String {
    ids.into_iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn is_master(tag: &Tag) -> bool {
    tag.as_str() == MASTER
}
