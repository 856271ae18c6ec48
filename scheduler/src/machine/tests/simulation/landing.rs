//! What is tested ahead of its turn, in words of its own, apart from the machine's.

use super::*;

/// The limits of a run in which each waits for its turn to be tested.
pub(super) fn one_by_one(limits: &Limits) -> Limits {
    Limits {
        land_batch: NonZeroU32::MIN,
        ..limits.clone()
    }
}

/// What is tested ahead now: by task, the commits that it stands on, and its own.
#[derive(Default)]
pub(super) struct TestedAhead(BTreeMap<TaskId, (Vec<CommitId>, CommitId)>);

impl TestedAhead {
    pub(super) fn end(&mut self, task: &TaskId) {
        self.0.remove(task);
    }
}

impl World {
    /// A run in which nothing is tested ahead takes the same inputs, and asks for the same.
    pub(super) fn check_one_by_one(&mut self, input: Input, effects: &[Effect]) {
        let input = match input {
            Input::Resumed(limits) => Input::Resumed(one_by_one(&limits)),
            other => other,
        };
        let alone = self.one_by_one.handle(self.now, input);
        let is_ahead = |effect: &&Effect| {
            matches!(
                effect,
                Effect::Step {
                    step: AttemptStep::TestAhead { .. },
                    ..
                }
            )
        };
        let (ahead, others): (Vec<&Effect>, Vec<&Effect>) = effects.iter().partition(is_ahead);
        let alone = alone.expect("a legal input");
        assert_eq!(
            alone.iter().collect::<Vec<_>>(),
            others,
            "what is tested ahead changes nothing"
        );
        assert!(
            ahead.is_empty() || self.scheduler.limits().land_batch > NonZeroU32::MIN,
            "a batch of one is tested one after the other"
        );
        assert!(self.scheduler.states == self.one_by_one.states);
    }

    /// What is tested ahead stands on all that waits before it, and was not tested on that already.
    pub(super) fn check_ahead(&mut self, task: &TaskId, (on, commit): (&[CommitId], &CommitId)) {
        let waiting = self.waiting();
        let position = waiting.iter().position(|waits| waits == task);
        let position = position.expect("what is tested ahead waits to land");
        let work = |task: &TaskId| -> Option<CommitId> {
            self.scheduler.task(task)?.state.commit().cloned()
        };
        let before: Vec<CommitId> = waiting[..position].iter().filter_map(work).collect();
        assert_eq!(on, before, "`{task}` is tested on top of what lands before");
        assert_eq!(Some(commit), work(task).as_ref());
        let limits = self.scheduler.limits();
        let most = limits.land_batch.get().min(limits.tests_at_once.get());
        assert!(
            position > 0 && position < most as usize,
            "`{task}` is tested ahead at place {position}"
        );
        if let Some((known, same)) = self.tested_ahead.0.get(task) {
            assert!(
                same != commit
                    || !known.ends_with(on)
                    || self.lost_one(&known[..known.len() - on.len()]),
                "`{task}` is tested again although nothing before it was refused"
            );
        }
        let tested = (on.to_vec(), commit.clone());
        self.tested_ahead.0.insert(task.clone(), tested);
    }

    /// The tasks that wait to land, in the order in which their work was proven.
    fn waiting(&self) -> Vec<TaskId> {
        let landing = self
            .scheduler
            .tasks()
            .filter(|view| view.state.is_landing());
        let mut waiting: Vec<(Option<Timestamp>, TaskId)> = landing
            .filter_map(|view| Some((view.attempts.last()?.queued_at, view.placed.task.id.clone())))
            .collect();
        waiting.sort();
        waiting.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether work that something else was tested on top of has not landed.
    fn lost_one(&self, commits: &[CommitId]) -> bool {
        let has_landed = |commit: &CommitId| {
            self.scheduler.tasks().any(|view| {
                matches!(view.state, State::Landed { commit: landed, .. } if landed == commit)
            })
        };
        !commits.iter().all(has_landed)
    }
}
