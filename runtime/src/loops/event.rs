//! What happens in a loop, as it is told to people and written to `activity.jsonl`.

use serde::Serialize;
use tm_scheduler::iteration::{IterationFailure, IterationRecord, LoopStatus};
use tm_scheduler::{Tag, Timestamp};

/// Something that happened in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggedLoopEvent {
    /// When.
    pub at: Timestamp,
    /// In which lane.
    pub lane: Tag,
    /// What.
    pub event: LoopEvent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum LoopEvent {
    /// A lane began.
    #[serde(rename = "loop:started")]
    Started {
        /// The loop.
        loop_id: String,
        /// The preset, or the path of the prompt.
        prompt: String,
        /// How many iterations it may use.
        iterations: u32,
        /// The branch that it works on, when that is one of tm's.
        branch: Option<String>,
    },
    /// An agent is started.
    #[serde(rename = "iteration:started")]
    IterationStarted {
        /// The iteration.
        iteration: u32,
        /// The last one there can be.
        last: u32,
        /// The try at it.
        attempt: u32,
    },
    /// What the agent prints, line by line; not written down, its log holds it.
    #[serde(skip)]
    Output(String),
    /// The tests are run.
    #[serde(rename = "test:run")]
    Verifying {
        /// The command.
        command: String,
    },
    /// An iteration, or a try that does not count, is over.
    #[serde(rename = "iteration:ended")]
    IterationEnded {
        /// What it came to.
        #[serde(flatten)]
        record: Box<IterationRecord>,
    },
    /// The loop waits.
    #[serde(rename = "loop:waiting")]
    Waiting {
        /// Until when.
        until: Timestamp,
        /// The failure that is waited out.
        failure: Option<IterationFailure>,
    },
    /// A lane is over.
    #[serde(rename = "loop:ended")]
    Ended {
        /// How.
        status: LoopStatus,
        /// Why.
        reason: String,
        /// Tasks that became done.
        tasks_completed: usize,
    },
    /// Trouble that does not end anything.
    #[serde(rename = "warning")]
    Warning {
        /// What.
        message: String,
    },
}
