//! Everything that is wrong with the dependencies of a backlog, subtasks included, and what repairs it.
//!
//! Linear but for one sorted index of ids. Does not know files: what is to be removed is returned, not removed.

use crate::graph::IdGraph;
use crate::positions::Positions;
use crate::{CutDependency, Problem, Task, TaskId, TddHalf};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns all problems of a backlog: repeated ids, then each task's own in the order of the backlog, then cycles.
pub fn problems(tasks: &[Task]) -> Vec<Problem> {
    let nodes: Vec<&Task> = Task::with_subtasks(tasks).collect();
    let edges = nodes.iter().enumerate().flat_map(|(position, task)| {
        task.dependencies
            .iter()
            .map(move |dependency| (position, dependency))
    });
    let (on_itself, on_others): (Vec<_>, Vec<_>) =
        edges.partition(|(position, dependency)| **dependency == nodes[*position].id);
    let graph = IdGraph::new(nodes.iter().map(|task| &task.id).collect(), on_others);
    let id = |position: usize| nodes[position].id.clone();
    let itself = |(position, _)| (position, Problem::Itself { task: id(position) });
    let missing = |(position, dependency): (usize, &TaskId)| {
        let (task, dependency) = (id(position), dependency.clone());
        (position, Problem::Missing { task, dependency })
    };
    let cycles = graph.cycles();
    let missing = graph.unknown.into_iter().map(missing);
    let mut own: Vec<_> = on_itself.into_iter().map(itself).chain(missing).collect();
    own.sort_by_key(|(position, _)| *position);
    graph
        .duplicates
        .into_iter()
        .chain(own.into_iter().map(|(_, problem)| problem))
        .chain(cycles.into_iter().map(|tasks| Problem::Circular { tasks }))
        .collect()
}

/// What a repair does about cycles.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CycleRepair {
    /// Leaves them to a person.
    Leave,
    /// Cuts each at the dependency with the least meaning: within a feature before across features, then that of an
    /// earlier id on a later one, the widest gap first.
    Cut,
}

/// Returns the dependencies that have to go, as (task, dependency), each with the problem that it solves.
///
/// A dependency of a GREEN task on its RED is never among them. After a cut, only what is left of that cycle is looked
/// at again.
pub fn repairs(tasks: &[Task], cycle_repair: CycleRepair) -> Vec<(CutDependency, Problem)> {
    let mut repairs = Vec::new();
    let mut left = VecDeque::new();
    for problem in problems(tasks) {
        match &problem {
            Problem::Itself { task } => repairs.push(((task.clone(), task.clone()), problem)),
            Problem::Missing { task, dependency } => {
                repairs.push(((task.clone(), dependency.clone()), problem));
            }
            Problem::Circular { .. } => left.push_back(problem),
            Problem::Duplicate { .. } | Problem::Unknown { .. } => {}
        }
    }
    if cycle_repair == CycleRepair::Leave || left.is_empty() {
        return repairs;
    }
    let mut component = Components::new(tasks);
    while let Some(problem) = left.pop_front() {
        let Problem::Circular { tasks } = &problem else {
            continue;
        };
        let Some(edge) = component.least_meaning(tasks) else {
            continue;
        };
        component.cut.insert(edge.clone());
        let cycles = component.cycles(tasks).into_iter();
        left.extend(cycles.map(|tasks| Problem::Circular { tasks }));
        repairs.push((edge, problem));
    }
    repairs
}

/// The tasks by id, without the dependencies that were cut.
#[derive(Default)]
struct Components<'t> {
    by_id: BTreeMap<&'t TaskId, Vec<&'t Task>>,
    cut: BTreeSet<(TaskId, TaskId)>,
}

impl<'t> Components<'t> {
    fn new(tasks: &'t [Task]) -> Self {
        let mut components = Self::default();
        for task in Task::with_subtasks(tasks) {
            components.by_id.entry(&task.id).or_default().push(task);
        }
        components
    }

    /// Returns the dependencies among these tasks, as (task, dependency).
    fn edges(&self, members: &BTreeSet<&TaskId>) -> impl Iterator<Item = (&'t Task, &'t TaskId)> {
        let edges = members
            .iter()
            .filter_map(|id| self.by_id.get(*id))
            .flatten()
            .flat_map(|&task| task.dependencies.iter().map(move |on| (task, on)));
        edges.filter(|(task, dependency)| {
            members.contains(dependency)
                && **dependency != task.id
                && !self.cut.contains(&(task.id.clone(), (*dependency).clone()))
        })
    }

    fn cycles(&self, tasks: &[TaskId]) -> Vec<Vec<TaskId>> {
        let ids: Vec<&TaskId> = tasks.iter().collect();
        let (positions, _) = Positions::of(tasks.iter());
        let members: BTreeSet<&TaskId> = tasks.iter().collect();
        let edges = self
            .edges(&members)
            .filter_map(|(task, dependency)| Some((positions.get(task.id.as_str())?, dependency)));
        IdGraph::new(ids, edges).cycles()
    }

    /// One within a feature before one across features, then the one that points furthest forward.
    fn least_meaning(&self, cycle: &[TaskId]) -> Option<CutDependency> {
        let members: BTreeSet<&TaskId> = cycle.iter().collect();
        let feature = |id: &TaskId| self.by_id.get(id)?[0].metadata.feature.as_deref();
        let is_of_pair = |task: &Task, dependency: &TaskId| {
            let names = |task: &Task, half, other| {
                task.half() == Some(half) && task.partner_id() == Some(other)
            };
            let mut reds = self.by_id.get(dependency).into_iter().flatten();
            names(task, TddHalf::Green, dependency)
                || reds.any(|red| names(red, TddHalf::Red, &task.id))
        };
        let rank: BTreeMap<&TaskId, i64> = members.iter().copied().zip(0..).collect();
        let weighed = self
            .edges(&members)
            .filter(|(task, on)| !is_of_pair(task, on))
            .map(|(task, on)| {
                let is_within_feature = task.metadata.feature.as_deref() == feature(on);
                (is_within_feature, rank[on] - rank[&task.id], on, &task.id)
            });
        let (_, _, dependency, task) = weighed.max()?;
        Some((task.clone(), dependency.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TddMark;
    use crate::task::task;

    fn describe(tasks: &[Task]) -> Vec<String> {
        problems(tasks).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let mut one = task("1", &["2", "1.1"]);
        one.subtasks = vec![task("1.1", &["1.2"]), task("1.2", &["1.1"])];
        let tasks = [
            one,
            task("2", &["1", "9"]),
            task("3", &["3"]),
            task("3", &[]),
        ];
        assert_eq!(
            describe(&tasks),
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
        green.metadata.tdd = Some(TddMark {
            half: TddHalf::Green,
            paired_task_id: Some("2".into()),
        });
        let tasks = [green, task("2", &["1"]), task("3", &["1", "3", "8"])];
        let edges: Vec<String> = repairs(&tasks, CycleRepair::Cut)
            .iter()
            .map(|((task, on), _)| format!("{task}-{on}"))
            .collect();
        assert_eq!(edges, ["3-3", "3-8", "1-3", "2-1"]);
        assert_eq!(repairs(&tasks, CycleRepair::Leave).len(), 2);
    }

    #[test]
    fn a_cycle_is_cut_within_a_feature_before_across_features() {
        let mut tasks = [task("1", &["3"]), task("2", &["1"]), task("3", &["2"])];
        for (task, feature) in tasks.iter_mut().zip(["login", "login", "search"]) {
            task.metadata.feature = Some(feature.to_owned());
        }
        let repairs = repairs(&tasks, CycleRepair::Cut);
        assert_eq!(
            repairs[0].0,
            ("2".into(), "1".into()),
            "1 on 3 points furthest forward, but across features"
        );
        assert_eq!(repairs.len(), 1);
    }

    #[test]
    fn each_of_thousands_of_cycles_is_looked_at_alone() {
        let tasks: Vec<Task> = (0..6_000_u32)
            .map(|number| task(&number.to_string(), &[&(number ^ 1).to_string()]))
            .collect();
        let repairs = repairs(&tasks, CycleRepair::Cut);
        assert_eq!(repairs.len(), 3_000);
        assert!(
            repairs
                .iter()
                .all(|((task, dependency), _)| task < dependency),
            "each points forward"
        );
    }

    #[test]
    fn layered_graphs_take_no_longer_than_plain_ones() {
        let tasks: Vec<Task> = (0..3_000)
            .map(|number| {
                let layer = number / 3;
                let before = (0..3)
                    .filter(|_| layer > 0)
                    .map(|place| ((layer - 1) * 3 + place).to_string().into());
                let mut task = Task::new(number.to_string(), "x");
                task.dependencies = before.collect();
                task
            })
            .collect();
        assert_eq!(problems(&tasks), []);
    }
}
