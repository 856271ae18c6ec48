//! Chains of tasks that depend on each other, by how long the agents of their last attempts worked and that work was
//! tested.

use crate::moment::between;
use crate::{AttemptSummary, TaskSummary};
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::Limits;

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

/// Returns the shortest time in which the agents could have done what they did, and their work been tested: the largest of
/// the longest chain, what agents did divided by their slots, and what tests did divided by their places.
pub(crate) fn lower_bound(tasks: &[TaskSummary], limits: &Limits) -> u64 {
    let last = || tasks.iter().filter_map(|task| task.attempts.last());
    let agents: u64 = last().map(AttemptSummary::work).sum();
    let tests: u64 = last().map(AttemptSummary::tested).sum();
    chains(tasks)
        .into_values()
        .map(|(length, _)| length)
        .fold(agents / u64::from(limits.slots.get()), u64::max)
        .max(tests / u64::from(limits.tests_at_once.get()))
}

/// Milliseconds for which the agent of the last attempt worked, and its work was tested.
fn last_work(task: &TaskSummary) -> u64 {
    let spent = |last: &AttemptSummary| last.work() + last.tested();
    task.attempts.last().map_or(0, spent)
}

impl AttemptSummary {
    /// Returns for how many milliseconds its work was tested, as far as that was measured.
    fn tested(&self) -> u64 {
        let proof = self.proof.as_ref();
        proof.and_then(|proof| proof.tests_ms).unwrap_or(0)
    }

    /// Returns for how many milliseconds its agent worked, as far as it has ended.
    pub(crate) fn work(&self) -> u64 {
        let (began, ended) = (self.agent_started_at.as_ref(), self.agent_ended_at.as_ref());
        began
            .zip(ended)
            .map_or(0, |(began, ended)| between(began, ended))
    }
}
