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
    /// What people should know of it, a sentence each.
    noticed: Vec<String>,
}

/// So many things are noticed of one agent at the most.
const NOTICED: usize = 20;

impl AtWork {
    pub(crate) fn begin(&self, task: &TaskId, attempt: AttemptNumber) {
        let began = Instant::now();
        self.agents().push(Agent { task: task.clone(), attempt, began, ended: None, noticed: Vec::new() });
    }

    /// Notes something about an agent, or about all that are at work where it can't be told which one it was; tells
    /// whether that is news.
    pub(crate) fn notice(&self, of: Option<&(TaskId, AttemptNumber)>, words: &str) -> bool {
        let is_meant = |agent: &Agent| match of {
            Some((task, attempt)) => agent.task == *task && agent.attempt == *attempt,
            None => agent.ended.is_none(),
        };
        let mut is_news = false;
        for agent in self.agents().iter_mut().filter(|agent| is_meant(agent)) {
            if agent.noticed.len() < NOTICED && !agent.noticed.iter().any(|known| known == words) {
                agent.noticed.push(words.to_owned());
                is_news = true;
            }
        }
        is_news
    }

    /// Returns what was noticed of an agent that is at work.
    pub(crate) fn noticed(&self, task: &TaskId, attempt: AttemptNumber) -> Vec<String> {
        let agents = self.agents();
        let own = agents.iter().find(|agent| agent.task == *task && agent.attempt == attempt && agent.ended.is_none());
        own.map(|agent| agent.noticed.clone()).unwrap_or_default()
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
    fn what_is_noticed_is_kept_once_and_of_whom_it_was() {
        let (at_work, first) = (AtWork::default(), AttemptNumber(1));
        let [one, other] = ["1", "2"].map(TaskId::from);
        at_work.begin(&one, first);
        at_work.begin(&other, first);
        assert!(at_work.notice(Some(&(one.clone(), first)), "a"));
        assert!(!at_work.notice(Some(&(one.clone(), first)), "a"));
        assert!(at_work.notice(None, "b"));
        for number in 0..100 {
            at_work.notice(Some(&(one.clone(), first)), &number.to_string());
        }
        assert_eq!(at_work.noticed(&one, first).len(), NOTICED);
        assert_eq!(at_work.noticed(&other, first), ["b"]);
        assert!(!at_work.notice(Some(&("3".into(), first)), "c"));
    }

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
