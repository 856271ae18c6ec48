//! The dependency graph of what a run carries out, and the refusal of what can't be planned.
//!
//! Knows petgraph; does not know order, slots or time.

use crate::positions::Positions;
use crate::{PlacedTask, Task, TaskId, quoted, quoted_cycle};
use petgraph::Direction::{self, Incoming, Outgoing};
use petgraph::algo::{astar, kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::graphmap::DiGraphMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::iter;

/// Something that is wrong with dependencies.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Problem {
    /// More than one task has this id.
    #[error("more than one task has the id `{task}`")]
    Duplicate {
        /// The id.
        task: TaskId,
    },
    /// A task depends on itself.
    #[serde(rename = "self")]
    #[error("task `{task}` depends on itself")]
    Itself {
        /// The task.
        task: TaskId,
    },
    /// A task depends on one that is not there.
    #[error("task `{task}` depends on `{dependency}`, which is not there")]
    Missing {
        /// The task.
        task: TaskId,
        /// What is not there.
        dependency: TaskId,
    },
    /// A task that was asked for is not there.
    #[error("there is no task `{task}`, {}", in_part(known))]
    Unknown {
        /// What is not there.
        task: TaskId,
        /// The tasks that there are.
        known: Vec<TaskId>,
    },
    /// Tasks wait for each other.
    #[error("tasks {} depend on each other in a cycle", quoted_cycle(tasks))]
    Circular {
        /// The tasks, along the cycle where it is a plain one.
        tasks: Vec<TaskId>,
    },
}

impl Problem {
    /// Returns the problem that tasks wait for each other.
    fn of_cycle(tasks: Vec<TaskId>) -> Self {
        match tasks.as_slice() {
            [task] => Self::Itself { task: task.clone() },
            _ => Self::Circular { tasks },
        }
    }

    /// Returns the problems that ids stand more than once.
    pub(crate) fn of_duplicates<'t>(ids: impl IntoIterator<Item = &'t TaskId>) -> Vec<Self> {
        let problem = |id: &TaskId| Self::Duplicate { task: id.clone() };
        ids.into_iter().map(problem).collect()
    }

    /// Tells whether tasks wait for each other, or one for itself.
    pub(crate) const fn is_cycle(&self) -> bool {
        matches!(self, Self::Itself { .. } | Self::Circular { .. })
    }
}

/// Every reason for which a backlog can't be planned.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", in_words(problems))]
pub struct Unplannable {
    /// Repeated ids, dependencies on what is not there, tasks that wait for each other: one at least.
    pub problems: Vec<Problem>,
}

/// So many ids are named where there are many.
const NAMED: usize = 12;

fn in_part(known: &[TaskId]) -> String {
    let named = quoted(known.iter().take(NAMED));
    match known.len() {
        0 => "nor any other one".to_owned(),
        1..=NAMED => format!("only {named}"),
        all => format!("only {named} and {} more", all - NAMED),
    }
}

fn in_words(problems: &[Problem]) -> String {
    let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
    words.join("; ")
}

impl Unplannable {
    /// Tells whether tasks wait for each other, or one for itself.
    pub fn has_cycles(&self) -> bool {
        self.problems.iter().any(Problem::is_cycle)
    }

    /// Tells whether tasks were asked for that are not there, and nothing is wrong with the backlog.
    pub fn is_of_order(&self) -> bool {
        let is_unknown = |problem: &Problem| matches!(problem, Problem::Unknown { .. });
        self.problems.iter().all(is_unknown)
    }
}

/// A dependency that was cut to break a cycle: (task, dependency).
pub type CutDependency = (TaskId, TaskId);

/// A graph of ids, by their positions, with an edge from each dependency to what depends on it.
pub(crate) struct IdGraph<'t> {
    ids: Vec<&'t TaskId>,
    graph: DiGraph<(), ()>,
    /// Whether each dependency stands before what depends on it.
    is_in_order: bool,
    pub(crate) duplicates: Vec<Problem>,
    /// Dependencies that no id is, each with the position of what depends on it.
    pub(crate) unknown: Vec<(usize, &'t TaskId)>,
}

impl<'t> IdGraph<'t> {
    /// Builds the graph of ids and of dependencies, each with the position of what depends on it.
    pub(crate) fn new(
        ids: Vec<&'t TaskId>,
        dependencies: impl IntoIterator<Item = (usize, &'t TaskId)>,
    ) -> Self {
        let (positions, duplicates) = Positions::of(ids.iter().copied());
        let mut graph = DiGraph::with_capacity(ids.len(), ids.len() * 2);
        for _ in &ids {
            graph.add_node(());
        }
        let (mut is_in_order, mut unknown) = (true, Vec::new());
        for (position, dependency) in dependencies {
            match positions.get(dependency.as_str()) {
                Some(before) => {
                    is_in_order &= before < position;
                    graph.add_edge(NodeIndex::new(before), NodeIndex::new(position), ());
                }
                None => unknown.push((position, dependency)),
            }
        }
        Self {
            ids,
            graph,
            is_in_order,
            duplicates: Problem::of_duplicates(duplicates),
            unknown,
        }
    }

    /// Returns all positions, each after those that it depends on; nothing where some wait for each other.
    fn topological(&self) -> Option<Vec<usize>> {
        // As most people write their backlogs.
        if self.is_in_order {
            return Some((0..self.ids.len()).collect());
        }
        let order = toposort(&self.graph, None).ok()?;
        Some(order.into_iter().map(NodeIndex::index).collect())
    }

    /// Returns the groups of ids that wait for each other.
    pub(crate) fn cycles(&self) -> Vec<Vec<TaskId>> {
        let mut cycles: Vec<Vec<TaskId>> = kosaraju_scc(&self.graph)
            .into_iter()
            .filter(|nodes| nodes.len() > 1 || self.graph.contains_edge(nodes[0], nodes[0]))
            .map(|nodes| self.along_the_cycle(&nodes))
            .collect();
        cycles.sort();
        cycles
    }

    /// Orders the members of a component by walking it from its lowest id; what one walk does not reach follows by id.
    fn along_the_cycle(&self, nodes: &[NodeIndex]) -> Vec<TaskId> {
        let id = |node: &NodeIndex| self.ids[node.index()];
        let mut left: BTreeMap<&TaskId, NodeIndex> =
            nodes.iter().map(|node| (id(node), *node)).collect();
        let mut walk = Vec::with_capacity(nodes.len());
        while let Some((_, start)) = left.pop_first() {
            let mut next = Some(start);
            while let Some(node) = next {
                walk.push(id(&node).clone());
                let before = self.graph.neighbors_directed(node, Incoming);
                let before = before.filter(|before| left.contains_key(id(before)));
                next = before.min_by_key(|before| id(before));
                next.and_then(|before| left.remove(id(&before)));
            }
        }
        walk
    }
}

/// Returns the cycle that new dependencies (task, dependency) would close together, cycles that are there already left
/// out: from the task of one of them along what it depends on to itself.
pub fn cycle_with(tasks: &[Task], new: &[(TaskId, TaskId)]) -> Option<Vec<TaskId>> {
    let new = || new.iter().map(|(task, on)| (task.as_str(), on.as_str()));
    let known = Task::with_subtasks(tasks).flat_map(|task| {
        let all = task.dependencies.iter();
        all.map(|on| (task.id.as_str(), on.as_str()))
    });
    let graph = DiGraphMap::<&str, ()>::from_edges(known.chain(new()));
    let groups = kosaraju_scc(&graph);
    let group_of: BTreeMap<&str, usize> = groups
        .iter()
        .enumerate()
        .flat_map(|(group, ids)| ids.iter().map(move |id| (*id, group)))
        .collect();
    let (task, dependency) = new().find(|(task, on)| group_of[task] == group_of[on])?;
    let (_, way) = astar(&graph, dependency, |id| id == task, |_| 1, |_| 0)?;
    Some(iter::once(task).chain(way).map(TaskId::from).collect())
}

/// The planned tasks with their dependencies resolved to positions.
#[derive(Clone, Debug)]
pub(crate) struct TaskGraph {
    /// The tasks, in the order in which they were given.
    pub(crate) tasks: Vec<PlacedTask>,
    /// All positions, each after those that it depends on.
    pub(crate) topological: Vec<usize>,
    edges: DiGraph<(), ()>,
}

impl TaskGraph {
    /// Builds the graph.
    ///
    /// # Errors
    /// Names every duplicate id, every unknown dependency and every cycle at once.
    pub(crate) fn new(tasks: Vec<PlacedTask>) -> Result<Self, Unplannable> {
        let ids = tasks.iter().map(|placed| &placed.task.id).collect();
        let dependencies = tasks.iter().enumerate().flat_map(|(position, placed)| {
            placed
                .task
                .dependencies
                .iter()
                .map(move |dependency| (position, dependency))
        });
        let graph = IdGraph::new(ids, dependencies);
        let topological = graph.topological();
        let cycles = match topological {
            Some(_) => Vec::new(),
            None => graph.cycles(),
        };
        let cycles = cycles.into_iter().map(Problem::of_cycle);
        let missing = |(task, dependency): (usize, &TaskId)| Problem::Missing {
            task: tasks[task].task.id.clone(),
            dependency: dependency.clone(),
        };
        let mut problems = graph.duplicates;
        problems.extend(graph.unknown.into_iter().map(missing).chain(cycles));
        if !problems.is_empty() {
            return Err(Unplannable { problems });
        }
        Ok(Self {
            topological: topological.expect("where nothing is wrong, there is no cycle"),
            edges: graph.graph,
            tasks,
        })
    }

    /// Returns the positions of what a task depends on.
    pub(crate) fn before(&self, task: usize) -> impl Iterator<Item = usize> {
        self.neighbours(task, Incoming)
    }

    /// Returns the positions of the tasks that depend on a task.
    pub(crate) fn after(&self, task: usize) -> impl Iterator<Item = usize> {
        self.neighbours(task, Outgoing)
    }

    fn neighbours(&self, task: usize, side: Direction) -> impl Iterator<Item = usize> {
        self.edges
            .neighbors_directed(NodeIndex::new(task), side)
            .map(NodeIndex::index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedStart, TddMode, pair};

    fn planned(edges: &[(&str, &[&str])]) -> Vec<PlacedTask> {
        let tasks: Vec<Task> = edges
            .iter()
            .map(|(id, dependencies)| {
                let mut task = Task::new(*id, format!("Build {id}"));
                task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
                task
            })
            .collect();
        let tasks: Vec<&Task> = tasks.iter().collect();
        let pairing = pair(&tasks, TddMode::Off, RedStart::AfterDependencies);
        let placed = |task| PlacedTask::joining(task, 1, None);
        pairing.tasks.into_iter().map(placed).collect()
    }

    #[test]
    fn every_culprit_is_named_at_once() {
        let edges: &[(&str, &[&str])] = &[
            ("1", &["2"]),
            ("2", &["1"]),
            ("3", &["3"]),
            ("4", &["77"]),
            ("5", &[]),
            ("5", &[]),
            ("6", &["8"]),
            ("7", &["6"]),
            ("8", &["7"]),
        ];
        let refusal = TaskGraph::new(planned(edges)).expect_err("a refusal");
        assert_eq!(
            refusal.to_string(),
            "more than one task has the id `5`; task `4` depends on `77`, which is not there; \
             tasks `1` → `2` depend on each other in a cycle; task `3` depends on itself; \
             tasks `6` → `8` → `7` depend on each other in a cycle"
        );
    }

    #[test]
    fn a_long_chain_does_not_exhaust_the_stack() {
        let tasks: Vec<PlacedTask> = (1..=100_000)
            .map(|number| {
                let mut task = Task::new(number.to_string(), "x");
                let before = if number == 1 { 100_000 } else { number - 1 };
                task.dependencies = vec![before.to_string().into()];
                let mut pairing = pair(&[&task], TddMode::Off, RedStart::AfterDependencies);
                PlacedTask::joining(pairing.tasks.remove(0), 1, None)
            })
            .collect();
        let refusal = TaskGraph::new(tasks).expect_err("one cycle");
        assert_eq!(refusal.problems.len(), 1);
        let Problem::Circular { tasks } = &refusal.problems[0] else {
            panic!("{refusal}");
        };
        assert_eq!(tasks.len(), 100_000);
    }
}
