//! Decides whether a task is tried again: the one place that bounds its attempts.
//!
//! Every attempt that fails comes through here, charged or not. What does not come through here is started again because a
//! person said so: after an order to stop or pause the run, or a request for the task.

use super::{AttemptRecord, Scheduler, State, TaskIndex, count_u32};
use crate::{Edition, Event, Failure, Limits, Policy, Retried, in_a_line};

impl Scheduler {
    /// Has a task whose last attempt failed tried again, now or after a pause, or gives it up.
    pub(super) fn retry_or_give_up(&mut self, rank: TaskIndex, failure: Failure) {
        if self.has_no_further_attempt(rank, failure) {
            let reason = self.words_of_the_end(rank);
            self.give_up(rank, failure, reason);
            return;
        }
        let pause = self.pause_ms(rank, failure);
        if pause > 0 {
            let until = self.now.plus(pause);
            self.set_state(rank, State::Paused { until });
            self.tell(Event::TaskWaiting {
                task: self.id(rank),
                until,
                failure,
            });
        } else {
            self.make_ready(rank);
        }
    }

    fn has_no_further_attempt(&self, rank: TaskIndex, failure: Failure) -> bool {
        let charged = self.attempts[rank]
            .iter()
            .filter(|record| record.is_charged())
            .count();
        let is_charged = self.last(rank).is_some_and(AttemptRecord::is_charged);
        let is_final = match failure.policy().retried {
            Retried::ByAnybody => false,
            Retried::ByAnother => !self.has_agent(rank) && !self.waits_for_trial(rank),
            Retried::ByNobody => true,
        };
        let is_used_up = count_u32(charged) > self.limits.retries;
        match self.limits.edition {
            Edition::First => is_final || is_used_up && (is_charged || failure == Failure::Lost),
            Edition::Second
            | Edition::Third
            | Edition::Fourth
            | Edition::Fifth
            | Edition::Sixth => {
                is_final || is_used_up && is_charged || self.uncharged_left(rank) == 0
            }
        }
    }

    /// How many attempts at the task may fail yet without being charged.
    pub(super) fn uncharged_left(&self, rank: TaskIndex) -> usize {
        let is_uncharged = |record: &&AttemptRecord| {
            !record.is_charged() && !matches!(record.failure(), None | Some(Failure::Stopped))
        };
        let uncharged = self.unforgiven(rank).iter().filter(is_uncharged).count();
        (Limits::UNCHARGED_ATTEMPTS as usize).saturating_sub(uncharged)
    }

    fn words_of_the_end(&self, rank: TaskIndex) -> String {
        let evidence = self
            .last(rank)
            .map(|record| in_a_line(record.evidence()))
            .unwrap_or_default();
        if self.is_of_first_edition() {
            return evidence;
        }
        if self.uncharged_left(rank) == 0 {
            let most = Limits::UNCHARGED_ATTEMPTS;
            return format!(
                "given up after {most} attempts that were not charged, the last of them because {evidence}"
            );
        }
        if self.questioned_before(rank) {
            return format!(
                "{evidence}; its RED was done again because of that, so a test may be wrong"
            );
        }
        evidence
    }

    fn pause_ms(&self, rank: TaskIndex, failure: Failure) -> u64 {
        match failure {
            // The wall before its account holds it up.
            Failure::RateLimited => 0,
            Failure::Lost if self.is_of_first_edition() => 0,
            failure => {
                let repeats = self.repeats(rank, failure);
                failure.policy().pause_ms(repeats, Policy::LONGEST_PAUSE_MS)
            }
        }
    }

    /// How many attempts in a row, the last ones, failed so.
    fn repeats(&self, rank: TaskIndex, failure: Failure) -> u32 {
        let same = self.attempts[rank]
            .iter()
            .rev()
            .take_while(|record| record.failure() == Some(failure));
        count_u32(same.count())
    }
}
