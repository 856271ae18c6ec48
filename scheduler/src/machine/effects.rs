//! What the input under way asks for, in the words of the machine.

use super::{Scheduler, TaskIndex};
use crate::{Effect, Event, Failure, Keep, StopMode, StopReason};

impl Scheduler {
    pub(super) fn tell(&mut self, event: Event) {
        self.effects.push(Effect::Tell(event));
    }

    /// Has the worktree of the attempt under way given back.
    pub(super) fn release(&mut self, rank: TaskIndex, keep: Keep) {
        let (task, attempt) = self.step(rank);
        self.effects.push(Effect::Release {
            task,
            attempt,
            keep,
        });
    }

    pub(super) fn stop_agent(&mut self, rank: TaskIndex, order: StopMode) {
        self.effects.push(Effect::StopAgent {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            order,
        });
    }

    /// Starts nothing more.
    pub(super) fn stop_because(&mut self, why: StopReason) {
        self.stop_reason = Some(why);
        self.tell(Event::RunStopping { why });
    }

    pub(super) fn tell_attempt_ended(
        &mut self,
        rank: TaskIndex,
        failure: Option<Failure>,
        reason: String,
    ) {
        self.tell(Event::AttemptEnded {
            task: self.id(rank),
            attempt: self.attempt_number(rank),
            failure,
            reason,
        });
    }
}
