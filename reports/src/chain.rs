//! Chains of tasks that depend on each other, by how long the agents of their last attempts worked.

use crate::TaskSummary;
use crate::moment::between;
use std::collections::{BTreeMap, BTreeSet};

/// The length of the longest chain up to and with each task, and the task before it in that chain.
type Chains<'a> = BTreeMap<&'a str, (u64, Option<&'a str>)>;

fn chains(tasks: &[TaskSummary]) -> Chains<'_> {
    let mut by_wave: Vec<&TaskSummary> = tasks.iter().collect();
    by_wave.sort_by_key(|task| task.wave);
    let mut chains = Chains::new();
    for task in by_wave {
        let ends = task
            .dependencies
            .iter()
            .filter_map(|id| Some((chains.get(id.as_str())?.0, Some(id.as_str()))));
        let (length, previous) = ends.max().unwrap_or_default();
        chains.insert(&task.id, (length + last_work(task), previous));
    }
    chains
}

/// Returns the ids of the longest chain, the critical path; empty when no agent has ended.
pub(crate) fn critical_path(tasks: &[TaskSummary]) -> BTreeSet<&str> {
    let chains = chains(tasks);
    let longest = chains.iter().max_by_key(|(_, (length, _))| *length);
    let last = longest.filter(|(_, (length, _))| *length > 0);
    std::iter::successors(last.map(|(id, _)| *id), |id| chains.get(id)?.1).collect()
}

/// Returns the shortest time in which the agents could have done what they did: the larger of the longest chain and the
/// work divided by the slots.
pub(crate) fn lower_bound(tasks: &[TaskSummary], slots: u32) -> u64 {
    let work: u64 = tasks.iter().map(last_work).sum();
    chains(tasks)
        .into_values()
        .map(|(length, _)| length)
        .fold(work / u64::from(slots), u64::max)
}

/// Milliseconds for which the agent of the last attempt worked.
fn last_work(task: &TaskSummary) -> u64 {
    task.attempts.last().map_or(0, crate::AttemptSummary::work)
}

impl crate::AttemptSummary {
    /// Returns for how many milliseconds its agent worked, as far as it has ended.
    pub(crate) fn work(&self) -> u64 {
        let (began, ended) = (self.agent_started_at.as_ref(), self.agent_ended_at.as_ref());
        began
            .zip(ended)
            .map_or(0, |(began, ended)| between(began, ended))
    }
}
