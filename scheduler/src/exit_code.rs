//! The exit code that each end has. The number is the command line's, and no decision here looks at it; it stands in this
//! crate because the log of events, the summary and the environment of `--on-complete` tell it as well, and no other crate
//! is below all of them.

use crate::iteration::LoopStatus;
use crate::{RunStatus, StopReason};

/// Returns the exit code of a run that ended so, and starts nothing more for that reason.
pub const fn of_run(status: RunStatus, why: Option<StopReason>) -> u8 {
    match (status, why) {
        (RunStatus::Completed, _) => 0,
        (RunStatus::Stopped, Some(StopReason::Surroundings)) => 1,
        (RunStatus::Failed, _) | (RunStatus::Stopped, Some(StopReason::Breaker)) => 3,
        (RunStatus::Stopped, _) => 6,
        (RunStatus::Interrupted, _) => 130,
    }
}

/// Returns the exit code of a loop that ended so.
pub const fn of_loop(status: LoopStatus) -> u8 {
    match status {
        LoopStatus::AllComplete => 0,
        LoopStatus::Surroundings => 1,
        LoopStatus::Blocked | LoopStatus::Error => 3,
        LoopStatus::MaxIterations | LoopStatus::Deadline | LoopStatus::Budget => 6,
        LoopStatus::Interrupted => 130,
    }
}
