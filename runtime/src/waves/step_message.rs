//! What comes back from the steps of attempts, and along their way.

use crate::RunEvent;
use tm_scheduler::{Answer, AttemptNumber, Input, TaskId};
use tm_worktrees::Worktree;

/// What comes back from a step, or along the way.
#[derive(Debug)]
pub(crate) enum StepMessage {
    /// A step is over.
    Done(Box<StepDone>),
    /// Something to see.
    RunEvent(RunEvent),
    /// Something that the scheduler is to know besides.
    Seen(Box<Input>),
}

/// A step that is over.
#[derive(Debug)]
pub(crate) struct StepDone {
    pub(crate) task: TaskId,
    pub(crate) attempt: AttemptNumber,
    /// The answer; `None` when the run ends before it could be found.
    pub(crate) answer: Option<Answer>,
    /// The worktree, for the next step.
    pub(crate) worktree: Option<Worktree>,
}
