//! Changes to which tasks there are and what they depend on, made on a document that is opened only where it changes.
//!
//! A change is made whole or refused; whether the graph stays free of cycles is asked of the scheduler.

mod dependencies;
mod find;
mod tags;
mod tasks;
#[cfg(test)]
mod tests;

use super::document::{Kind, Tree};
use super::kind::SourceKind;
use super::loaded::MASTER;
pub(super) use dependencies::written;
pub(super) use find::number;
use serde_json::{Value, json};
pub(super) use tasks::set_statuses;
use tm_scheduler::{Status, Tag, TaskId, quoted};

/// A change to a backlog.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Adds tasks.
    AddTasks {
        /// Of each its id, or nothing for the next free number, and its other fields; `dependencies` as a list of ids.
        /// Only those of a task without an id are looked for; of the others it is known that they are there, and that
        /// they close no cycle.
        tasks: Vec<NewTask>,
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
    /// Moves tasks to another tag, where their ids must be free.
    MoveToTag {
        /// The tasks.
        ids: Vec<TaskId>,
        /// The other tag.
        tag: Tag,
        /// What becomes of dependencies that would cross tags.
        crossing: Crossing,
    },
    /// Makes tasks depend on others, as (task, dependency); together they may close no cycle.
    AddDependencies {
        /// The dependencies.
        edges: Vec<(TaskId, TaskId)>,
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
    /// Changes what a task says, under the names that its fields have there.
    Update {
        /// The task.
        id: TaskId,
        /// Its fields, named as Task Master does.
        fields: Vec<(String, Value)>,
        /// What is added to the end of its details.
        note: Option<String>,
        /// When, as backlogs spell it.
        stamp: String,
    },
    /// Gives members of tasks other names, where they stand.
    RenameFields {
        /// The task, the name and the new name.
        fields: Vec<(TaskId, String, String)>,
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

impl Change {
    /// Tells whether tasks or tags are not there any more under the name that they had.
    pub const fn takes_names(&self) -> bool {
        match self {
            Self::Remove { .. }
            | Self::Move { .. }
            | Self::MoveToTag { .. }
            | Self::RemoveTag { .. }
            | Self::RenameTag { .. } => true,
            Self::AddTasks { .. }
            | Self::AddSubtask { .. }
            | Self::AddDependencies { .. }
            | Self::RemoveDependencies { .. }
            | Self::SetFields { .. }
            | Self::Update { .. }
            | Self::RenameFields { .. }
            | Self::AddTag { .. } => false,
        }
    }
}

/// The id of a new task, where it has one already, and its other fields.
type NewTask = (Option<TaskId>, Vec<(String, Value)>);

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
    #[error("move {ids} to another tag: {edges} would cross tags")]
    Crosses {
        /// The tasks.
        ids: String,
        /// The dependencies.
        edges: String,
    },
    /// The kind of backlog or its shape has no place for it.
    #[error("do that here: {0}")]
    NoPlace(&'static str),
}

impl Refusal {
    /// There are no such tasks.
    pub(super) fn unknown<'i>(ids: impl IntoIterator<Item = &'i TaskId>) -> Self {
        Self::UnknownTasks(quoted(ids))
    }
}

const NO_LIST: Refusal = Refusal::NoPlace("`tasks` is not a list");
const NO_OBJECT: Refusal = Refusal::NoPlace("a task is not an object");

/// The tasks of a list.
type Tasks<'d> = Vec<Tree<'d>>;

/// The ids of the tasks that were added, or that the moved ones have now.
type Ids = Result<Vec<TaskId>, Refusal>;

/// What a change is made on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    /// The tag within the document.
    pub(super) tag: &'p Tag,
    /// Whose kind it has.
    pub(super) kind: SourceKind,
    /// The number that a new task gets at least.
    pub(super) next_number: u64,
}

/// Makes a change within a tag.
pub(super) fn apply(place: Place<'_>, root: &mut Tree<'_>, change: &Change) -> Ids {
    let Place { tag, kind, .. } = place;
    refuse(kind, change)?;
    let list = |root| list(root, tag);
    match change {
        Change::AddTasks { tasks } => tasks::add(place, list(root)?, tasks),
        Change::AddSubtask { parent, fields } => {
            tasks::add_subtask(kind, list(root)?, parent, fields)
        }
        Change::Remove { ids } => tasks::remove(list(root)?, ids),
        Change::Move { from, to } => tasks::rename(list(root)?, from, to),
        Change::MoveToTag {
            ids,
            tag: to,
            crossing,
        } => tags::move_tasks(root, tag, ids, to, *crossing),
        Change::AddDependencies { edges } => {
            dependencies::add_dependencies(list(root)?, kind, edges)
        }
        Change::RemoveDependencies { edges } => {
            Ok(dependencies::remove_dependencies(list(root)?, edges))
        }
        Change::SetFields { fields } => tasks::set_fields(list(root)?, fields),
        Change::Update {
            id,
            fields,
            note,
            stamp,
        } => tasks::update(kind, list(root)?, id, (fields, note.as_deref()), stamp),
        Change::RenameFields { fields } => tasks::rename_fields(list(root)?, fields),
        Change::AddTag {
            name,
            copy_of,
            description,
            stamp,
        } => tags::add(root, name, copy_of.as_ref(), description.as_deref(), stamp),
        Change::RemoveTag { name } => tags::remove(root, name),
        Change::RenameTag { from, to } => tags::rename(root, from, to),
    }
}

/// Refuses what a kind of backlog has no place for.
fn refuse(kind: SourceKind, change: &Change) -> Result<(), Refusal> {
    if kind != SourceKind::ClaudeTasks {
        return Ok(());
    }
    let why = match change {
        Change::AddSubtask { .. } => "a Claude Code list has no subtasks",
        Change::Move { to, .. } if to.as_str().contains('.') => {
            "a Claude Code list has no subtasks"
        }
        Change::MoveToTag { .. }
        | Change::AddTag { .. }
        | Change::RemoveTag { .. }
        | Change::RenameTag { .. } => "a Claude Code list has no tags; each list is a folder",
        _ => return Ok(()),
    };
    Err(Refusal::NoPlace(why))
}

/// Returns the tasks of a tag; an empty file gets a list.
pub(super) fn list<'t, 'd>(
    root: &'t mut Tree<'d>,
    tag: &Tag,
) -> Result<&'t mut Tasks<'d>, Refusal> {
    let is_list = root.elements().is_some();
    if root.members().is_some_and(|members| members.is_empty()) {
        root.set(tag.as_str(), Tree::new(&json!({"tasks": []})));
    }
    // A list that nothing is written in yet.
    if let Some(Tree::Kept(tasks)) = root.get("tasks")
        && tasks.kind() == Kind::Null
        && is_master(tag)
    {
        root.set("tasks", Tree::new(&json!([])));
    }
    let list = if is_list {
        Some(root)
    } else {
        tags::list(root, tag)
    };
    let list = list.ok_or_else(|| Refusal::UnknownTag(tag.clone()))?;
    list.elements().ok_or(NO_LIST)
}

/// The status that a new task has.
fn pending() -> Value {
    Value::from(Status::Pending.as_str())
}

fn is_master(tag: &Tag) -> bool {
    tag.as_str() == MASTER
}
