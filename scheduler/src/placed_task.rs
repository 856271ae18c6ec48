//! A task with its place in a plan, and the one order in which ready tasks are taken.

use crate::durations::weight;
use crate::{PlannedTask, Priority, TaskId};
use serde::{Deserialize, Serialize};

/// A planned task with its place in the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedTask {
    /// The task.
    #[serde(flatten)]
    pub task: PlannedTask,
    /// The layer of the graph, counted from 1.
    pub wave: u32,
    /// The highest priority among the task and everything that waits for it.
    pub effective_priority: Priority,
    /// The weight of the longest path from the task to the end, its own included: milliseconds where it is known how long
    /// tasks take, else by complexity. Where slots hold tasks up, and all is done sooner by taking that into account, the
    /// time from when the task has to begin to the end.
    pub remaining_path: u64,
    /// How long its agents are expected to work, in milliseconds, where earlier runs tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_ms: Option<u64>,
    /// How many tasks depend on it directly.
    pub dependants: u32,
}

impl PlacedTask {
    /// Places a task that joins a plan: nothing depends on it yet.
    #[inline]
    pub(crate) fn joining(task: PlannedTask, wave: u32, expected_ms: Option<u64>) -> Self {
        Self {
            effective_priority: task.priority,
            remaining_path: expected_ms.unwrap_or_else(|| weight(task.complexity)),
            expected_ms,
            dependants: 0,
            wave,
            task,
        }
    }

    /// Tells whether it is taken first when both are ready.
    pub(crate) fn is_more_urgent_than(&self, other: &Self) -> bool {
        self.order() < other.order()
    }

    /// Returns what decides among ready tasks: the most urgent is the least.
    pub(crate) fn order(&self) -> (u128, &TaskId) {
        (self.urgency(), &self.task.id)
    }

    /// Puts tasks in order, the most urgent first. What decides is taken out first, and each task is moved once.
    pub(crate) fn sort(tasks: &mut [Self]) {
        let key = |(position, placed): (usize, &Self)| {
            (placed.urgency(), placed.task.id.beginning(), position)
        };
        let mut keys: Vec<(u128, u128, usize)> = tasks.iter().enumerate().map(key).collect();
        keys.sort_unstable_by(|left, right| {
            let beginnings = (left.0, left.1).cmp(&(right.0, right.1));
            // Only where two begin the same are the ids themselves compared.
            beginnings.then_with(|| tasks[left.2].task.id.cmp(&tasks[right.2].task.id))
        });
        bring_into(
            tasks,
            keys.into_iter().map(|(.., position)| position).collect(),
        );
    }

    /// Returns what decides among ready tasks before their ids do, as a number: the most urgent is the least.
    #[inline]
    fn urgency(&self) -> u128 {
        let priority = (self.effective_priority as u128) << 96;
        let path = u128::from(self.remaining_path) << 32;
        !(priority | path | u128::from(self.dependants))
    }
}

/// Moves each task to its place, given the position that each place takes its task from.
fn bring_into(tasks: &mut [PlacedTask], mut order: Vec<usize>) {
    for first in 0..order.len() {
        let mut place = first;
        while order[place] != first {
            let from = std::mem::replace(&mut order[place], place);
            tasks.swap(place, from);
            place = from;
        }
        order[place] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedStart, Task, TddMode, pair};
    use proptest::prelude::*;
    use std::cmp::Reverse;

    fn placed(id: &str, priority: Priority, path: u64, dependants: u32) -> PlacedTask {
        let task = Task::new(id, "x");
        let mut pairing = pair(&[&task], TddMode::Off, RedStart::AfterDependencies);
        PlacedTask {
            effective_priority: priority,
            remaining_path: path,
            dependants,
            ..PlacedTask::joining(pairing.tasks.remove(0), 1, None)
        }
    }

    fn any_placed() -> impl Strategy<Value = PlacedTask> {
        let id = "0{0,2}[1-3]{1,2}|[1-2]{20}|a[1-2]{1,3}|[1-2]\\.[1-2](:red)?";
        let priority = prop::sample::select(Priority::ALL);
        let path = prop_oneof![0_u64..3, Just(u64::MAX)];
        (id, priority, path, prop_oneof![0_u32..3, Just(u32::MAX)])
            .prop_map(|(id, priority, path, dependants)| placed(&id, priority, path, dependants))
    }

    proptest! {
        #[test]
        fn tasks_are_in_the_order_of_what_decides_one_after_the_other(
            mut tasks in prop::collection::vec(any_placed(), 0..30)
        ) {
            let mut expected = tasks.clone();
            expected.sort_by_cached_key(|placed| (
                Reverse(placed.effective_priority),
                Reverse(placed.remaining_path),
                Reverse(placed.dependants),
                placed.task.id.clone(),
            ));
            PlacedTask::sort(&mut tasks);
            for pair in tasks.windows(2) {
                prop_assert!(!pair[1].is_more_urgent_than(&pair[0]));
            }
            prop_assert_eq!(tasks, expected);
        }
    }
}
