//! The dependency graph of what a run carries out, and the refusal of what can't be planned.
//!
//! Knows petgraph; does not know order, slots or time.

use crate::positions::Positions;
use crate::{PlannedTask, TaskId};
use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Every reason for which a backlog can't be planned.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Unplannable {
    /// Ids that more than one task has.
    pub duplicates: Vec<TaskId>,
    /// Tasks with a dependency that no task has: (task, dependency).
    pub unknown: Vec<(TaskId, TaskId)>,
    /// Tasks that wait for each other, each group in the order of its cycle where it is a plain one.
    pub cycles: Vec<Vec<TaskId>>,
}

impl Unplannable {
    /// Tells whether there is no reason at all.
    pub const fn is_empty(&self) -> bool {
        self.duplicates.is_empty() && self.unknown.is_empty() && self.cycles.is_empty()
    }
}

impl fmt::Display for Unplannable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: Vec<String> = Vec::new();
        reasons.extend(
            self.duplicates
                .iter()
                .map(|id| format!("more than one task has the id `{id}`")),
        );
        reasons.extend(
            self.unknown
                .iter()
                .map(|(task, id)| format!("task `{task}` depends on `{id}`, which is not there")),
        );
        reasons.extend(self.cycles.iter().map(|cycle| {
            let ids: Vec<String> = cycle.iter().map(|id| format!("`{id}`")).collect();
            if let [alone] = ids.as_slice() {
                return format!("task {alone} depends on itself");
            }
            format!("tasks {} depend on each other in a cycle", ids.join(" → "))
        }));
        formatter.write_str(&reasons.join("; "))
    }
}

impl std::error::Error for Unplannable {}

/// A dependency that was cut to break a cycle: (task, dependency).
pub type CutDependency = (TaskId, TaskId);

/// The planned tasks with their dependencies resolved to positions, in an order in which every task comes after what
/// it depends on.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    tasks: Vec<PlannedTask>,
    dependencies: Vec<Vec<usize>>,
    dependants: Vec<Vec<usize>>,
    topological: Vec<usize>,
}

impl TaskGraph {
    /// Builds the graph.
    ///
    /// # Errors
    /// Names every duplicate id, every unknown dependency and every cycle at once.
    pub fn new(tasks: Vec<PlannedTask>) -> Result<Self, Unplannable> {
        let (positions, duplicates) = Positions::new(tasks.iter().map(|task| &task.id));
        let mut refusal = Unplannable {
            duplicates,
            ..Unplannable::default()
        };
        let mut graph = DiGraph::<(), ()>::with_capacity(tasks.len(), tasks.len() * 2);
        for _ in &tasks {
            graph.add_node(());
        }
        for (position, task) in tasks.iter().enumerate() {
            for dependency in &task.dependencies {
                match positions.get(dependency) {
                    Some(before) => {
                        graph.add_edge(NodeIndex::new(before), NodeIndex::new(position), ());
                    }
                    None => refusal.unknown.push((task.id.clone(), dependency.clone())),
                }
            }
        }
        let topological = toposort(&graph, None);
        if topological.is_err() {
            let ids: Vec<&TaskId> = tasks.iter().map(|task| &task.id).collect();
            refusal.cycles = cycles(&graph, &ids);
        }
        drop(positions);
        match topological {
            Ok(order) if refusal.is_empty() => Ok(Self::resolved(tasks, &graph, &order)),
            Ok(_) | Err(_) => Err(refusal),
        }
    }

    /// Builds the graph and cuts cycles at the dependency with the least meaning.
    ///
    /// Least meaning has a dependency of an earlier id on a later one, the widest such gap first, since backlogs are
    /// written in the order of the work; never the one between a RED and its GREEN.
    ///
    /// # Errors
    /// As `new`, for what cutting can't help.
    pub fn with_cycles_cut(
        mut tasks: Vec<PlannedTask>,
    ) -> Result<(Self, Vec<CutDependency>), Unplannable> {
        let mut cut = Vec::new();
        loop {
            let refusal = match Self::new(tasks.clone()) {
                Ok(graph) => return Ok((graph, cut)),
                Err(refusal) => refusal,
            };
            if !refusal.duplicates.is_empty() || !refusal.unknown.is_empty() {
                return Err(refusal);
            }
            let mut helped = false;
            for cycle in &refusal.cycles {
                if let Some((task, dependency)) = least_meaning(&tasks, cycle) {
                    tasks[task].dependencies.retain(|id| *id != dependency);
                    cut.push((tasks[task].id.clone(), dependency));
                    helped = true;
                }
            }
            if !helped {
                return Err(refusal);
            }
        }
    }

    fn resolved(tasks: Vec<PlannedTask>, graph: &DiGraph<(), ()>, order: &[NodeIndex]) -> Self {
        let mut dependencies = vec![Vec::new(); tasks.len()];
        let mut dependants = vec![Vec::new(); tasks.len()];
        for edge in graph.raw_edges() {
            let (before, after) = (edge.source().index(), edge.target().index());
            dependencies[after].push(before);
            dependants[before].push(after);
        }
        Self {
            tasks,
            dependencies,
            dependants,
            topological: order.iter().map(|node| node.index()).collect(),
        }
    }

    /// Returns the tasks, in the order in which they were given.
    pub fn tasks(&self) -> &[PlannedTask] {
        &self.tasks
    }

    /// Returns the positions of what the task at `position` depends on.
    pub fn dependencies(&self, position: usize) -> &[usize] {
        &self.dependencies[position]
    }

    /// Returns the positions of the tasks that depend on the one at `position`.
    pub fn dependants(&self, position: usize) -> &[usize] {
        &self.dependants[position]
    }

    /// Returns all positions, each after those that it depends on.
    pub fn topological(&self) -> &[usize] {
        &self.topological
    }

    /// Takes the tasks out.
    pub(crate) fn into_tasks(self) -> Vec<PlannedTask> {
        self.tasks
    }
}

/// Returns the groups of nodes that wait for each other; `ids` names the nodes.
pub(crate) fn cycles(graph: &DiGraph<(), ()>, ids: &[&TaskId]) -> Vec<Vec<TaskId>> {
    let mut cycles: Vec<Vec<TaskId>> = kosaraju_scc(graph)
        .into_iter()
        .filter(|nodes| nodes.len() > 1 || graph.contains_edge(nodes[0], nodes[0]))
        .map(|nodes| along_the_cycle(graph, &nodes, ids))
        .collect();
    cycles.sort();
    cycles
}

/// Orders the members of a component by walking it from its lowest id; what one walk does not reach follows by id.
fn along_the_cycle(graph: &DiGraph<(), ()>, nodes: &[NodeIndex], ids: &[&TaskId]) -> Vec<TaskId> {
    let id = |node: &NodeIndex| ids[node.index()];
    let mut left: BTreeMap<&TaskId, NodeIndex> =
        nodes.iter().map(|node| (id(node), *node)).collect();
    let mut walk = Vec::with_capacity(nodes.len());
    while let Some((_, start)) = left.pop_first() {
        let mut next = Some(start);
        while let Some(node) = next {
            walk.push(id(&node).clone());
            next = graph
                .neighbors_directed(node, petgraph::Direction::Incoming)
                .filter(|before| left.contains_key(id(before)))
                .min_by_key(|before| id(before));
            if let Some(before) = next {
                left.remove(id(&before));
            }
        }
    }
    walk
}

/// Returns the position of a task of the cycle and the dependency of it that is to go.
fn least_meaning(tasks: &[PlannedTask], cycle: &[TaskId]) -> Option<(usize, TaskId)> {
    let members: BTreeSet<&TaskId> = cycle.iter().collect();
    let rank: BTreeMap<&TaskId, usize> = members
        .iter()
        .enumerate()
        .map(|(rank, &id)| (id, rank))
        .collect();
    let gap = |task: &TaskId, dependency: &TaskId| {
        i64::try_from(rank[dependency]).unwrap_or(i64::MAX)
            - i64::try_from(rank[task]).unwrap_or(i64::MAX)
    };
    tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| members.contains(&task.id))
        .flat_map(|(position, task)| {
            task.dependencies
                .iter()
                .map(move |dependency| (position, task, dependency))
        })
        .filter(|(_, task, dependency)| {
            members.contains(dependency) && task.pair.as_ref() != Some(*dependency)
        })
        .max_by_key(|(_, task, dependency)| (gap(&task.id, dependency), (*dependency).clone()))
        .map(|(position, _, dependency)| (position, dependency.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedStart, Task, TddMode, pair};

    fn planned(edges: &[(&str, &[&str])], mode: TddMode) -> Vec<PlannedTask> {
        let tasks: Vec<Task> = edges
            .iter()
            .map(|(id, dependencies)| {
                let mut task = Task::new(*id, format!("Build {id}"));
                task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
                task
            })
            .collect();
        pair(
            &tasks.iter().collect::<Vec<_>>(),
            mode,
            RedStart::AfterDependencies,
        )
        .tasks
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
        let refusal = TaskGraph::new(planned(edges, TddMode::Off)).expect_err("a refusal");
        assert_eq!(
            refusal.to_string(),
            "more than one task has the id `5`; task `4` depends on `77`, which is not there; \
             tasks `1` → `2` depend on each other in a cycle; task `3` depends on itself; \
             tasks `6` → `8` → `7` depend on each other in a cycle"
        );
    }

    #[test]
    fn cutting_takes_the_dependency_that_points_forward_and_never_the_one_within_a_pair() {
        let (graph, cut) = TaskGraph::with_cycles_cut(planned(
            &[("1", &["3"]), ("2", &["1"]), ("3", &["2"])],
            TddMode::Auto,
        ))
        .expect("cut");
        let cut: Vec<String> = cut
            .iter()
            .map(|(task, dependency)| format!("{task}-{dependency}"))
            .collect();
        assert_eq!(cut, ["1-3", "1:red-3"]);
        assert_eq!(graph.tasks().len(), 6);
        for task in graph.tasks() {
            let keeps_its_red = task.pair.as_ref().is_none_or(|red| {
                task.phase != crate::Phase::Green || task.dependencies.contains(red)
            });
            assert!(keeps_its_red, "{}", task.id);
        }
    }

    #[test]
    fn a_long_chain_does_not_exhaust_the_stack() {
        let tasks: Vec<PlannedTask> = (1..=100_000)
            .map(|number| {
                let mut task = Task::new(number.to_string(), "x");
                let before = if number == 1 { 100_000 } else { number - 1 };
                task.dependencies = vec![before.to_string().into()];
                pair(&[&task], TddMode::Off, RedStart::AfterDependencies)
                    .tasks
                    .remove(0)
            })
            .collect();
        let refusal = TaskGraph::new(tasks).expect_err("one cycle");
        assert_eq!(refusal.cycles.len(), 1);
        assert_eq!(refusal.cycles[0].len(), 100_000);
    }
}
