//! What follows from a conflict of proven work with what has landed: the work is not thrown away, and not charged.
//!
//! One attempt of the task's own agent puts the two together, where it may be asked to; then a fresh one begins from what
//! has landed. A task that conflicted twice lands before tasks are started that may touch the same files.

use super::{AttemptEnd, AttemptRecord, Conflicted, Scheduler, State, TaskIndex, count_u32};
use crate::{CommitId, Edition, Event, Failure, Foreseen, LandingRefusal, Phase, hot_files};
use std::collections::BTreeSet;

/// From so many conflicts on nothing is started beside a task that may touch the same files.
const SERIAL_FROM: u32 = 2;

impl Scheduler {
    /// Whether a conflict throws nothing away and costs no retry.
    pub(super) fn has_ladder(&self) -> bool {
        self.limits.edition >= Edition::Third
    }

    /// By what the work of an attempt did not land.
    pub(super) fn conflicted(&self, refusal: &LandingRefusal) -> Option<Conflicted> {
        let LandingRefusal::Conflict {
            files,
            with,
            mendable,
            ..
        } = refusal.clone()
        else {
            return None;
        };
        let mendable = mendable && self.has_ladder();
        Some(Conflicted {
            files,
            with,
            mendable,
        })
    }

    /// Remembers, and tells, what an attempt under way will conflict with; what is said of any other says nothing.
    pub(super) fn foresee(&mut self, foreseen: Foreseen) {
        let Foreseen {
            task,
            attempt,
            files,
            with,
        } = foreseen;
        let Some(&rank) = self.ranks.get(&task) else {
            return;
        };
        if !self.states[rank].has_agent() || self.attempt_number(rank) != attempt {
            return;
        }
        let ahead = (!files.is_empty()).then_some(Conflicted {
            files,
            with,
            mendable: false,
        });
        let record = self.last_attempt(rank);
        let is_new = record.ahead() != ahead.as_ref();
        record.end = AttemptEnd::UnderWay {
            ahead: ahead.clone(),
        };
        if let Some(Conflicted { files, with, .. }) = ahead.filter(|_| is_new) {
            self.tell(Event::ConflictAhead { task, files, with });
        }
    }

    /// Whether the failure of the last attempt counts against the retries.
    pub(super) fn is_charged(&self, rank: TaskIndex, failure: Failure) -> bool {
        let is_charged = failure.policy().charged;
        if !self.has_ladder() || failure == Failure::Auth {
            return is_charged;
        }
        let mends = self.last(rank).is_some_and(|record| record.mends.is_some());
        match failure {
            // The one that is being recorded comes on top.
            Failure::Conflict => self.conflicts(rank) >= self.limits.conflict_rounds,
            _ => is_charged && !mends,
        }
    }

    /// How often the task has conflicted with what had landed, since a person opened it the last time.
    fn conflicts(&self, rank: TaskIndex) -> u32 {
        let conflicts = |record: &&AttemptRecord| record.failure() == Some(Failure::Conflict);
        count_u32(self.unforgiven(rank).iter().filter(conflicts).count())
    }

    /// The proven work that the next attempt is to put together with what has landed: that of an attempt that conflicted,
    /// also where the attempt that was to do it was lost, and none where the tests of its RED are others by now.
    pub(super) fn carried(&self, rank: TaskIndex) -> Option<CommitId> {
        let last = self.unforgiven(rank).last()?;
        let began_before = |record: &AttemptRecord| record.started_at <= last.started_at;
        let has_same_red = self
            .red_of(rank)
            .and_then(|red| self.last(red))
            .is_none_or(began_before);
        let is_mendable = last.conflict().is_some_and(|conflict| conflict.mendable);
        let carried = match last.failure() {
            Some(Failure::Conflict) if is_mendable => last.commit().cloned(),
            Some(
                Failure::Lost
                | Failure::RateLimited
                | Failure::NotStarted
                | Failure::ContextTooLong
                | Failure::RefusedByModel
                | Failure::ServiceError
                | Failure::ConnectionLost,
            ) => last.mends.clone(),
            // Somebody stopped or paused the run in the middle of it.
            None if last.commit().is_none() => last.mends.clone(),
            Some(_) | None => None,
        };
        carried.filter(|_| has_same_red && self.has_ladder())
    }

    /// Whether a ready task waits until another one has landed that conflicted again and again, and that it may conflict
    /// with.
    pub(super) fn is_held_back(&self, rank: TaskIndex) -> bool {
        self.has_ladder()
            && self.quarrelsome.iter().any(|&other| {
                other != rank
                    && self.is_serial(other)
                    && self.goes_first(other, rank)
                    && self.may_meet(other, rank)
            })
    }

    /// Whether a task has conflicted so often that it lands before others start.
    fn is_serial(&self, rank: TaskIndex) -> bool {
        self.conflicts(rank) >= SERIAL_FROM
    }

    /// Whether a task that is to land first is under way, or can start before another one that is ready.
    fn goes_first(&self, first: TaskIndex, rank: TaskIndex) -> bool {
        let state = &self.states[first];
        let is_equal = self.is_serial(rank);
        state.is_under_way()
            || self.is_startable(first)
                && (!is_equal || self.ready_key(first) < self.ready_key(rank))
    }

    /// Whether a task may touch a file in which another one conflicted; one of which nothing is known may.
    fn may_meet(&self, other: TaskIndex, rank: TaskIndex) -> bool {
        let known = self.touched(rank);
        let mut files = self.attempts[other]
            .iter()
            .filter_map(AttemptRecord::conflict)
            .flat_map(|conflict| &conflict.files);
        known.is_empty() || files.any(|file| known.contains(file.as_str()))
    }

    /// Whether a task that is under way will touch a file that this one will touch, as far as that can be told.
    pub(super) fn overlaps_work(&self, rank: TaskIndex, hot: &BTreeSet<String>) -> bool {
        let mine = self.expected(rank, hot);
        let mut others = self.under_way.tasks.iter();
        others.any(|&other| other != rank && !mine.is_disjoint(&self.expected(other, hot)))
    }

    fn expected<'a>(&'a self, rank: TaskIndex, hot: &'a BTreeSet<String>) -> BTreeSet<&'a str> {
        let touched = self.touched(rank);
        let named = self.planned(rank).files.iter().map(String::as_str);
        let mut expected: BTreeSet<&str> = touched.iter().copied().chain(named).collect();
        if expected.is_empty() {
            // Of a task that says what it is about, its own words tell more than other runs do.
            expected.extend(self.limits.hot_files.iter().map(String::as_str));
        }
        if touched.is_empty() {
            expected.extend(hot.iter().map(String::as_str));
        }
        expected
    }

    /// The files that attempts at a task, and at the other half of its pair, have touched.
    pub(super) fn touched(&self, rank: TaskIndex) -> BTreeSet<&str> {
        [Some(rank), self.pair(rank)]
            .into_iter()
            .flatten()
            .flat_map(|half| &self.attempts[half])
            .filter_map(AttemptRecord::proof)
            .flat_map(|proof| &proof.touched)
            .map(String::as_str)
            .collect()
    }

    /// The files that most tasks that have landed in this run touched.
    pub(super) fn hot_files(&self) -> BTreeSet<String> {
        let is_landed = |&rank: &TaskIndex| {
            self.phase(rank) != Phase::Red && matches!(self.states[rank], State::Landed { .. })
        };
        let landed = self.indices().filter(is_landed);
        hot_files(landed.map(|rank| self.touched(rank)))
    }
}
