//! Everything that is wrong with the dependencies of a backlog, subtasks included, and what repairs it.
//!
//! Linear but for one sorted index of ids. Does not know files: what is to be removed is returned, not removed.

use crate::graph::cycles;
use crate::{Task, TaskId};
use petgraph::graph::{DiGraph, NodeIndex};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Something that is wrong.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Problem {
    /// More than one task has this id.
    Duplicate {
        /// The id.
        task: TaskId,
    },
    /// A task depends on itself.
    #[serde(rename = "self")]
    Itself {
        /// The task.
        task: TaskId,
    },
    /// A task depends on one that is not there.
    Missing {
        /// The task.
        task: TaskId,
        /// What is not there.
        dependency: TaskId,
    },
    /// Tasks wait for each other.
    Circular {
        /// The tasks, along the cycle where it is a plain one.
        tasks: Vec<TaskId>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { task } => write!(formatter, "more than one task has the id `{task}`"),
            Self::Itself { task } => write!(formatter, "task `{task}` depends on itself"),
            Self::Missing { task, dependency } => {
                write!(formatter, "task `{task}` depends on `{dependency}`, which is not there")
            }
            Self::Circular { tasks } => {
                let ids: Vec<String> = tasks.iter().map(|id| format!("`{id}`")).collect();
                write!(formatter, "tasks {} depend on each other in a cycle", ids.join(" → "))
            }
        }
    }
}

/// Returns all problems of a backlog: repeated ids, then each task's own in the order of the backlog, then cycles.
pub fn problems(tasks: &[Task]) -> Vec<Problem> {
    let nodes = nodes(tasks);
    let ids: Vec<&TaskId> = nodes.iter().map(|task| &task.id).collect();
    let mut positions: BTreeMap<&TaskId, usize> = BTreeMap::new();
    let mut repeated: BTreeSet<&TaskId> = BTreeSet::new();
    for (position, id) in ids.iter().enumerate() {
        if positions.insert(id, position).is_some() {
            repeated.insert(id);
        }
    }
    let mut problems: Vec<Problem> = repeated.into_iter().map(|id| Problem::Duplicate { task: id.clone() }).collect();
    let mut graph = DiGraph::<(), ()>::with_capacity(ids.len(), ids.len());
    for _ in &ids {
        graph.add_node(());
    }
    for (position, task) in nodes.iter().enumerate() {
        for dependency in &task.dependencies {
            match positions.get(dependency) {
                _ if *dependency == task.id => problems.push(Problem::Itself { task: task.id.clone() }),
                Some(&before) => {
                    graph.add_edge(NodeIndex::new(before), NodeIndex::new(position), ());
                }
                None => problems.push(Problem::Missing { task: task.id.clone(), dependency: dependency.clone() }),
            }
        }
    }
    problems.extend(cycles(&graph, &ids).into_iter().map(|tasks| Problem::Circular { tasks }));
    problems
}

/// Returns the cycle that a new dependency would close: from the dependency along what it depends on to the task.
pub fn cycle_with(tasks: &[Task], task: &TaskId, dependency: &TaskId) -> Option<Vec<TaskId>> {
    let by_id: BTreeMap<&TaskId, &Task> = nodes(tasks).into_iter().map(|task| (&task.id, task)).collect();
    let mut reached_from: BTreeMap<&TaskId, &TaskId> = BTreeMap::new();
    let mut stack = vec![dependency];
    while let Some(id) = stack.pop() {
        if id == task {
            let back = std::iter::successors(Some(id), |id| (*id != dependency).then(|| reached_from[*id]));
            let mut cycle: Vec<TaskId> = back.cloned().collect();
            cycle.reverse();
            cycle.insert(0, task.clone());
            return Some(cycle);
        }
        for next in by_id.get(id).into_iter().flat_map(|task| &task.dependencies) {
            if next != dependency && !reached_from.contains_key(next) {
                reached_from.insert(next, id);
                stack.push(next);
            }
        }
    }
    None
}

/// What a repair does about cycles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CycleRepair {
    /// Leaves them to a person.
    Leave,
    /// Cuts each at the dependency with the least meaning: that of an earlier id on a later one, the widest gap first.
    Cut,
}

/// Returns the dependencies that have to go, as (task, dependency), each with the problem that it solves.
///
/// A dependency of a GREEN task on its RED is never among them.
pub fn repairs(tasks: &[Task], cycle_repair: CycleRepair) -> Vec<((TaskId, TaskId), Problem)> {
    let mut left: Vec<Task> = tasks.to_vec();
    let mut repairs = Vec::new();
    loop {
        let mut helped = false;
        for problem in problems(&left) {
            let edge = match &problem {
                Problem::Itself { task } => Some((task.clone(), task.clone())),
                Problem::Missing { task, dependency } => Some((task.clone(), dependency.clone())),
                Problem::Circular { tasks } if cycle_repair == CycleRepair::Cut => least_meaning(&left, tasks),
                Problem::Duplicate { .. } | Problem::Circular { .. } => None,
            };
            if let Some(edge) = edge {
                remove(&mut left, &edge);
                repairs.push((edge, problem));
                helped = true;
            }
        }
        if !helped {
            return repairs;
        }
    }
}

fn nodes(tasks: &[Task]) -> Vec<&Task> {
    tasks.iter().flat_map(|task| std::iter::once(task).chain(&task.subtasks)).collect()
}

fn remove(tasks: &mut [Task], (task, dependency): &(TaskId, TaskId)) {
    for candidate in tasks {
        for one in std::iter::once(&mut candidate.dependencies)
            .filter(|_| candidate.id == *task)
            .chain(candidate.subtasks.iter_mut().filter(|subtask| subtask.id == *task).map(|one| &mut one.dependencies))
        {
            one.retain(|id| id != dependency);
        }
    }
}

fn least_meaning(tasks: &[Task], cycle: &[TaskId]) -> Option<(TaskId, TaskId)> {
    let members: BTreeSet<&TaskId> = cycle.iter().collect();
    let rank: BTreeMap<&TaskId, i64> = members.iter().zip(0..).map(|(&id, rank)| (id, rank)).collect();
    let is_of_pair = |task: &Task, dependency: &TaskId| {
        task.tdd.as_ref().is_some_and(|mark| mark.paired_task_id.as_ref() == Some(dependency))
    };
    nodes(tasks)
        .into_iter()
        .filter(|task| members.contains(&task.id))
        .flat_map(|task| task.dependencies.iter().map(move |dependency| (task, dependency)))
        .filter(|(task, dependency)| members.contains(dependency) && !is_of_pair(task, dependency))
        .max_by_key(|(task, dependency)| (rank[dependency] - rank[&task.id], *dependency))
        .map(|(task, dependency)| (task.id.clone(), dependency.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TddHalf, TddMark};

    fn task(id: &str, dependencies: &[&str]) -> Task {
        let mut task = Task::new(id, id);
        task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
        task
    }

    fn words(tasks: &[Task]) -> Vec<String> {
        problems(tasks).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let mut one = task("1", &["2", "1.1"]);
        one.subtasks = vec![task("1.1", &["1.2"]), task("1.2", &["1.1"])];
        let tasks = [one, task("2", &["1", "9"]), task("3", &["3"]), task("3", &[])];
        assert_eq!(
            words(&tasks),
            [
                "more than one task has the id `3`",
                "task `2` depends on `9`, which is not there",
                "task `3` depends on itself",
                "tasks `1` → `2` depend on each other in a cycle",
                "tasks `1.1` → `1.2` depend on each other in a cycle",
            ]
        );
    }

    #[test]
    fn repairs_leave_nothing_wrong_and_keep_red_before_green() {
        let mut green = task("1", &["2", "3"]);
        green.tdd = Some(TddMark { half: TddHalf::Green, paired_task_id: Some("2".into()) });
        let tasks = [green, task("2", &["1"]), task("3", &["1", "3", "8"])];
        let edges: Vec<String> =
            repairs(&tasks, CycleRepair::Cut).iter().map(|((task, on), _)| format!("{task}-{on}")).collect();
        assert_eq!(edges, ["3-3", "3-8", "1-3", "2-1"]);
        assert_eq!(repairs(&tasks, CycleRepair::Leave).len(), 2);
    }

    #[test]
    fn layered_graphs_take_no_longer_than_plain_ones() {
        let tasks: Vec<Task> = (0..3_000)
            .map(|number| {
                let layer = number / 3;
                let before = (0..3).filter(|_| layer > 0).map(|place| ((layer - 1) * 3 + place).to_string().into());
                let mut task = Task::new(number.to_string(), "x");
                task.dependencies = before.collect();
                task
            })
            .collect();
        assert_eq!(problems(&tasks), []);
    }
}
