//! Ends attempts and tasks: failure, landing, blocking of dependants, statuses of the backlog.

use super::{AttemptEnd, AttemptFailure, Scheduler, State, TaskIndex};
use crate::merging::Resolution;
use crate::{
    CommitId, Effect, Event, Failure, Keep, Retried, Status, TaskId, Timestamp, in_a_line,
};
use std::collections::BTreeSet;

impl Scheduler {
    /// Ends the attempt under way as failed and decides whether there is another.
    pub(super) fn fail_attempt(
        &mut self,
        rank: TaskIndex,
        failure: Failure,
        evidence: String,
        not_before: Option<Timestamp>,
    ) {
        if self.states[rank].has_worktree() {
            self.release(rank, Keep::Salvage);
        }
        self.record_failure(rank, failure, evidence);
        if failure == Failure::RateLimited {
            self.start_cooldown(rank, not_before);
        } else if failure == Failure::Auth {
            self.refuse_agent(rank);
        }
        if failure.policy().retried == Retried::ByAnother && self.has_another_agent(rank) {
            // Somebody else has other credentials, or another model; the task is not at fault.
            self.last_failure(rank).charged = false;
        }
        self.retry_or_give_up(rank, failure);
    }

    pub(super) fn record_failure(&mut self, rank: TaskIndex, failure: Failure, evidence: String) {
        let charged = self.is_charged(rank, failure);
        // So that nobody has to look for those that have conflicted.
        if failure == Failure::Conflict {
            self.quarrelsome.insert(rank);
        }
        self.count_for_breaker(rank, failure, &evidence);
        let reason = in_a_line(&evidence);
        self.last_attempt(rank).end = AttemptEnd::Failed(AttemptFailure {
            at: self.now,
            failure,
            charged,
            evidence,
            conflict: None,
            questioned: None,
        });
        self.tell_attempt_ended(rank, Some(failure), reason);
    }

    pub(super) fn give_up(&mut self, rank: TaskIndex, failure: Failure, reason: String) {
        self.count_given_up(rank, failure);
        self.set_state(rank, State::Failed { failure });
        self.tell(Event::TaskFailed {
            task: self.id(rank),
            failure,
            reason,
        });
        self.restore_status(rank);
        self.block_dependants(rank);
    }

    /// Blocks everything that can't be done without the failed task, each once, saying what failed.
    fn block_dependants(&mut self, failed: TaskIndex) {
        let failed_id = self.id(failed);
        let mut stack = self.dependants[failed].clone();
        let mut seen = BTreeSet::new();
        while let Some(rank) = stack.pop() {
            if !seen.insert(rank) {
                continue;
            }
            let mut by = match &self.states[rank] {
                State::Blocked { by } => by.clone(),
                state if state.is_unstarted() => BTreeSet::new(),
                // A task that is under way, or over, had all that it needs.
                _ => continue,
            };
            stack.extend(&self.dependants[rank]);
            by.insert(failed_id.clone());
            self.block(rank, by);
        }
    }

    pub(super) fn block(&mut self, rank: TaskIndex, by: BTreeSet<TaskId>) {
        self.tell(Event::TaskBlocked {
            task: self.id(rank),
            by: by.iter().cloned().collect(),
        });
        self.set_state(rank, State::Blocked { by });
        self.restore_status(rank);
    }

    /// Ends an attempt that tm itself stopped because a person said so; it does not count, and the work is kept.
    pub(super) fn interrupt_attempt(&mut self, rank: TaskIndex) {
        self.end_attempt(rank, String::new(), None);
        self.release(rank, Keep::Salvage);
        let is_stopped = self.stop_order.is_some() || self.stop_reason.is_some();
        let reason = if is_stopped {
            "stopped with the run"
        } else {
            "the run is paused"
        };
        self.tell_attempt_ended(rank, None, reason.to_owned());
        self.make_ready(rank);
    }

    pub(super) fn end_attempt(
        &mut self,
        rank: TaskIndex,
        why: String,
        resolution: Option<Resolution>,
    ) {
        self.last_attempt(rank).end = AttemptEnd::Over {
            at: self.now,
            why,
            resolution,
        };
    }

    pub(super) fn end_attempt_well(&mut self, rank: TaskIndex, resolution: Option<Resolution>) {
        self.count_nothing_before();
        self.end_attempt(rank, String::new(), resolution);
        self.tell_attempt_ended(rank, None, String::new());
    }

    /// Ends a task whose work, and that of its RED, is on the integration branch.
    pub(super) fn landed(
        &mut self,
        rank: TaskIndex,
        commit: CommitId,
        merge: &CommitId,
        resolution: Option<Resolution>,
    ) {
        self.note_landings_pace(rank);
        self.end_attempt_well(rank, resolution);
        let held = |red: TaskIndex| Some((red, self.states[red].commit()?.clone()));
        let red = self.held_red_of(rank).and_then(held);
        for (rank, commit) in red.into_iter().chain([(rank, commit)]) {
            let landed = State::Landed {
                commit,
                merge: merge.clone(),
            };
            self.set_state(rank, landed);
            self.tell(Event::TaskLanded {
                task: self.id(rank),
                commit: merge.clone(),
                resolution,
            });
            self.write_status(rank, Status::Done);
            self.ready_dependants(rank);
        }
    }

    pub(super) fn ready_dependants(&mut self, rank: TaskIndex) {
        for after in self.dependants[rank].clone() {
            if matches!(self.states[after], State::Waiting { .. }) {
                self.make_ready(after);
            }
        }
    }

    pub(super) fn write_status(&mut self, rank: TaskIndex, status: Status) {
        let task = self.planned(rank).backlog_id.clone();
        let before = self.written.insert(task.clone(), status.clone());
        if before.as_ref() != Some(&status) {
            self.effects.push(Effect::SetStatus { task, status });
        }
    }

    /// Gives a task that is not done the status back that it had before the run.
    pub(super) fn restore_status(&mut self, rank: TaskIndex) {
        let task = self.planned(rank);
        if self.written.get(&task.backlog_id) == Some(&Status::InProgress) {
            let before = task.status_before.clone();
            self.write_status(rank, before);
        }
    }

    pub(super) fn restore_statuses(&mut self) {
        for rank in self.indices() {
            self.restore_status(rank);
        }
    }
}
