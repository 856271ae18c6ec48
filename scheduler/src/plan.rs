//! Plans waves.
//!
//! Knows slots only where it is known how long tasks take, and nothing of what happens at run time.

use crate::graph::TaskGraph;
use crate::justified;
use crate::pair::pair_units;
use crate::positions::Positions;
use crate::unit::{UnitSource, UnitTask, units_of};
use crate::{
    CutDependency, CycleRepair, Durations, MetadataFields, PlacedTask, PlannedTask, Priority,
    Problem, RedStart, Status, Task, TaskId, TddHalf, TddMark, TddMode, Unit, Unplannable, repairs,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What to do with cycles.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Cycles {
    /// Refuse the backlog.
    #[default]
    Refuse,
    /// Cut the dependency with the least meaning and say which.
    Cut,
}

/// How a backlog is turned into a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanOptions {
    /// What counts as one task.
    pub unit: Unit,
    /// Which tasks become pairs.
    pub tdd: TddMode,
    /// When RED tasks may start.
    pub red_start: RedStart,
    /// What to do with cycles.
    pub cycles: Cycles,
    /// Only these tasks of the backlog, and the open ones that they depend on; all when empty.
    pub only: Vec<TaskId>,
    /// How long tasks are expected to take.
    pub durations: Durations,
}

/// An open task that is not planned because it waits for something outside the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldTask {
    /// The task's id in the backlog.
    pub id: TaskId,
    /// One line.
    pub title: String,
    /// What it waits for, with the status that keeps it waiting.
    pub waits_for: Vec<(TaskId, Status)>,
}

/// A plan: the tasks in the order in which ready ones are taken, so that a task's position is its rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WavePlan {
    /// The tasks, most urgent first.
    pub tasks: Vec<PlacedTask>,
    /// Open tasks that can't be planned now.
    pub held: Vec<HeldTask>,
    /// How many tasks of the backlog are finished already.
    pub finished: usize,
    /// Dependencies that were cut to break cycles.
    pub cut: Vec<CutDependency>,
    /// What people should know.
    pub notes: Vec<String>,
}

impl WavePlan {
    /// Plans the open tasks of a backlog.
    ///
    /// # Errors
    /// Names everything that can't be planned.
    pub fn new(backlog: &[Task], options: &PlanOptions) -> Result<Self, Unplannable> {
        let tasks = units_of(backlog, options.unit);
        let selection = Selection::new(&tasks, &options.only)?;
        // Nothing depends on a task before it is known what does.
        let mut planned = Vec::with_capacity(selection.open.len());
        let notes = pair_units(&selection.open, options.tdd, options.red_start, |task| {
            let expected_ms = options.durations.expected_ms(&task);
            planned.push(PlacedTask::joining(task, 1, expected_ms));
        });
        let cut = match options.cycles {
            Cycles::Refuse => Vec::new(),
            Cycles::Cut => cut_cycles(&mut planned),
        };
        Ok(Self {
            tasks: placed(TaskGraph::new(planned)?, options.durations.slots()),
            held: selection.held,
            finished: selection.finished,
            cut,
            notes,
        })
    }

    /// Returns the waves, each in the order of its tasks.
    pub fn waves(&self) -> Vec<Vec<&PlacedTask>> {
        let last = self.tasks.iter().map(|task| task.wave).max().unwrap_or(0);
        let mut waves = vec![Vec::new(); last as usize];
        for task in &self.tasks {
            waves[task.wave as usize - 1].push(task);
        }
        waves
    }

    /// Returns how long a task that joins is expected to take: as long as the planned ones of its kind and size, else as all.
    pub(crate) fn expected_of_joining(&self, task: &PlannedTask) -> Option<u64> {
        let all = |is_like: &dyn Fn(&PlannedTask) -> bool| {
            let like = self.tasks.iter().filter(|placed| is_like(&placed.task));
            median(like.filter_map(|placed| placed.expected_ms).collect())
        };
        let key = |task: &PlannedTask| (task.phase, task.complexity);
        all(&|other| key(other) == key(task)).or_else(|| all(&|_| true))
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> usize {
        self.tasks
            .iter()
            .filter(|placed| placed.task.phase == crate::Phase::Green)
            .count()
    }
}

/// The open tasks with their dependencies reduced to open ones.
struct Selection<'t> {
    open: Vec<UnitTask<'t>>,
    held: Vec<HeldTask>,
    finished: usize,
}

impl<'t> Selection<'t> {
    fn new(tasks: &'t [UnitTask<'_>], only: &'t [TaskId]) -> Result<Self, Unplannable> {
        let (positions, duplicates) = Positions::of(tasks.iter().map(|unit| &unit.task.id));
        let mut problems = Problem::of_duplicates(duplicates);
        let find = |id: &TaskId| Some(&tasks[positions.get(id.as_str())?]);
        let unknown = only.iter().filter(|id| find(id).is_none());
        problems.extend(unknown.map(|id| Problem::Unknown {
            task: id.clone(),
            known: tasks.iter().map(|unit| unit.task.id.clone()).collect(),
        }));
        let wanted = wanted(only, find);
        let is_wanted = |unit: &&UnitTask<'_>| {
            let mut ids = wanted.iter();
            ids.all(|ids| ids.contains(&unit.task.id))
        };
        let is_finished = |unit: &&UnitTask<'_>| unit.task.status.satisfies_dependants();
        let mut selection = Self {
            open: Vec::with_capacity(tasks.len()),
            held: Vec::new(),
            finished: tasks.iter().filter(is_finished).count(),
        };
        let open = tasks.iter().filter(|unit| unit.task.status.is_open());
        for unit in open.filter(is_wanted) {
            selection.take(unit, find, &mut problems);
        }
        selection.hold_dependants();
        if problems.is_empty() {
            return Ok(selection);
        }
        problems.extend(selection.cycles());
        Err(Unplannable { problems })
    }

    fn take<'u: 't>(
        &mut self,
        unit: &'t UnitTask<'_>,
        find: impl Fn(&TaskId) -> Option<&'u UnitTask<'u>>,
        problems: &mut Vec<Problem>,
    ) {
        let mut waits_for = Vec::new();
        let mut is_open = |dependency: &TaskId| {
            let status = find(dependency).map(|unit| &unit.task.status);
            match status {
                None => problems.push(Problem::Missing {
                    task: unit.task.id.clone(),
                    dependency: dependency.clone(),
                }),
                Some(status) if status.satisfies_dependants() || status.is_open() => {}
                Some(status) => waits_for.push((dependency.clone(), status.clone())),
            }
            status.is_some_and(Status::is_open)
        };
        let open_first = unit
            .dependencies
            .iter()
            .take_while(|id| is_open(id))
            .count();
        let dependencies = match unit.dependencies.get(open_first + 1..) {
            // All of them are.
            None => Cow::Borrowed(&*unit.dependencies),
            Some(rest) => {
                let first = unit.dependencies[..open_first].iter();
                let open = first.chain(rest.iter().filter(|id| is_open(id)));
                Cow::Owned(open.cloned().collect())
            }
        };
        let task = UnitSource::Whole(&unit.task);
        self.place(UnitTask { task, dependencies }, waits_for);
    }

    /// Puts a task among those that can be done, or among those that wait for something.
    fn place(&mut self, unit: UnitTask<'t>, waits_for: Vec<(TaskId, Status)>) {
        if waits_for.is_empty() {
            self.open.push(unit);
        } else {
            self.held.push(HeldTask {
                id: unit.task.id.clone(),
                title: unit.task.title.to_string(),
                waits_for,
            });
        }
    }

    /// Holds what depends on held tasks, directly or not; each task and dependency is looked at once.
    fn hold_dependants(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let mut dependants: BTreeMap<&TaskId, Vec<usize>> = BTreeMap::new();
        for (position, unit) in self.open.iter().enumerate() {
            for dependency in unit.dependencies.iter() {
                dependants.entry(dependency).or_default().push(position);
            }
        }
        let mut waits: Vec<Vec<(TaskId, Status)>> = vec![Vec::new(); self.open.len()];
        let mut stack: Vec<&TaskId> = self.held.iter().map(|task| &task.id).collect();
        while let Some(id) = stack.pop() {
            for &position in dependants.get(id).into_iter().flatten() {
                if waits[position].is_empty() {
                    stack.push(&self.open[position].task.id);
                }
                waits[position].push((id.clone(), Status::Pending));
            }
        }
        for (unit, waits_for) in std::mem::take(&mut self.open).into_iter().zip(waits) {
            self.place(unit, waits_for);
        }
    }

    /// Returns the cycles among the open tasks, so that one error names all that is wrong.
    fn cycles(&self) -> Vec<Problem> {
        let mut alone = Vec::with_capacity(self.open.len());
        let give = |task| alone.push(PlacedTask::joining(task, 1, None));
        pair_units(&self.open, TddMode::Off, RedStart::AfterDependencies, give);
        let refused = TaskGraph::new(alone).err();
        let mut problems = refused.map_or_else(Vec::new, |refused| refused.problems);
        problems.retain(Problem::is_cycle);
        problems
    }
}

/// Returns the tasks asked for and all that they depend on; `None` means every task.
fn wanted<'t>(
    only: &'t [TaskId],
    find: impl Fn(&TaskId) -> Option<&'t UnitTask<'t>>,
) -> Option<BTreeSet<&'t TaskId>> {
    if only.is_empty() {
        return None;
    }
    let mut wanted = BTreeSet::new();
    let mut stack: Vec<&TaskId> = only.iter().collect();
    while let Some(id) = stack.pop() {
        if let Some(unit) = find(id)
            && wanted.insert(id)
            && unit.task.status.is_open()
        {
            stack.extend(unit.dependencies.iter());
        }
    }
    Some(wanted)
}

/// Cuts cycles at the dependency with the least meaning, never at that of a GREEN on its RED, and returns what was cut.
fn cut_cycles(planned: &mut [PlacedTask]) -> Vec<CutDependency> {
    let tasks: Vec<Task> = planned.iter().map(|placed| as_task(&placed.task)).collect();
    let cut: Vec<CutDependency> = repairs(&tasks, CycleRepair::Cut)
        .into_iter()
        .filter(|(_, problem)| problem.is_cycle())
        .map(|(edge, _)| edge)
        .collect();
    for (id, dependency) in &cut {
        for placed in planned.iter_mut().filter(|placed| placed.task.id == *id) {
            let dependencies = &mut placed.task.dependencies;
            dependencies.retain(|on| on != dependency);
        }
    }
    cut
}

/// A planned task as one of a backlog in which its pair is named.
fn as_task(planned: &PlannedTask) -> Task {
    let tdd = TddHalf::of(planned.phase.as_str()).map(|half| TddMark {
        half,
        paired_task_id: planned.pair.clone(),
    });
    let metadata = MetadataFields {
        tdd,
        ..MetadataFields::default()
    };
    Task {
        dependencies: planned.dependencies.clone(),
        metadata: metadata.into(),
        ..Task::new(planned.id.clone(), "")
    }
}

/// Places tasks that depend on each other, of which so many run at the same time where that is known.
fn placed(mut graph: TaskGraph, slots: Option<usize>) -> Vec<PlacedTask> {
    let count = graph.tasks.len();
    let mut waves = vec![1_u32; count];
    for &task in &graph.topological {
        let before = graph.before(task).map(|before| waves[before] + 1);
        waves[task] = before.max().unwrap_or(1);
    }
    let tasks = graph.tasks.iter();
    let own: Vec<u64> = tasks.clone().map(|placed| placed.remaining_path).collect();
    let mut priorities: Vec<Priority> = tasks.map(|placed| placed.effective_priority).collect();
    let mut paths = own.clone();
    let mut dependants = vec![0; count];
    for &task in graph.topological.iter().rev() {
        for after in graph.after(task) {
            paths[task] = paths[task].max(paths[after].saturating_add(own[task]));
            priorities[task] = priorities[task].max(priorities[after]);
            dependants[task] += 1;
        }
    }
    let mut tasks = std::mem::take(&mut graph.tasks);
    for (position, placed) in tasks.iter_mut().enumerate() {
        placed.wave = waves[position];
        placed.effective_priority = priorities[position];
        placed.remaining_path = paths[position];
        placed.dependants = dependants[position];
    }
    if let Some(slots) = slots {
        justified::improve(&graph, &mut tasks, slots);
    }
    PlacedTask::sort(&mut tasks);
    tasks
}

fn median(mut times: Vec<u64>) -> Option<u64> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complexity;
    use proptest::prelude::*;

    fn task(id: &str, priority: Priority, dependencies: &[&str]) -> Task {
        let mut task = Task::new(id, format!("Build {id}"));
        task.priority = priority;
        task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
        task
    }

    fn off() -> PlanOptions {
        PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        }
    }

    fn order(plan: &WavePlan) -> Vec<String> {
        plan.tasks
            .iter()
            .map(|placed| format!("{}@{}", placed.task.id, placed.wave))
            .collect()
    }

    #[test]
    fn a_wave_is_one_more_than_the_latest_wave_of_what_a_task_depends_on() {
        let tasks = [
            task("1", Priority::Medium, &[]),
            task("2", Priority::Medium, &["1"]),
            task("3", Priority::Medium, &["1", "2"]),
            task("4", Priority::Medium, &[]),
        ];
        let plan = WavePlan::new(&tasks, &off()).expect("a plan");
        assert_eq!(order(&plan), ["1@1", "2@2", "3@3", "4@1"]);
        let paired = WavePlan::new(&tasks[..2], &PlanOptions::default()).expect("a plan");
        assert_eq!(order(&paired), ["1:red@1", "1@2", "2:red@3", "2@4"]);
        assert_eq!(paired.waves().len(), 4);
        assert_eq!(paired.pairs(), 2);
    }

    #[test]
    fn order_is_inherited_priority_then_path_then_dependants_then_id() {
        let tasks = [
            task("1", Priority::Low, &[]),
            task("2", Priority::Critical, &["1"]),
            task("3", Priority::High, &[]),
            task("4", Priority::Medium, &[]),
            task("5", Priority::Medium, &["4"]),
            task("6", Priority::Medium, &[]),
            task("7", Priority::Medium, &["6"]),
            task("8", Priority::Medium, &["6"]),
            task("10", Priority::Medium, &[]),
            task("9", Priority::Medium, &[]),
        ];
        let plan = WavePlan::new(&tasks, &off()).expect("a plan");
        let ids: Vec<&str> = plan
            .tasks
            .iter()
            .map(|placed| placed.task.id.as_str())
            .collect();
        assert_eq!(ids, ["1", "2", "3", "6", "4", "5", "7", "8", "9", "10"]);
    }

    #[test]
    fn finished_dependencies_are_dropped_and_unfinished_closed_ones_hold_their_dependants() {
        let mut tasks = [
            task("1", Priority::Medium, &[]),
            task("2", Priority::Medium, &["1"]),
            task("3", Priority::Medium, &[]),
            task("4", Priority::Medium, &["3"]),
            task("5", Priority::Medium, &["4"]),
        ];
        tasks[0].status = Status::Done;
        tasks[2].status = Status::Deferred;
        let plan = WavePlan::new(&tasks, &off()).expect("a plan");
        assert_eq!(order(&plan), ["2@1"]);
        assert_eq!(plan.finished, 1);
        let held: Vec<&str> = plan.held.iter().map(|held| held.id.as_str()).collect();
        assert_eq!(held, ["4", "5"]);
        assert_eq!(plan.held[0].waits_for, [("3".into(), Status::Deferred)]);
    }

    #[test]
    fn only_takes_what_is_asked_for_with_what_it_needs() {
        let tasks = [
            task("1", Priority::Medium, &[]),
            task("2", Priority::Medium, &["1"]),
            task("3", Priority::Medium, &[]),
        ];
        let options = PlanOptions {
            only: vec!["2".into()],
            ..off()
        };
        assert_eq!(
            order(&WavePlan::new(&tasks, &options).expect("a plan")),
            ["1@1", "2@2"]
        );
        let options = PlanOptions {
            only: vec!["9".into()],
            ..off()
        };
        assert_eq!(
            WavePlan::new(&tasks, &options)
                .expect_err("a refusal")
                .problems,
            [Problem::Unknown {
                task: "9".into(),
                known: ["1", "2", "3"].map(TaskId::from).to_vec()
            }]
        );
    }

    #[test]
    fn cutting_takes_the_dependency_that_points_forward_and_never_the_one_within_a_pair() {
        let tasks = [
            task("1", Priority::Medium, &["3"]),
            task("2", Priority::Medium, &["1"]),
            task("3", Priority::Medium, &["2"]),
        ];
        let options = PlanOptions {
            cycles: Cycles::Cut,
            ..PlanOptions::default()
        };
        let plan = WavePlan::new(&tasks, &options).expect("cut");
        let cut = plan.cut.iter().map(|(task, on)| format!("{task}-{on}"));
        assert_eq!(cut.collect::<Vec<_>>(), ["1-3", "1:red-3"]);
        assert_eq!(plan.tasks.len(), 6);
        for PlacedTask { task, .. } in &plan.tasks {
            let keeps_its_red = task.pair.as_ref().is_none_or(|red| {
                task.phase != crate::Phase::Green || task.dependencies.contains(red)
            });
            assert!(keeps_its_red, "{}", task.id);
        }
    }

    #[test]
    fn one_error_names_unknown_dependencies_and_cycles_together() {
        let tasks = [
            task("1", Priority::Medium, &["2", "9"]),
            task("2", Priority::Medium, &["1"]),
        ];
        let refusal = WavePlan::new(&tasks, &off()).expect_err("a refusal");
        assert!(refusal.has_cycles());
        assert_eq!(refusal.problems.len(), 2);
    }

    /// Tasks in the order of their ids, none of which depends on a later one.
    fn layered() -> impl Strategy<Value = Vec<Task>> {
        let one = (prop::sample::select(Priority::ALL), 0_u8..11, any::<u32>());
        prop::collection::vec(one, 1..20).prop_map(|tasks| {
            let one = |(at, (priority, complexity, edges)): (usize, (Priority, u8, u32))| {
                let before = (0..at).filter(|before| edges >> before & 3 == 3);
                let before: Vec<String> = before.map(|before| before.to_string()).collect();
                let before: Vec<&str> = before.iter().map(String::as_str).collect();
                let mut task = task(&at.to_string(), priority, &before);
                task.complexity = Complexity::parse(&complexity.to_string());
                task
            };
            tasks.into_iter().enumerate().map(one).collect()
        })
    }

    proptest! {
        #[test]
        fn a_plan_is_the_same_in_whatever_order_the_backlog_has_its_tasks(
            (tasks, mixed) in layered().prop_flat_map(|tasks| {
                let mixed = Just(tasks.clone()).prop_shuffle();
                (Just(tasks), mixed)
            }),
            tdd in prop::sample::select(TddMode::ALL)
        ) {
            let options = PlanOptions { tdd, ..PlanOptions::default() };
            let plan = |tasks: &[Task]| WavePlan::new(tasks, &options).map(|plan| plan.tasks);
            prop_assert_eq!(plan(&tasks), plan(&mixed));
        }
    }
}
