//! Chooses what counts as one task: a backlog's tasks, or their subtasks.
//!
//! Knows nothing of statuses beyond passing a closed parent's on to its subtasks.

use crate::{Task, TaskId};
use schemars::JsonSchema;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

words! {
    /// What one agent is given at a time.
    #[derive(Default, JsonSchema)]
    pub enum Unit {
        /// A task with all its subtasks, which are steps of it.
        #[default]
        Task = "task",
        /// One subtask, or a task without any; a parent is done when all its subtasks are.
        Subtask = "subtask",
    }
}

/// A task of a unit: what the backlog says of it, and what it depends on within that unit. What differs from the backlog
/// alone is copied.
#[derive(Clone, Debug)]
pub(crate) struct UnitTask<'t> {
    /// The task; its own list of dependencies counts for nothing.
    pub(crate) task: UnitSource<'t>,
    /// What it depends on.
    pub(crate) dependencies: Cow<'t, [TaskId]>,
}

/// A task of a backlog, or one that is made from it: small, since nearly all are the former.
#[derive(Clone, Debug)]
pub(crate) enum UnitSource<'t> {
    /// As it stands in the backlog.
    Whole(&'t Task),
    /// A subtask with what it has from its parent.
    Inheriting(Box<Task>),
}

impl Deref for UnitSource<'_> {
    type Target = Task;

    #[inline]
    fn deref(&self) -> &Task {
        match self {
            Self::Whole(task) => task,
            Self::Inheriting(task) => task,
        }
    }
}

impl<'t> From<&'t Task> for UnitTask<'t> {
    /// Takes a task as it is.
    #[inline]
    fn from(task: &'t Task) -> Self {
        Self {
            task: UnitSource::Whole(task),
            dependencies: Cow::Borrowed(&task.dependencies),
        }
    }
}

impl From<UnitTask<'_>> for Task {
    fn from(unit: UnitTask<'_>) -> Self {
        let dependencies = unit.dependencies.into_owned();
        let task = match unit.task {
            UnitSource::Whole(task) => task.clone(),
            UnitSource::Inheriting(task) => *task,
        };
        Self {
            dependencies,
            ..task
        }
    }
}

/// Returns the tasks of the chosen unit, with dependencies between tasks of that unit only.
///
/// By task, a dependency on a subtask is one on its parent. By subtask, every subtask inherits the dependencies of its
/// parent, and a dependency on a parent is one on all its subtasks.
pub fn of_unit(tasks: &[Task], unit: Unit) -> Vec<Task> {
    let units = units_of(tasks, unit).into_iter();
    units.map(Task::from).collect()
}

/// Returns the same without a copy of what the backlog says.
pub(crate) fn units_of(tasks: &[Task], unit: Unit) -> Vec<UnitTask<'_>> {
    match unit {
        Unit::Task => by_task(tasks),
        Unit::Subtask => by_subtask(tasks),
    }
}

fn by_task(tasks: &[Task]) -> Vec<UnitTask<'_>> {
    let mut parents: BTreeMap<&str, &TaskId> = BTreeMap::new();
    for task in tasks {
        let subtasks = task.subtasks.iter();
        parents.extend(subtasks.map(|subtask| (subtask.id.as_str(), &task.id)));
    }
    tasks.iter().map(|task| whole(task, &parents)).collect()
}

/// Returns a task whose dependencies on subtasks are ones on their parents.
fn whole<'t>(task: &'t Task, parents: &BTreeMap<&str, &TaskId>) -> UnitTask<'t> {
    let is_as_it_is = |id: &TaskId| !parents.contains_key(id.as_str());
    if task.dependencies.iter().all(is_as_it_is) && !has_repeats(&task.dependencies) {
        return UnitTask::from(task);
    }
    // On a subtask of its own it waits with its own steps.
    let of_unit = |id: &TaskId| match parents.get(id.as_str()) {
        Some(&parent) => (*parent != task.id).then(|| parent.clone()),
        None => Some(id.clone()),
    };
    let dependencies = without_repeats(task.dependencies.iter().filter_map(of_unit));
    UnitTask {
        task: UnitSource::Whole(task),
        dependencies: dependencies.into(),
    }
}

fn by_subtask(tasks: &[Task]) -> Vec<UnitTask<'_>> {
    let children: BTreeMap<&str, &[Task]> = tasks
        .iter()
        .filter(|task| !task.subtasks.is_empty())
        .map(|task| (task.id.as_str(), task.subtasks.as_slice()))
        .collect();
    let expanded = |id: &TaskId| -> Vec<TaskId> {
        match children.get(id.as_str()) {
            Some(children) => children.iter().map(|child| child.id.clone()).collect(),
            None => vec![id.clone()],
        }
    };
    let mut units = Vec::new();
    for task in tasks {
        if task.subtasks.is_empty() {
            units.push(UnitTask {
                task: UnitSource::Whole(task),
                dependencies: without_repeats(task.dependencies.iter().flat_map(expanded)).into(),
            });
        }
        for subtask in &task.subtasks {
            let own = subtask.dependencies.iter().filter(|&id| *id != task.id);
            let all = own.chain(&task.dependencies).flat_map(expanded);
            units.push(UnitTask {
                task: UnitSource::Inheriting(Box::new(inherit(subtask, task))),
                dependencies: without_repeats(all).into(),
            });
        }
    }
    units
}

/// Gives a subtask what its parent has and it has not.
fn inherit(subtask: &Task, parent: &Task) -> Task {
    let mut child = subtask.clone();
    if !parent.status.is_open() {
        child.status = parent.status.clone();
    }
    child.priority = child.priority.max(parent.priority);
    let (own, given) = (&mut child.metadata, &parent.metadata);
    if own.group.is_none() && given.group.is_some() {
        own.group.clone_from(&given.group);
    }
    if own.test_command.is_none() && given.test_command.is_some() {
        own.test_command.clone_from(&given.test_command);
    }
    child
}

fn without_repeats(ids: impl Iterator<Item = TaskId>) -> Vec<TaskId> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| seen.insert(id.clone())).collect()
}

/// A few ids are compared with one another sooner than they are put in order.
const FEW: usize = 8;

#[inline]
fn has_repeats(ids: &[TaskId]) -> bool {
    if ids.len() <= FEW {
        return (1..ids.len()).any(|place| ids[..place].contains(&ids[place]));
    }
    let mut seen = BTreeSet::new();
    !ids.iter().all(|id| seen.insert(id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::task::task;

    fn dependencies(tasks: &[Task], id: &str) -> Vec<String> {
        let task = tasks
            .iter()
            .find(|task| task.id.as_str() == id)
            .expect("a task of that id");
        task.dependencies.iter().map(ToString::to_string).collect()
    }

    fn backlog() -> Vec<Task> {
        let mut one = task("1", &[]);
        one.subtasks = vec![task("1.1", &[]), task("1.2", &["1.1", "1"])];
        let mut two = task("2", &["1", "1.2"]);
        two.subtasks = vec![task("2.1", &["3"])];
        vec![one, two, task("3", &["1.1"])]
    }

    #[test]
    fn by_task_a_dependency_on_a_subtask_is_one_on_its_parent() {
        let units = of_unit(&backlog(), Unit::Task);
        assert_eq!(units.len(), 3);
        assert_eq!(dependencies(&units, "2"), ["1"]);
        assert_eq!(dependencies(&units, "3"), ["1"]);
    }

    #[test]
    fn by_subtask_parents_vanish_and_their_dependencies_are_inherited() {
        let units = of_unit(&backlog(), Unit::Subtask);
        let ids: Vec<&str> = units.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1.1", "1.2", "2.1", "3"]);
        assert_eq!(dependencies(&units, "1.2"), ["1.1"]);
        assert_eq!(dependencies(&units, "2.1"), ["3", "1.1", "1.2"]);
    }

    #[test]
    fn subtasks_of_a_finished_parent_are_finished() {
        let mut tasks = backlog();
        tasks[0].status = Status::Done;
        assert!(
            of_unit(&tasks, Unit::Subtask)[..2]
                .iter()
                .all(|task| task.status == Status::Done)
        );
    }

    #[test]
    fn a_task_that_depends_on_its_own_id_keeps_that_for_planning_to_refuse() {
        let units = of_unit(&[task("1", &["1"])], Unit::Task);
        assert_eq!(dependencies(&units, "1"), ["1"]);
    }
}
