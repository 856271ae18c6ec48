//! Improves the order of tasks whose times are expected, by forward-backward improvement: what the order makes of them is
//! pushed towards its end, and how long before the end each task begins there decides anew (K. Y. Li and R. J. Willis,
//! "An iterative scheduling technique for resource-constrained project scheduling", 1992).
//!
//! Knows slots and times alone; a more urgent task goes first as before.

use crate::PlacedTask;
use crate::graph::TaskGraph;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::mem::swap;

/// Of so many tasks the longest path first leaves no slot empty until shortly before the end.
const MOST_TASKS: usize = 2_000;

/// Makes the remaining path of each task as long as it is where no more tasks run at the same time than there are slots,
/// if all is done sooner with that; else leaves it.
pub(crate) fn improve(graph: &TaskGraph, tasks: &mut [PlacedTask], slots: usize) {
    if tasks.len() > MOST_TASKS {
        return;
    }
    let expected = tasks.iter().map(|placed| placed.expected_ms);
    let Some(times) = expected.collect::<Option<Vec<u64>>>() else {
        return;
    };
    let all = || 0..times.len();
    let before: Vec<Vec<usize>> = all().map(|task| graph.before(task).collect()).collect();
    let after: Vec<Vec<usize>> = all().map(|task| graph.after(task).collect()).collect();
    let forward = |tasks: &[PlacedTask]| {
        let first = |task: usize| tasks[task].order();
        ends(&times, &before, &after, slots, first)
    };
    let now = forward(tasks);
    let last_first = |task: usize| (Reverse(now[task]), &tasks[task].task.id);
    let mut paths = ends(&times, &after, &before, slots, last_first);
    swap_paths(tasks, &mut paths);
    if forward(tasks).iter().max() >= now.iter().max() {
        swap_paths(tasks, &mut paths);
    }
}

fn swap_paths(tasks: &mut [PlacedTask], paths: &mut [u64]) {
    let tasks = tasks.iter_mut().zip(paths);
    tasks.for_each(|(placed, path)| swap(&mut placed.remaining_path, path));
}

/// Returns when each task ends, where a free slot takes the first of those that are ready by that key.
fn ends<K: Ord>(
    times: &[u64],
    before: &[Vec<usize>],
    after: &[Vec<usize>],
    slots: usize,
    key: impl Fn(usize) -> K,
) -> Vec<u64> {
    let mut unmet: Vec<usize> = before.iter().map(Vec::len).collect();
    let first = (0..times.len()).filter(|&task| unmet[task] == 0);
    let mut ready: BTreeSet<(K, usize)> = first.map(|task| (key(task), task)).collect();
    let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut ends = vec![0; times.len()];
    let mut now = 0_u64;
    loop {
        while running.len() < slots
            && let Some((_, task)) = ready.pop_first()
        {
            ends[task] = now.saturating_add(times[task]);
            running.insert((ends[task], task));
        }
        let Some(&(end, _)) = running.first() else {
            return ends;
        };
        now = end;
        // All that ends at the same moment ends before anything begins.
        while let Some(&(end, task)) = running.first()
            && end == now
        {
            running.pop_first();
            for &next in &after[task] {
                unmet[next] -= 1;
                if unmet[next] == 0 {
                    ready.insert((key(next), next));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Dispatch, Durations, Limits, PastTask, Phase, PlanOptions, Task, TddMode, WavePlan,
    };
    use std::num::NonZeroU32;

    const TITLE: &str = "Build";

    /// The order of tasks that took 1, 3, 2 and 2 seconds before, of which the last one waits for the first.
    fn order(known: usize, limits: Option<&Limits>) -> Vec<String> {
        let past = (1..)
            .zip([1_000, 3_000, 2_000, 2_000])
            .map(|(id, worked_ms)| PastTask {
                tag: "master".into(),
                id: id.to_string().into(),
                title: TITLE.to_owned(),
                phase: Phase::None,
                complexity: None,
                touched: Vec::new(),
                worked_ms,
            });
        let past: Vec<PastTask> = past.take(known).collect();
        let mut tasks = ["1", "2", "3", "4"].map(|id| Task::new(id, TITLE));
        tasks[3].dependencies = vec!["1".into()];
        let durations = Durations::learned(&past, &"master".into());
        let options = PlanOptions {
            tdd: TddMode::Off,
            durations: match limits {
                Some(limits) => durations.within(limits),
                None => durations,
            },
            ..PlanOptions::default()
        };
        let plan = WavePlan::new(&tasks, &options).expect("a plan");
        let tasks = plan.tasks.iter();
        tasks
            .map(|placed| format!("{} {}", placed.task.id, placed.remaining_path))
            .collect()
    }

    fn slots(slots: u32) -> Limits {
        Limits::with_slots(NonZeroU32::new(slots).expect("slots"))
    }

    #[test]
    fn a_task_goes_first_if_no_slot_is_empty_at_the_end_then() {
        // 2 first: 1, then 3 beside it, and 4 alone at the end.
        let by_paths = ["1 3000", "2 3000", "3 2000", "4 2000"];
        assert_eq!(order(4, None), by_paths);
        assert_eq!(
            order(4, Some(&slots(2))),
            ["1 4000", "3 4000", "2 3000", "4 2000"]
        );
        for enough in [1, 3, 4] {
            assert_eq!(order(4, Some(&slots(enough))), by_paths, "{enough} slots");
        }
    }

    #[test]
    fn slots_are_nothing_to_an_order_without_times_or_by_waves() {
        assert_eq!(order(2, Some(&slots(2))), order(2, None));
        let by_waves = Limits {
            dispatch: Dispatch::Barrier,
            ..slots(2)
        };
        assert_eq!(order(4, Some(&by_waves)), order(4, None));
    }
}
