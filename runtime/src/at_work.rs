//! Which agents were at work when: for changes in the user's checkout, which nobody can trace to one of several.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tm_scheduler::{AttemptNumber, TaskId};

/// The agents of a run, with the times in which they were at work.
#[derive(Debug, Default)]
pub(crate) struct AtWork {
    agents: Mutex<Vec<Agent>>,
}

#[derive(Debug)]
struct Agent {
    task: TaskId,
    attempt: AttemptNumber,
    began: Instant,
    ended: Option<Instant>,
}

impl AtWork {
    pub(crate) fn begin(&self, task: &TaskId, attempt: AttemptNumber) {
        let began = Instant::now();
        self.agents().push(Agent { task: task.clone(), attempt, began, ended: None });
    }

    /// Ends an agent's time; returns who else was at work in it.
    pub(crate) fn end(&self, task: &TaskId, attempt: AttemptNumber) -> Vec<(TaskId, AttemptNumber)> {
        let mut agents = self.agents();
        let Some(own) = agents.iter_mut().find(|agent| agent.task == *task && agent.attempt == attempt) else {
            return Vec::new();
        };
        own.ended = Some(Instant::now());
        let began = own.began;
        let others = agents.iter().filter(|agent| agent.task != *task);
        let meanwhile = others.filter(|agent| agent.ended.is_none_or(|ended| ended >= began));
        let meanwhile = meanwhile.map(|agent| (agent.task.clone(), agent.attempt)).collect();
        forget(&mut agents);
        meanwhile
    }

    fn agents(&self) -> MutexGuard<'_, Vec<Agent>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops those that ended before any began that is still at work: nobody asks for them any more.
fn forget(agents: &mut Vec<Agent>) {
    let oldest = agents.iter().filter(|agent| agent.ended.is_none()).map(|agent| agent.began).min();
    agents.retain(|agent| match (agent.ended, oldest) {
        (None, _) => true,
        (Some(ended), Some(oldest)) => ended >= oldest,
        (Some(_), None) => false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_are_named_who_were_at_work_in_the_same_time() {
        let (at_work, first) = (AtWork::default(), AttemptNumber(1));
        let names = |others: Vec<(TaskId, AttemptNumber)>| -> Vec<String> {
            others.into_iter().map(|(task, _)| task.to_string()).collect()
        };
        let ids: Vec<TaskId> = ["1", "2", "3"].map(TaskId::from).into();
        at_work.begin(&ids[0], first);
        assert_eq!(at_work.end(&ids[0], first), []);
        at_work.begin(&ids[1], first);
        at_work.begin(&ids[2], first);
        assert_eq!(names(at_work.end(&ids[1], first)), ["3"]);
        at_work.begin(&ids[0], first);
        assert_eq!(names(at_work.end(&ids[0], first)), ["3"]);
        assert_eq!(names(at_work.end(&ids[2], first)), ["2", "1"]);
        assert_eq!(at_work.agents().len(), 0, "nothing is kept for ever");
    }
}
