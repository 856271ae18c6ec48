//! The circuit breaker: attempts in a row that end the same way with nothing passed between, which nobody should pay for.
//!
//! Knows how attempts ended and what they said, not why: that a program is missing looks to it as a task that can't be
//! done does. What is compared, and how, belongs to the rules by which a journal is replayed.

use super::{Scheduler, TaskIndex, count_u32};
use crate::{AtBreaker, Edition, Event, Failure, StopReason, Timestamp, in_a_line};
use std::collections::BTreeSet;

/// Ends in a row that are the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Streak {
    failure: Failure,
    /// What is the same, without what differs from task to task.
    shape: String,
    /// The last of them in words.
    words: String,
    attempts: u32,
    /// When the last of them that counts ended.
    at: Timestamp,
    /// The tasks at which they were made, and those that were given up.
    tasks: BTreeSet<TaskIndex>,
    given_up: BTreeSet<TaskIndex>,
}

impl Scheduler {
    /// Counts an attempt that failed.
    pub(super) fn count_for_breaker(&mut self, rank: TaskIndex, failure: Failure, evidence: &str) {
        if !failure.policy().of_surroundings {
            return;
        }
        let words = in_a_line(evidence);
        let planned = self.planned(rank);
        let shape = match failure {
            // A service that is down words it anew for each request.
            Failure::ServiceError | Failure::ConnectionLost => String::new(),
            _ => shape_of(&words, &[planned.id.as_str(), planned.backlog_id.as_str()]),
        };
        // A machine that fails takes all that run there: attempts that were under way by then are none of a row.
        let counts_once = failure == Failure::Lost && self.limits.edition >= Edition::Fifth;
        let (now, started_at) = (self.now, self.last_attempt(rank).started_at);
        let is_same = |streak: &&mut Streak| streak.failure == failure && streak.shape == shape;
        if let Some(streak) = self.streak.as_mut().filter(is_same) {
            if counts_once && started_at < streak.at {
                return;
            }
            streak.at = now;
            streak.attempts = streak.attempts.saturating_add(1);
            streak.words = words;
            streak.tasks.insert(rank);
        } else {
            self.streak = Some(Streak {
                failure,
                shape,
                words,
                attempts: 1,
                at: now,
                tasks: BTreeSet::from([rank]),
                given_up: BTreeSet::new(),
            });
        }
    }

    /// Counts a task that is given up for how its last attempt ended.
    pub(super) fn count_given_up(&mut self, rank: TaskIndex, failure: Failure) {
        if let Some(streak) = &mut self.streak
            && streak.failure == failure
            && streak.tasks.contains(&rank)
        {
            streak.given_up.insert(rank);
        }
    }

    /// Something passed: what comes is counted anew.
    pub(super) fn count_nothing_before(&mut self) {
        self.streak = None;
    }

    /// Somebody has looked after the run.
    pub(super) fn reset_breaker(&mut self) {
        self.count_nothing_before();
        self.broken_by = None;
    }

    /// Starts nothing more when too much in a row has ended the same way.
    pub(super) fn break_when_all_is_the_same(&mut self) {
        if self.starts_nothing() {
            return;
        }
        let Some(why) = self.too_much_in_a_row() else {
            return;
        };
        self.broken_by = Some(why.clone());
        match self.limits.breaker.then {
            AtBreaker::Pause => {
                self.is_paused = true;
                self.tell(Event::RunPaused { why: Some(why) });
            }
            AtBreaker::Stop => self.stop_because(StopReason::Breaker),
        }
    }

    /// What as much in a row as is allowed had in common, in words.
    pub(super) fn too_much_in_a_row(&self) -> Option<String> {
        let (streak, breaker) = (self.streak.as_ref()?, self.limits.breaker);
        let (attempts, given_up) = (streak.attempts, count_u32(streak.given_up.len()));
        let what = if breaker.tasks.is_some_and(|most| given_up >= most.get()) {
            format!("{given_up} tasks in a row were given up for the same reason")
        } else if breaker.attempts.is_some_and(|most| attempts >= most.get()) {
            let tasks = match streak.tasks.len() {
                1 => "one task".to_owned(),
                count => format!("{count} tasks"),
            };
            format!("{attempts} attempts in a row, at {tasks}, ended the same way")
        } else {
            return None;
        };
        Some(format!(
            "{what}, and nothing passed between: {}: {}",
            streak.failure, streak.words
        ))
    }

    /// Returns what attempts in a row had in common, when the run starts nothing more because of that.
    pub fn broken_by(&self) -> Option<&str> {
        self.broken_by.as_deref()
    }
}

/// A line without numbers, ids of tasks and places, which differ although what happened is the same.
fn shape_of(line: &str, ids: &[&str]) -> String {
    let is_own =
        |word: &str| ids.contains(&word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let is_place = |word: &str| word.contains('/') || word.contains('\\');
    line.split_whitespace()
        .map(|word| match word {
            word if is_own(word) => "…".to_owned(),
            word if is_place(word) => if word.ends_with(':') { "…:" } else { "…" }.to_owned(),
            word => without_numbers(word),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn without_numbers(word: &str) -> String {
    let is_hexadecimal =
        |part: &str| part.len() >= 7 && part.chars().all(|letter| letter.is_ascii_hexdigit());
    if word
        .split(|letter: char| !letter.is_alphanumeric())
        .any(|part| is_hexadecimal(part) && part.contains(|letter: char| letter.is_ascii_digit()))
    {
        return "…".to_owned();
    }
    crate::without_numbers(word)
}

#[cfg(test)]
mod tests {
    use super::shape_of;

    #[test]
    fn the_same_end_has_one_shape_at_every_task() {
        let same = |one: &str, other: &str| shape_of(one, &["1"]) == shape_of(other, &["22"]);
        for (one, other) in [
            ("took 3.2 seconds", "took 14.17 seconds"),
            (
                "failed to read `/w/1/a`: gone",
                "failed to read `/w/22/b`: gone",
            ),
            ("task `1` is gone", "task `22` is gone"),
            ("commit 0a1b2c3d4e is gone", "commit ff1b2c3d4e is gone"),
            (
                "t/a.test.js: Cannot find package 'ms'",
                "t/b.test.js: Cannot find package 'ms'",
            ),
        ] {
            assert!(
                same(one, other),
                "{} {}",
                shape_of(one, &["1"]),
                shape_of(other, &["22"])
            );
        }
        assert!(!same("test_a: AssertionError", "test_b: AssertionError"));
    }
}
