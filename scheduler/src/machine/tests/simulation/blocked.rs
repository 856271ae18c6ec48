//! What has to be blocked in the end, in words of its own, apart from the machine's.

use super::*;

impl World {
    /// What failed, or was left out, on the way back from a task to what it needs.
    pub(super) fn failed_before(&self, id: &TaskId) -> BTreeSet<TaskId> {
        let mut stack = vec![self.scheduler.ranks[id]];
        let mut failed = BTreeSet::new();
        let mut seen = BTreeSet::new();
        while let Some(rank) = stack.pop() {
            for &before in &self.scheduler.dependencies[rank] {
                if seen.insert(before) {
                    match &self.scheduler.states[before] {
                        State::Failed { .. }
                        | State::Skipped {
                            dependants: Dependants::Blocked,
                        } => {
                            failed.insert(self.scheduler.id(before));
                        }
                        State::Skipped {
                            dependants: Dependants::Released,
                        } => {}
                        _ => stack.push(before),
                    }
                }
            }
        }
        failed
    }
}
