//! The critical path: the chain of tasks that depend on each other and whose agents worked longest together.

use crate::{Summary, TaskSummary};
use jiff::Timestamp as Moment;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the ids of the chain; empty when no agent has ended.
pub(super) fn critical_path(summary: &Summary) -> BTreeSet<&str> {
    let mut by_wave: Vec<&TaskSummary> = summary.tasks.iter().collect();
    by_wave.sort_by_key(|task| task.wave);
    // The length of the longest chain up to and with a task, and the task before it in that chain.
    let mut chains: BTreeMap<&str, (u64, Option<&str>)> = BTreeMap::new();
    for task in by_wave {
        let before = task
            .dependencies
            .iter()
            .filter_map(|id| Some((chains.get(id.as_str())?.0, id.as_str())))
            .max();
        let (length, previous) = before.map_or((0, None), |(length, id)| (length, Some(id)));
        chains.insert(&task.id, (length + last_work(task), previous));
    }
    let longest = chains
        .iter()
        .max_by_key(|(_, (length, _))| *length)
        .filter(|(_, (length, _))| *length > 0);
    let mut path = BTreeSet::new();
    let mut next = longest.map(|(id, _)| *id);
    while let Some(id) = next {
        path.insert(id);
        next = chains.get(id).and_then(|(_, previous)| *previous);
    }
    path
}

/// Milliseconds for which the agent of the last attempt worked.
fn last_work(task: &TaskSummary) -> u64 {
    let Some(last) = task.attempts.last() else {
        return 0;
    };
    let (Some(start), Some(end)) = (&last.agent_started_at, &last.agent_ended_at) else {
        return 0;
    };
    milliseconds(end).saturating_sub(milliseconds(start))
}

/// Milliseconds since 1970 of a moment in the summary; 0 for what is none.
pub(crate) fn milliseconds(moment: &str) -> u64 {
    moment
        .parse::<Moment>()
        .ok()
        .and_then(|moment| u64::try_from(moment.as_millisecond()).ok())
        .unwrap_or(0)
}
