//! The dependency graph of what a run carries out, and the refusal of what can't be planned.
//!
//! Knows petgraph; does not know order, slots or time.

use crate::{PlannedTask, Problem, TaskId};
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

    fn problems(&self) -> impl Iterator<Item = Problem> {
        let duplicates = self.duplicates.iter().cloned();
        let missing = |(task, dependency): (TaskId, TaskId)| Problem::Missing { task, dependency };
        let circular = |mut tasks: Vec<TaskId>| match tasks.len() {
            1 => Problem::Itself {
                task: tasks.remove(0),
            },
            _ => Problem::Circular { tasks },
        };
        duplicates
            .map(|task| Problem::Duplicate { task })
            .chain(self.unknown.iter().cloned().map(missing))
            .chain(self.cycles.iter().cloned().map(circular))
    }
}

impl fmt::Display for Unplannable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.problems().map(|problem| problem.to_string()).collect();
        formatter.write_str(&reasons.join("; "))
    }
}

impl std::error::Error for Unplannable {}

/// A dependency that was cut to break a cycle: (task, dependency).
pub type CutDependency = (TaskId, TaskId);

/// Returns where each id stands, of several with one id the last, and the ids that stand there more than once, in order.
///
/// Found by their texts: comparing ids as people count is dear.
pub(crate) fn positions<'t>(
    ids: impl IntoIterator<Item = &'t TaskId>,
) -> (BTreeMap<&'t str, usize>, Vec<TaskId>) {
    let (mut positions, mut duplicates) = (BTreeMap::new(), BTreeSet::new());
    for (position, id) in ids.into_iter().enumerate() {
        if positions.insert(id.as_str(), position).is_some() {
            duplicates.insert(id.clone());
        }
    }
    (positions, duplicates.into_iter().collect())
}

/// A graph of ids, by their positions, with an edge from each dependency to what depends on it.
pub(crate) struct IdGraph<'t> {
    ids: Vec<&'t TaskId>,
    graph: DiGraph<(), ()>,
    pub(crate) duplicates: Vec<TaskId>,
    /// Dependencies that no id is, each with the position of what depends on it.
    pub(crate) unknown: Vec<(usize, &'t TaskId)>,
}

impl<'t> IdGraph<'t> {
    /// Builds the graph of ids and of dependencies, each with the position of what depends on it.
    pub(crate) fn new(
        ids: Vec<&'t TaskId>,
        dependencies: impl IntoIterator<Item = (usize, &'t TaskId)>,
    ) -> Self {
        let (positions, duplicates) = positions(ids.iter().copied());
        let mut graph = DiGraph::with_capacity(ids.len(), ids.len() * 2);
        for _ in &ids {
            graph.add_node(());
        }
        let mut unknown = Vec::new();
        for (position, dependency) in dependencies {
            match positions.get(dependency.as_str()) {
                Some(&before) => {
                    graph.add_edge(NodeIndex::new(before), NodeIndex::new(position), ());
                }
                None => unknown.push((position, dependency)),
            }
        }
        Self {
            ids,
            graph,
            duplicates,
            unknown,
        }
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
                let before = self.graph.neighbors_directed(node, petgraph::Incoming);
                let before = before.filter(|before| left.contains_key(id(before)));
                next = before.min_by_key(|before| id(before));
                next.and_then(|before| left.remove(id(&before)));
            }
        }
        walk
    }
}

/// Returns the edge, as (task, dependency), that is to go of those within a cycle: of those that weigh most the one of an
/// earlier id on a later one with the widest gap.
pub(crate) fn least_meaning<'t, Weight: Ord>(
    cycle: &BTreeSet<&TaskId>,
    edges: impl Iterator<Item = (&'t TaskId, &'t TaskId, Weight)>,
) -> Option<CutDependency> {
    let rank: BTreeMap<&TaskId, i64> = cycle.iter().copied().zip(0..).collect();
    let edges = edges.map(|(task, dependency, weight)| {
        let gap = rank[dependency] - rank[task];
        ((weight, gap, dependency), task)
    });
    // Of those that are equal the last.
    let least = edges.max_by(|left, right| left.0.cmp(&right.0));
    least.map(|((_, _, dependency), task)| (task.clone(), dependency.clone()))
}

/// The planned tasks with their dependencies resolved to positions, in an order in which every task comes after what
/// it depends on.
#[derive(Clone, Debug)]
pub(crate) struct TaskGraph {
    /// The tasks, in the order in which they were given.
    pub(crate) tasks: Vec<PlannedTask>,
    /// The positions of what each task depends on.
    pub(crate) dependencies: Vec<Vec<usize>>,
    /// The positions of the tasks that depend on each.
    pub(crate) dependants: Vec<Vec<usize>>,
    /// All positions, each after those that it depends on.
    pub(crate) topological: Vec<usize>,
}

impl TaskGraph {
    /// Builds the graph.
    ///
    /// # Errors
    /// Names every duplicate id, every unknown dependency and every cycle at once.
    pub(crate) fn new(tasks: Vec<PlannedTask>) -> Result<Self, Unplannable> {
        let ids = tasks.iter().map(|task| &task.id).collect();
        let dependencies = tasks.iter().enumerate().flat_map(|(position, task)| {
            task.dependencies
                .iter()
                .map(move |dependency| (position, dependency))
        });
        let of_ids = IdGraph::new(ids, dependencies);
        let topological = toposort(&of_ids.graph, None);
        let unknown = of_ids.unknown.iter();
        let refusal = Unplannable {
            unknown: unknown
                .map(|&(task, id)| (tasks[task].id.clone(), id.clone()))
                .collect(),
            cycles: match topological {
                Ok(_) => Vec::new(),
                Err(_) => of_ids.cycles(),
            },
            duplicates: of_ids.duplicates,
        };
        let graph = of_ids.graph;
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
    pub(crate) fn with_cycles_cut(
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
            let before = cut.len();
            for cycle in &refusal.cycles {
                let Some(edge) = without_meaning(&tasks, cycle) else {
                    continue;
                };
                for task in tasks.iter_mut().filter(|task| task.id == edge.0) {
                    task.dependencies.retain(|id| *id != edge.1);
                }
                cut.push(edge);
            }
            if cut.len() == before {
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
}

fn without_meaning(tasks: &[PlannedTask], cycle: &[TaskId]) -> Option<CutDependency> {
    let members: BTreeSet<&TaskId> = cycle.iter().collect();
    let of_cycle = tasks.iter().filter(|task| members.contains(&task.id));
    let edges = of_cycle.flat_map(|task| {
        let own = task
            .dependencies
            .iter()
            .filter(|id| task.pair.as_ref() != Some(*id));
        own.map(move |dependency| (&task.id, dependency, ()))
    });
    let within = edges.filter(|(_, dependency, ())| members.contains(dependency));
    least_meaning(&members, within)
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
        assert_eq!(graph.tasks.len(), 6);
        for task in &graph.tasks {
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
