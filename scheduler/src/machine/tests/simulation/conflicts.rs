//! Conflicts in the simulation: what they may cost, what is carried over, and who may start beside whom.

use super::*;
use crate::Foreseen;

impl World {
    /// A task that starts does not meet one that conflicted twice; says so in words of its own, apart from the machine's.
    pub(super) fn check_apart(&self, task: &TaskId) {
        let rank = self.scheduler.ranks[task];
        let files = |rank: TaskIndex| -> BTreeSet<String> {
            let pair = self
                .scheduler
                .pair(rank)
                .map_or(&[][..], |pair| &self.scheduler.attempts[pair]);
            let records = self.scheduler.attempts[rank].iter().chain(pair);
            records
                .filter_map(AttemptRecord::proof)
                .flat_map(|proof| proof.touched.clone())
                .collect()
        };
        let is_resumed = self.scheduler.attempts[rank]
            .last()
            .is_some_and(|record| record.place().is_some());
        for other in self
            .scheduler
            .indices()
            .filter(|&other| other != rank && !is_resumed)
        {
            let records = &self.scheduler.attempts[other][self.scheduler.forgiven[other]..];
            let conflicts = records
                .iter()
                .filter(|record| record.failure() == Some(Failure::Conflict))
                .count();
            let works = self.scheduler.states[other].has_agent();
            let at_odds: BTreeSet<String> = records
                .iter()
                .filter_map(AttemptRecord::conflict)
                .flat_map(|conflict| conflict.files.clone())
                .collect();
            let (mine, began) = (
                files(rank),
                self.scheduler.attempts[rank]
                    .last()
                    .map(|record| record.started_at),
            );
            let began_later = began
                > self.scheduler.attempts[other]
                    .last()
                    .map(|record| record.started_at);
            assert!(
                conflicts < 2 || !works || !began_later || mine.is_disjoint(&at_odds),
                "`{task}` starts beside `{}`",
                self.scheduler.id(other)
            );
        }
    }

    /// At the end: conflicts were free as often as the limits say, and what was carried over was proven.
    pub(super) fn check_conflicts(&self) {
        // Work that was refused before it was merged may go uncharged for its RED.
        let is_of_merge = |record: &AttemptRecord| record.proof().is_none_or(Proof::holds);
        for (rank, view) in self.scheduler.tasks().enumerate() {
            let free = view.attempts[self.scheduler.forgiven[rank]..].iter();
            let free = free
                .filter(|record| {
                    record.failure() == Some(Failure::Conflict)
                        && !record.is_charged()
                        && is_of_merge(record)
                })
                .count();
            assert!(
                free <= self.scheduler.limits.conflict_rounds as usize,
                "{free} conflicts of one task were free"
            );
            for (at, record) in view.attempts.iter().enumerate() {
                let is_of_task = |mends: &CommitId| {
                    view.attempts[..at].iter().any(|before| {
                        before.failure() == Some(Failure::Conflict)
                            && before.commit() == Some(mends)
                    })
                };
                assert!(
                    record.mends.as_ref().is_none_or(is_of_task),
                    "what is carried over was proven, and conflicted"
                );
            }
        }
    }

    /// Says of a task at random, sometimes of an attempt that is over, what it will conflict with.
    pub(super) fn foresee(&mut self) {
        let rank = TaskIndex(self.random.usize(..self.scheduler.states.len()));
        let attempt = AttemptNumber(
            self.scheduler
                .attempt_number(rank)
                .0
                .saturating_sub(self.random.u32(..2)),
        );
        let files = if self.random.bool() {
            vec![self.file()]
        } else {
            Vec::new()
        };
        let foreseen = Foreseen {
            task: self.scheduler.id(rank),
            attempt,
            files,
            with: Vec::new(),
        };
        // A pause that is over ends with whatever comes in.
        self.input(Input::Tick);
        if self.scheduler.ended().is_some() {
            return;
        }
        let before = self.scheduler.states.clone();
        self.input(Input::Foreseen(foreseen));
        assert_eq!(
            self.scheduler.states, before,
            "what is foreseen changes nothing"
        );
    }
}
