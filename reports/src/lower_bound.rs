//! The shortest time in which a run's agents could have done what they did.

use std::collections::BTreeMap;
use tm_scheduler::{TaskId, TaskView};

/// The larger of the longest path and the work divided by the slots, by how long each task's last agent worked.
pub(crate) fn lower_bound(views: &[TaskView<'_>], slots: u32) -> u64 {
    let duration = |view: &TaskView<'_>| {
        let last = view
            .attempts
            .last()
            .and_then(tm_scheduler::AttemptRecord::report);
        last.map_or(0, |report| report.ended_at.since(report.started_at))
    };
    let mut by_wave: Vec<&TaskView<'_>> = views.iter().collect();
    by_wave.sort_by_key(|view| view.placed.wave);
    let mut ends: BTreeMap<&TaskId, u64> = BTreeMap::new();
    for view in by_wave {
        let before = view
            .placed
            .task
            .dependencies
            .iter()
            .filter_map(|id| ends.get(id))
            .max()
            .copied();
        ends.insert(&view.placed.task.id, before.unwrap_or(0) + duration(view));
    }
    let work: u64 = views.iter().map(duration).sum();
    ends.into_values()
        .max()
        .unwrap_or(0)
        .max(work / u64::from(slots))
}
