//! Which agents were at work when: for changes in the user's checkout, which are of one of several, or of the user.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use tm_executors::SharedLook;
use tm_scheduler::{AttemptNumber, TaskId};
use tm_worktrees::{CheckoutSnapshot, OtherWorktrees};

/// The attempts of a run or of a loop, with the times in which their agents were at work.
#[derive(Debug, Default)]
pub(crate) struct ConcurrentAttempts {
    agents: Mutex<Vec<Agent>>,
    /// Changes of the user's checkout that somebody has told.
    told: Mutex<BTreeSet<String>>,
    /// Looks at the user's checkout: many agents that end in the same moment are content with one.
    pub(super) checkout: SharedLook<CheckoutSnapshot>,
    /// The same at the user's other worktrees.
    pub(super) elsewhere: SharedLook<OtherWorktrees>,
}

#[derive(Debug)]
struct Agent {
    /// Unlike that of any other agent.
    began: (Instant, usize),
    of: (TaskId, AttemptNumber),
    ended: Option<Instant>,
    /// What people should know of it, a sentence each.
    noticed: Vec<String>,
}

/// So many things are noticed of one agent at the most.
const NOTICED: usize = 20;

/// An agent that is at work; dropping it says that it is not any more.
#[derive(Debug)]
pub(crate) struct ConcurrentAttempt {
    all: Arc<ConcurrentAttempts>,
    began: (Instant, usize),
}

/// What there was in the time of an agent.
#[derive(Debug, Default)]
pub(crate) struct Meanwhile {
    /// What was noticed of it.
    pub(crate) noticed: Vec<String>,
    /// Who else was at work.
    pub(crate) others: Vec<(TaskId, AttemptNumber)>,
}

impl ConcurrentAttempts {
    /// Notes that the agent of an attempt begins.
    pub(crate) fn begin(self: &Arc<Self>, of: (TaskId, AttemptNumber)) -> ConcurrentAttempt {
        let mut agents = self.agents();
        let number = agents.last().map_or(0, |last| last.began.1 + 1);
        let began = (Instant::now(), number);
        agents.push(Agent {
            began,
            of,
            ended: None,
            noticed: Vec::new(),
        });
        ConcurrentAttempt {
            all: Arc::clone(self),
            began,
        }
    }

    /// Notes something about an agent, or about all that are at work where it can't be told which one it was; tells
    /// whether that is news.
    pub(crate) fn notice(&self, of: Option<&(TaskId, AttemptNumber)>, words: &str) -> bool {
        let is_meant = |agent: &Agent| of.map_or(agent.ended.is_none(), |of| agent.of == *of);
        let mut is_news = false;
        for agent in self.agents().iter_mut().filter(|agent| is_meant(agent)) {
            if agent.noticed.len() < NOTICED && !agent.noticed.iter().any(|known| known == words) {
                agent.noticed.push(words.to_owned());
                is_news = true;
            }
        }
        is_news
    }

    /// Says which changes of the user's checkout nobody is charged with; `None` where others told of all of them.
    pub(crate) fn news(&self, charged: &[String], mut others: Vec<String>) -> Option<String> {
        let mut told = self.told.lock();
        told.extend(charged.iter().cloned());
        others.retain(|change| told.insert(change.clone()));
        let words = format!(
            "the user's checkout changed while agents worked, which fails nobody: {}",
            others.join(", ")
        );
        (!others.is_empty()).then_some(words)
    }

    fn agents(&self) -> MutexGuard<'_, Vec<Agent>> {
        self.agents.lock()
    }
}

impl ConcurrentAttempt {
    /// Ends the agent's time, and tells what there was in it.
    pub(crate) fn end(self) -> Meanwhile {
        let agents = self.all.agents();
        let Some(own) = agents.iter().find(|agent| agent.began == self.began) else {
            return Meanwhile::default();
        };
        let others = agents.iter().filter(|agent| agent.of.0 != own.of.0);
        let meanwhile = others.filter(|agent| agent.ended.is_none_or(|ended| ended >= own.began.0));
        let mut others: Vec<_> = meanwhile.map(|agent| agent.of.clone()).collect();
        others.dedup();
        Meanwhile {
            noticed: own.noticed.clone(),
            others,
        }
    }
}

impl Drop for ConcurrentAttempt {
    fn drop(&mut self) {
        let mut agents = self.all.agents();
        for own in agents.iter_mut().filter(|agent| agent.began == self.began) {
            own.ended = Some(Instant::now());
        }
        forget(&mut agents);
    }
}

/// Drops those that ended before any began that is still at work: nobody asks for them any more.
fn forget(agents: &mut Vec<Agent>) {
    let at_work = agents.iter().filter(|agent| agent.ended.is_none());
    let oldest = at_work.map(|agent| agent.began.0).min();
    let is_asked_for = |ended| oldest.is_some_and(|oldest| ended >= oldest);
    agents.retain(|agent| agent.ended.is_none_or(is_asked_for));
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: AttemptNumber = AttemptNumber(1);

    #[test]
    fn what_is_noticed_is_kept_once_and_of_whom_it_was() {
        let all = Arc::<ConcurrentAttempts>::default();
        let [one, other] = ["1", "2"].map(|id| (TaskId::from(id), FIRST));
        let (first, second) = (all.begin(one.clone()), all.begin(other));
        assert!(all.notice(Some(&one), "a"));
        assert!(!all.notice(Some(&one), "a"));
        assert!(all.notice(None, "b"));
        for number in 0..100 {
            all.notice(Some(&one), &number.to_string());
        }
        assert!(!all.notice(Some(&("3".into(), FIRST)), "c"));
        assert_eq!(first.end().noticed.len(), NOTICED);
        assert_eq!(second.end().noticed, ["b"]);
    }

    #[test]
    fn a_change_of_the_checkout_is_told_once_whoever_sees_it() {
        let all = ConcurrentAttempts::default();
        let changes = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let told = all.news(&changes(&["a"]), changes(&["b", "c"]));
        assert!(told.expect("news").ends_with(": b, c"));
        assert_eq!(all.news(&[], changes(&["a", "c"])), None);
        assert!(
            all.news(&[], changes(&["c", "d"]))
                .expect("news")
                .ends_with(": d")
        );
    }

    #[test]
    fn only_those_are_named_who_were_at_work_in_the_same_time() {
        let all = Arc::<ConcurrentAttempts>::default();
        let begin = |task: &str| all.begin((task.into(), FIRST));
        let names = |agent: ConcurrentAttempt| -> Vec<String> {
            agent
                .end()
                .others
                .into_iter()
                .map(|(task, _)| task.to_string())
                .collect()
        };
        assert_eq!(names(begin("1")), [] as [&str; 0]);
        let (second, third) = (begin("2"), begin("3"));
        assert_eq!(names(second), ["3"]);
        let (first, again) = (begin("1"), begin("1"));
        assert_eq!(names(first), ["3"]);
        drop(again);
        assert_eq!(names(third), ["2", "1"]);
        assert_eq!(all.agents().len(), 0, "nothing is kept for ever");
    }
}
