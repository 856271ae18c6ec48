//! Chooses what counts as one task: a backlog's tasks, or their subtasks.
//!
//! Knows nothing of statuses beyond passing a closed parent's on to its subtasks.

use crate::{Task, TaskId};
use schemars::JsonSchema;
use std::collections::BTreeMap;

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

/// Returns the tasks of the chosen unit, with dependencies between tasks of that unit only.
///
/// By task, a dependency on a subtask is one on its parent. By subtask, every subtask inherits the dependencies of its
/// parent, and a dependency on a parent is one on all its subtasks.
pub fn of_unit(tasks: &[Task], unit: Unit) -> Vec<Task> {
    match unit {
        Unit::Task => by_task(tasks),
        Unit::Subtask => by_subtask(tasks),
    }
}

fn by_task(tasks: &[Task]) -> Vec<Task> {
    let mut parents: BTreeMap<&TaskId, &TaskId> = BTreeMap::new();
    for task in tasks {
        parents.extend(task.subtasks.iter().map(|subtask| (&subtask.id, &task.id)));
    }
    let unit = |task: &Task| {
        // On a subtask of its own it waits with its own steps.
        let of_unit = |id: &TaskId| match parents.get(id) {
            Some(&parent) => (*parent != task.id).then(|| parent.clone()),
            None => Some(id.clone()),
        };
        let mut unit = task.clone();
        unit.dependencies = without_repeats(task.dependencies.iter().filter_map(of_unit));
        unit
    };
    tasks.iter().map(unit).collect()
}

fn by_subtask(tasks: &[Task]) -> Vec<Task> {
    let children: BTreeMap<&TaskId, &[Task]> = tasks
        .iter()
        .filter(|task| !task.subtasks.is_empty())
        .map(|task| (&task.id, task.subtasks.as_slice()))
        .collect();
    let expanded = |id: &TaskId| -> Vec<TaskId> {
        match children.get(id) {
            Some(children) => children.iter().map(|child| child.id.clone()).collect(),
            None => vec![id.clone()],
        }
    };
    let mut units = Vec::new();
    for task in tasks {
        if task.subtasks.is_empty() {
            let mut alone = task.clone();
            alone.dependencies = without_repeats(task.dependencies.iter().flat_map(expanded));
            units.push(alone);
        }
        for subtask in &task.subtasks {
            let mut child = inherit(subtask, task);
            let own = subtask.dependencies.iter().filter(|&id| *id != task.id);
            child.dependencies = without_repeats(own.chain(&task.dependencies).flat_map(expanded));
            units.push(child);
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
    child.group = child.group.or_else(|| parent.group.clone());
    child.test_command = child.test_command.or_else(|| parent.test_command.clone());
    child
}

fn without_repeats(ids: impl Iterator<Item = TaskId>) -> Vec<TaskId> {
    let mut seen = std::collections::BTreeSet::new();
    ids.filter(|id| seen.insert(id.clone())).collect()
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
